"""What a retry keeps of an event's record, and what it makes anew (R8).

A stuck event keeps everything. Of a failed one the calls that its error came out of are made
again, and what the handler did after it had heard of them no longer counts. Accepting a
divergence keeps the record up to the call that differs. Where done steps were undone, only what
failed of that is made again: the steps themselves are no longer done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentctl.core.event_history import WAITED_FOR, EventHistory
from agentctl.core.keys import path_of
from agentctl.record_moves import RetryRecord
from agentctl.records import FailedRecord, decode, kind_of

_OF_CALLS: Final = frozenset(
    ["call", "tried", "attempt", "waiting", "answer", "ok", "error", "fired", "dropped"]
)


def plan_retry(event: EventHistory, *, accept: bool, by: str, at_us: int) -> RetryRecord:
    """Say what a retry of a stuck or a failed event does to its record."""
    number, end, bug = event.number, event.end, event.bug
    undo: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    if isinstance(end, FailedRecord) and is_undone(event):
        forget = failed_undoing(event)
    elif isinstance(end, FailedRecord):
        undo, forget = _after_failure(event, frozenset(end.calls))
    elif accept and bug is not None:
        undo, forget = bug.undo, bug.forget
    return RetryRecord(number, by, undo, forget, at=at_us)


def is_undone(event: EventHistory) -> bool:
    """Whether steps of a failed event were undone, or were to be."""
    return any(call.undoes is not None for call in event.calls.values())


def failed_undoing(event: EventHistory) -> tuple[str, ...]:
    """The calls that were to undo a step, and failed."""
    failing = event.end.calls if isinstance(event.end, FailedRecord) else ()
    undoing = {call.call for call in event.calls.values() if call.undoes is not None}
    return tuple(call for call in failing if call in undoing)


def as_recorded(event: EventHistory, paths: Sequence[str]) -> list[str]:
    """In which order these calls are on record; those that aren't, in their own behind them.

    A retry takes out of the record what couldn't be undone: it is undone behind the rest.
    """
    order = {path: index for index, path in enumerate(event.calls)}
    return sorted(paths, key=lambda path: order.get(path, len(order)))


def _after_failure(
    event: EventHistory, failing: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    failing = frozenset(call for call in failing if path_of(call) in event.calls)
    undo, forget, heard = [], [], False
    for body in standing(event):
        kind = kind_of(body)
        if kind not in _OF_CALLS:
            continue
        call = getattr(decode(body), kind)
        if kind == "error" and call in failing:
            heard = True
            undo.append(call)
        elif heard and kind == "call":
            forget.append(call)
        elif heard and kind == "dropped" and call not in forget:
            undo.append(call)
    return tuple(undo), tuple(forget)


def standing(event: EventHistory) -> list[bytes]:
    """The event's records behind its own, without what retries took out of them."""
    found: list[bytes] = []
    for body in event.bodies[1:]:
        if kind_of(body) != "retry":
            found.append(body)
            continue
        retry = decode(body)
        assert isinstance(retry, RetryRecord)
        found = [one for one in found if not _is_taken_out(one, retry)]
    return found


def _is_taken_out(body: bytes, retry: RetryRecord) -> bool:
    kind = kind_of(body)
    if kind not in _OF_CALLS:
        return False
    call = getattr(decode(body), kind)
    return call in retry.forget or (kind != "call" and call in retry.undo)


def made_again(event: EventHistory, plan: RetryRecord) -> tuple[str, ...]:
    """The names of finished calls that the retry may make again."""
    paths = [path_of(call) for call in (*plan.undo, *plan.forget)]
    finished = {path for path, _ in event.deliveries}
    calls = [event.calls[path] for path in paths if path in finished]
    return tuple(call.name for call in calls if call.fn not in WAITED_FOR)
