"""Comparing what a handler asks for with what is on record (R6).

`Replay` answers for each thing that the handler asks: it is on record, or it is new. Where the
two differ it makes a `Difference`, which stops the event; it is never raised into the handler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from agentctl.core.history import EventHistory
from agentctl.records import CallRecord


@dataclass(frozen=True, slots=True)
class Asked:
    """What the handler asks for, as it would be recorded."""

    path: str
    fn: str
    args: bytes | None = None
    kwargs: bytes | None = None
    digest: str | None = None
    until_us: int | None = None
    match: Literal["arguments", "name"] = "arguments"

    def __str__(self) -> str:
        if self.until_us is not None:
            return f"{self.fn} until {self.until_us}"
        return f"{self.fn}({_shown(self.args, self.kwargs, self.digest)})"


@dataclass(frozen=True, slots=True)
class Difference:
    """A divergence: where, what is on record, what the program asks for now."""

    path: str
    recorded: str
    asked: str


class Replay:
    """One event's run over its record."""

    def __init__(self, history: EventHistory) -> None:
        self._history = history
        self._asked: set[str] = set()
        self.undelivered = len(history.deliveries)

    def match(self, asked: Asked) -> CallRecord | Difference | None:
        """Find what is on record for a call; None: nothing is, it is new."""
        recorded = self._history.calls.get(asked.path)
        if recorded is None:
            if self.undelivered:
                return Difference(asked.path, "nothing", str(asked))
            return None
        self._asked.add(asked.path)
        if _same(recorded, asked):
            return recorded
        return Difference(asked.path, describe(recorded), str(asked))

    def left_over(self, still_open: frozenset[str]) -> Difference | None:
        """Find what is on record and wasn't asked for, once all is delivered."""
        for path, call in self._history.calls.items():
            if path not in self._asked:
                return Difference(path, describe(call), "nothing")
        for path in self._history.dropped:
            if path in still_open:
                call = self._history.calls[path]
                return Difference(path, f"{describe(call)}, given up", "still waits for it")
        return None


def _same(recorded: CallRecord, asked: Asked) -> bool:
    if recorded.fn != asked.fn:
        return False
    if asked.until_us is not None:
        return recorded.until == asked.until_us
    if asked.match == "name":
        return True
    if asked.digest is not None or recorded.digest is not None:
        return recorded.digest == asked.digest
    return _same_json(recorded.args, asked.args) and _same_json(recorded.kwargs, asked.kwargs)


def _same_json(recorded: object, asked: bytes | None) -> bool:
    raw = bytes(recorded) if isinstance(recorded, msgspec.Raw) else None
    if raw == asked:
        return True
    if raw is None or asked is None:
        return False
    # Another order of a mapping's keys is the same value.
    return bool(msgspec.json.decode(raw) == msgspec.json.decode(asked))


def describe(call: CallRecord) -> str:
    """Write a recorded call for people: `Payments.refund(7)`."""
    if call.until is not None:
        return f"{call.fn} until {call.until}"
    args = bytes(call.args) if isinstance(call.args, msgspec.Raw) else None
    kwargs = bytes(call.kwargs) if isinstance(call.kwargs, msgspec.Raw) else None
    return f"{call.fn}({_shown(args, kwargs, call.digest)})"


_SHOWN_LENGTH = 200


def _shown(args: bytes | None, kwargs: bytes | None, digest: str | None) -> str:
    from agentctl.secrets import mask

    if digest is not None:
        return f"digest {digest[:12]}"
    parts = []
    if args is not None:
        parts += [_json(mask(one)) for one in msgspec.json.decode(args)]
    if kwargs is not None:
        named = msgspec.json.decode(kwargs)
        parts += [f"{name}={_json(mask(one))}" for name, one in named.items()]
    text = ", ".join(parts)
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
