"""Effects on disk, and nothing else; every fsync of the project is in here."""
