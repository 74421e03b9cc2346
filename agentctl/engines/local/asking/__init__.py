"""Asking agents, from a command or from another agent, and what they answer (R16, R17)."""
