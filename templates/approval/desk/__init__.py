"""The cashier agent and its world."""
