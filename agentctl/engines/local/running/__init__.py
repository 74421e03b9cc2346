"""A program's agents while it runs: their queues, instances and permits, and their one writer."""
