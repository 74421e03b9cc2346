"""The refund agent and its world."""
