"""The command line: parse, ask ops, render; the only room that prints and exits."""
