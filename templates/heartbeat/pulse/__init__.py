"""The heartbeat agent and its world."""
