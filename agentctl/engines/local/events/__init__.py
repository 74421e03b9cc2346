"""One event being run: replay, calls, questions, waits, and how it comes to rest."""
