"""What a project's author imports: agents, capabilities, and the handler's own loop."""
