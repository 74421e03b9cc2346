"""The janitor agent and its world."""
