"""What a program warned of lately, kept for whoever asks a running program how it is.

Invariant: bounded, the latest last; what passes through is told on unchanged.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from agentctl.engines.port import Listener, Warned
from agentctl.times import Clock

KEPT: Final = 50


class Remembering:
    """Tells a listener everything, and keeps the latest warnings; implements `Listener`."""

    def __init__(self, listener: Listener, clock: Clock) -> None:
        self.warnings: deque[Warned] = deque(maxlen=KEPT)
        self._clock = clock
        self._warned = listener.warned
        # What happens for every event and call goes there directly.
        self.recovered = listener.recovered
        self.started = listener.started
        self.ended = listener.ended
        self.called = listener.called
        self.asked = listener.asked
        self.waiting = listener.waiting

    def warned(self, text: str) -> None:
        """Something that a person should know."""
        self.warnings.append(Warned(self._clock.now_us(), text))
        self._warned(text)
