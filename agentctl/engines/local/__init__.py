"""The embedded engine: one program an agent, files on one machine."""
