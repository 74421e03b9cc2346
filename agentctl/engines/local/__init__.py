"""The embedded engine: one program an agent, files on one machine.

The rooms, each importing only from those below it:

- `engine`, `serving`: one program's agents, for whoever is in it and for its control sockets.
- `desk`, `door`: agents' folders from outside, with or without a program.
- `asking`: who asks whom, and what is answered: checked, refused, joined, found elsewhere.
- `changing`: cancel, retry, delete, requeue, drop; in a running program or under a free lock.
- `looking`: what can be told without changing anything.
- `starting`: locks, recovery, moves into `set-aside`; all that is done before anything runs.
- `running`: the agents of a program while it runs: queues, instances, permits, commits.
- `events`: one event: its record replayed, its calls made, its questions asked, its end.
- `control`: the control socket, and nothing of what is said over it.
"""
