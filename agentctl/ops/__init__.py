"""The use cases: requests in, documents out; no printing, no flags."""
