"""A project: `kavach.toml`, the code it names, and the templates that new ones start from."""
