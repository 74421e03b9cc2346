"""Looking again and again: a screen that is drawn anew, or the lines that are new.

Invariant: ends with Ctrl-C, and that is a good end. Never decides what is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from agentctl.cli.output import Output

EVERY_S: Final = 1.0

_FROM_THE_TOP: Final = "\x1b[H\x1b[2J\x1b[3J"

pause: Callable[[float], None] = time.sleep
"""How a watching command waits; a test puts another in its place."""


def watch(look: Callable[[], object], output: Output) -> int:
    """Show what `look` writes, every second, on a screen of its own."""
    try:
        while True:
            output.stdout.write(_FROM_THE_TOP)
            look()
            output.flush()
            pause(EVERY_S)
    except KeyboardInterrupt:
        return 0


def watch_lines(look: Callable[[], Sequence[str]], output: Output) -> int:
    """Write the lines that `look` gives, every second those that weren't there before."""
    before: frozenset[str] = frozenset()
    try:
        while True:
            lines = look()
            for line in lines:
                if line not in before:
                    output.line(line)
            output.flush()
            before = frozenset(lines)
            pause(EVERY_S)
    except KeyboardInterrupt:
        return 0
