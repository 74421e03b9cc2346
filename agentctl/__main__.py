"""The command's front door: fixes the hash seed where code will run, then hands over to the cli.

Invariant: nothing of agentctl's is imported before a new start that fixes the seed, so that such
a start costs only the interpreter's own. Never reads a project.
"""

from __future__ import annotations

import os
import sys

# Commands that run handlers; their sets of strings must iterate alike in every run (R5).
_RUNS_CODE = frozenset({"run", "invoke"})
_SEEDED = "_AGENTCTL_SEEDED"
_INTERRUPTED = 130


def main() -> None:
    """Run the command that the process's arguments ask for, and end the process."""
    try:
        _fix_hash_seed()
        if os.getpid() == 1:
            from agentctl.cli.init import split_off

            split_off()
        from agentctl.cli.early import end_by_ctrl_c

        listen_again = end_by_ctrl_c()
        from agentctl.cli.app import main as cli_main

        code = cli_main(sys.argv[1:], loaded=listen_again)
    except KeyboardInterrupt:  # before anything listens to signals
        code = _INTERRUPTED
    sys.exit(code)


def _fix_hash_seed() -> None:
    """Start anew with a fixed hash seed where code will run, unless somebody has fixed one.

    The mark shows that it was done, and both are taken out again: what capabilities start has
    its own random seed.
    """
    if os.environ.pop(_SEEDED, None) is not None:
        os.environ.pop("PYTHONHASHSEED", None)
        return
    wanted = any(word in _RUNS_CODE for word in sys.argv[1:])
    chosen = os.environ.get("PYTHONHASHSEED", "") not in ("", "random")
    # -E and -I ignore the variable; a new start would change nothing.
    if not wanted or chosen or sys.flags.ignore_environment or not sys.executable:
        return
    environ = {**os.environ, "PYTHONHASHSEED": "0", _SEEDED: "1"}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environ)  # noqa: S606


if __name__ == "__main__":
    main()
