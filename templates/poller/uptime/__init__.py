"""The poller agent and its world."""
