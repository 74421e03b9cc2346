"""Comparing what a handler asks for with what is on record (R6).

`Replay` answers for each thing that the handler asks: it is on record, or it is new. Where the
two differ it makes a `Difference`, which stops the event; it is never raised into the handler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from agentctl.core.event_history import CANCEL, EventHistory
from agentctl.records import CallRecord, OkRecord

LOOK: Final = "schedules"
"""The call that is answered at once, in the handler's own turn: a look at its schedules."""


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
        # A cancellation answers no call: what the handler had only begun to ask for when it came
        # may be new.
        self._outcomes = [path for path, _ in history.deliveries if path != CANCEL]
        self.undelivered = len(self._outcomes)
        self._looks = {
            path: record
            for path, record in history.deliveries
            if isinstance(record, OkRecord) and history.calls[path].fn == LOOK
        }

    def match(
        self, path: str, asked: CallRecord, *, by_name: bool = False
    ) -> CallRecord | Difference | None:
        """Find what is on record for a call; None: nothing is, it is new.

        Args:
            path: its place in the event.
            asked: the call as it would be recorded now.
            by_name: compare only what is called, not the arguments.
        """
        recorded = self._history.calls.get(path)
        if recorded is None:
            return Difference(path, "nothing", describe(asked)) if self.undelivered else None
        self._asked.add(path)
        if _same(recorded, asked, by_name=by_name):
            return recorded
        return Difference(path, describe(recorded), describe(asked))

    def read(self, path: str) -> bytes | None:
        """The recorded result of what is answered at once, not delivered; None: there is none."""
        record = self._looks.get(path)
        if record is None:
            return None
        self.undelivered -= 1
        return bytes(record.value)

    def to_accept(self, found: Difference) -> tuple[list[str], list[str]]:
        """What must go from the record for the program's way to go on; paths.

        Returns:
            The calls to be made again, and those that no longer count.
        """
        calls = self._history.calls
        forget = [path for path in calls if path not in self._asked or path == found.path]
        if forget:
            return [], forget
        rest = self._outcomes[len(self._outcomes) - self.undelivered :]
        return [path for path in rest if path in calls], []

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


def _same(recorded: CallRecord, asked: CallRecord, *, by_name: bool) -> bool:
    if recorded.fn != asked.fn or recorded.until != asked.until:
        return False
    if recorded.to != asked.to or recorded.handler != asked.handler:
        return False
    if recorded.step != asked.step or recorded.undoes != asked.undoes:
        return False
    if recorded.text != asked.text or recorded.type != asked.type:
        return False
    if by_name:
        return True
    if asked.digest is not None or recorded.digest is not None:
        return recorded.digest == asked.digest
    if not _same_json(recorded.timing, asked.timing):
        return False
    return _same_json(recorded.args, asked.args) and _same_json(recorded.kwargs, asked.kwargs)


def _same_json(recorded: Raw | UnsetType, asked: Raw | UnsetType) -> bool:
    if not isinstance(recorded, Raw) or not isinstance(asked, Raw):
        return recorded is asked
    # Another order of a mapping's keys is the same value.
    return bytes(recorded) == bytes(asked) or bool(
        msgspec.json.decode(recorded) == msgspec.json.decode(asked)
    )


def describe(call: CallRecord) -> str:
    """Write a recorded call for people: `Payments.refund(7)`, `trigger Bot.request(7)`."""
    if call.text is not None:
        return f"{call.fn} {call.text!r} for {call.type}"
    if call.until is not None:
        return f"{call.fn} until {call.until}"
    if call.fn == "schedules" or (call.to is not None and call.args is UNSET):
        return f"{call.fn} {call.to or ''}".rstrip()
    args = bytes(call.args) if isinstance(call.args, Raw) else None
    kwargs = bytes(call.kwargs) if isinstance(call.kwargs, Raw) else None
    if call.to is None:
        return f"{call.name}({_shown(args, kwargs, call.digest)})"
    asked = f"{call.to}.{call.handler}({_shown(args, kwargs, call.digest)})"
    verb = f"{call.fn} " if isinstance(call.timing, Raw) else ""
    timing = bytes(call.timing).decode() if isinstance(call.timing, Raw) else "{}"
    return f"{verb}{asked}" if timing == "{}" else f"{verb}{asked} {timing}"


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
