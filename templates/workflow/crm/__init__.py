"""The workflow and its world."""
