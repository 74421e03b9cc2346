"""The program under `run --watch`, as the watching process's child: how it hears of saves.

Invariant: a save, and the end of the watching process, come through one pipe and act like a
signal, so that a stop has one way. Never looks at files.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, MutableMapping
from datetime import timedelta
from typing import Final

VARIABLE: Final = "_AGENTCTL_WATCHED"
SAVED: Final = b"s"
GRACE: Final = timedelta(seconds=1)
"""What running calls get where a save stops them."""


class Watched:
    """What a program knows of the process that watches for it.

    Attributes:
        by_save: a save has started this program.
    """

    def __init__(self, pipe: int, *, by_save: bool) -> None:
        self._pipe = pipe
        self._saved = False
        self.by_save = by_save

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> Watched | None:
        """Find out whether somebody watches; what calls start doesn't hear of it."""
        told = environ.pop(VARIABLE, None)
        if told is None:
            return None
        pipe, _, why = told.partition(",")
        os.set_inheritable(int(pipe), False)
        return cls(int(pipe), by_save=why == "save")

    @staticmethod
    def told(pipe: int, *, by_save: bool) -> str:
        """What the variable says to a program that is about to be started."""
        return f"{pipe},{'save' if by_save else 'first'}"

    def at_most(self) -> timedelta | None:
        """The longest grace that running calls get now; None: their own."""
        return GRACE if self._saved else None

    def listen(self, on_save: Callable[[], None]) -> None:
        """From now on a save stops this program; `on_save` is called before, in a thread."""
        # Python takes a cache of the same second and size for the file's: two saves in a second
        # would run the first one's code.
        sys.dont_write_bytecode = True

        def hear() -> None:
            while os.read(self._pipe, 1) == SAVED:
                self._saved = True
                on_save()
                os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)  # nobody watches any more, or could stop it

        threading.Thread(target=hear, daemon=True, name="agentctl-watched").start()
