"""The assistant, its world, and the service behind a real model."""
