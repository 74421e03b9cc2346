"""What happens before anything runs: locks, recovery, moves into `set-aside`, the rewrite."""
