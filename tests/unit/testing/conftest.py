"""The kit's own fixtures, where the package isn't installed and so its plugin isn't known."""

from __future__ import annotations

from agentctl.testing.plugin import durable, fake_clock

__all__ = ["durable", "fake_clock"]
