"""What runs agents; the faces ask any engine through `port`."""
