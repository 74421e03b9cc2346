"""What an event waits for that a person or a webhook can give, as its records tell it (R21)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec import Raw, UnsetType

from agentctl.core.event_history import QUESTION, EventHistory
from agentctl.core.keys import path_of
from agentctl.record_steps import AnswerRecord, WaitingRecord
from agentctl.records import CallRecord, decode, kind_of


@dataclass(frozen=True, slots=True)
class Wait:
    """An input that is wanted.

    Attributes:
        text: what for, for people.
        type: the name of its type; `schema` what JSON fits it, where the name doesn't say.
        since_us: when it was asked for.
        until_us: when nobody waits for it any more; None: however long it takes.
        step: the name of the step that waits; None: the handler itself asks.
        fits: checks it by the type itself, where the program that asks is at hand.
    """

    text: str
    type: str
    schema: bytes | None
    since_us: int
    until_us: int | None
    step: str | None = None
    fits: Callable[[bytes], None] | None = None


def wait_of(asked: CallRecord | WaitingRecord, step: str | None = None) -> Wait:
    """What a question, or a step, asks for."""
    schema = _bytes(asked.schema)
    text, type_ = asked.text or "", asked.type or ""
    return Wait(text, type_, schema, asked.at, asked.until, step)


def _bytes(raw: Raw | UnsetType) -> bytes | None:
    return bytes(raw) if isinstance(raw, Raw) else None


def waits_of(event: EventHistory) -> Mapping[str, Wait]:
    """The inputs that an event waits for, by the path of the call, in the order of the calls."""
    found = {}
    for path, call in event.calls.items():
        if not event.waits_for_input(path):
            continue
        stands = event.steps.get(path)
        last = None if stands is None else stands.last
        asked = last if isinstance(last, WaitingRecord) else call
        found[path] = wait_of(asked, call.step)
    return found


def is_given_up(event: EventHistory, path: str, wait: Wait) -> bool:
    """Whether the event was cancelled while it waited; what it asks to clean up it still needs."""
    cancel = event.cancel
    return cancel is not None and (wait.since_us < cancel.at or path in event.before_cancel)


def decided_of(event: EventHistory) -> Mapping[str, str]:
    """How the inputs were decided that an event had: `by ana: true`; by path, the last one last."""
    found: dict[str, str] = {}
    for body in event.bodies:
        kind = kind_of(body)
        if kind == "waiting":
            found.pop(path_of(getattr(decode(body), kind)), None)
        elif kind == "answer":
            record = decode(body)
            assert isinstance(record, AnswerRecord)
            by = f"by {record.by}" if record.by else "answered"
            found[path_of(record.answer)] = by
    for path, call in event.calls.items():
        over = path in event.ended and path not in event.dropped
        if call.fn == QUESTION and over and path not in found:
            found[path] = "its time was over"
    return found
