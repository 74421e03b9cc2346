"""The world: here it only prints. Put a real service in its place."""

from __future__ import annotations

from pulse.heartbeat import Signal


class Printer(Signal):
    """Prints what it is to send."""

    async def send(self, text: str) -> None:
        """Send one text."""
        print(f"[signal] {text}")
