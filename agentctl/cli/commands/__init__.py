"""One module a command: `EXAMPLES`, `parse` (flags to a request), `execute` (request to output)."""
