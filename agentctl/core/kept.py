"""Kept: the ended events that a journal still holds, and which of them may go (R17, R23).

The last `keep` ended ones, failed ones for longer, and those whose asker hasn't its answer yet.
Memory doesn't grow with the number of ended events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import UNSET

from agentctl.core.event_history import EndRecord, EventHistory
from agentctl.names import Identity, format_call_key, format_instance
from agentctl.record_kept import OutcomeRecord
from agentctl.record_moves import CancelledRecord, MissedRecord
from agentctl.records import DoneRecord, EventRecord, FailedRecord

KEEP: Final = 100
"""So many are kept where no program has said otherwise yet; as a header without the field."""
MOST_FAILED: Final = 1000
"""So many failed events are kept at most, however young."""

_REMEMBERED: Final = frozenset(["ask", "trigger", "schedule"])
"""What the asked agent remembers until it knows that the answer is there."""

Asking: TypeAlias = tuple[str, str]
"""Who asked: the asking call's key, and the random part of its event."""


def request_of(asking: Asking) -> str:
    """The id under which a call asks another agent for something that is no event."""
    return "-".join(asking)


def asking_of(event: EventHistory) -> Asking | None:
    """Who asked for an event, if another agent did."""
    accepted = event.accepted
    if accepted.from_ is None or accepted.asker is None:
        return None
    return accepted.from_, accepted.asker


def answers_had(agent: str, event: EventHistory) -> Iterator[tuple[str, Asking]]:
    """What an event asked other agents and waits for no longer, each with the agent asked."""
    accepted = event.accepted
    for path, call in event.calls.items():
        if call.fn not in _REMEMBERED or call.to is None or path not in event.ended:
            continue
        asked = call.to.partition("/")[0]
        if call.fn == "ask" or asked != agent:  # one's own timings need no memory
            key = format_call_key(format_instance(agent, accepted.of), accepted.event, path)
            yield asked, (key, accepted.nonce)


class Kept:
    """The ended events that are kept, by number, in the order of their ends.

    Attributes:
        events: all of them.
        keep: how many are kept at least.
        untold: those whose asker isn't known to have the answer, by who asked.
    """

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.events: dict[int, EventHistory] = {}
        self.untold: dict[Asking, int] = {}
        self._recent: deque[int] = deque()
        self._failed: deque[int] = deque()

    def add(self, event: EventHistory) -> None:
        """Take an event that ended; another may go for it."""
        number = event.number
        self.events[number] = event
        asking = asking_of(event)
        if asking is not None and not event.told:
            self.untold[asking] = number
        self._recent.append(number)
        if isinstance(event.end, FailedRecord):
            self._failed.append(number)
            if len(self._failed) > MOST_FAILED:
                self._let_go(self._failed.popleft())
        while len(self._recent) > self.keep:
            self._let_go(self._recent.popleft())

    def take(self, number: int) -> EventHistory | None:
        """Take an event out again: it goes on."""
        event = self.events.pop(number, None)
        if event is not None:
            self._forget(number)
            asking = asking_of(event)
            if asking is not None:
                self.untold.pop(asking, None)
        return event

    def _forget(self, number: int) -> None:
        for numbers in (self._recent, self._failed):
            if number in numbers:
                numbers.remove(number)

    def forget(self, of: Identity) -> None:
        """Let the failed events of an instance go: a retry would bring it back."""
        for number, event in list(self.events.items()):
            failed = isinstance(event.end, FailedRecord)
            if failed and event.accepted.of == of and asking_of(event) not in self.untold:
                self.take(number)

    def told(self, asking: Asking) -> None:
        """Note that who asked has the answer."""
        number = self.untold.pop(asking, None)
        if number is not None:
            self._let_go(number)

    def _let_go(self, number: int) -> None:
        event = self.events.get(number)
        if event is None or number in self._recent:
            return
        if isinstance(event.end, FailedRecord) and number in self._failed:
            return
        asking = asking_of(event)
        if asking is None or self.untold.get(asking) != number:
            del self.events[number]

    def worth(self, *, now_us: int, keep_failed_us: int | None) -> Iterator[EventHistory]:
        """The events that a rewrite takes along, in the order of their ends.

        Args:
            keep_failed_us: how long failed ones are kept; None: as long as they are here.
        """
        recent = set(self._recent)
        for number, event in self.events.items():
            asking = asking_of(event)
            end = event.end
            assert end is not None
            young = keep_failed_us is None or end.at + keep_failed_us > now_us
            if (
                number in recent
                or asking in self.untold
                or (isinstance(end, FailedRecord) and young)
            ):
                yield event


def outcome_of(accepted: EventRecord, end: EndRecord) -> OutcomeRecord:
    """What compaction keeps of a keyed event that ended (R17)."""
    assert accepted.key is not None
    match end:
        case DoneRecord():
            number, status = end.done, "completed"
        case CancelledRecord():
            number, status = end.cancelled, "cancelled"
        case MissedRecord():
            number, status = end.missed, "missed"
        case FailedRecord():
            number, status = end.failed, "failed"
    failed = end if isinstance(end, FailedRecord) else None
    return OutcomeRecord(
        number,
        accepted.handler,
        accepted.key,
        status,
        of=accepted.of,
        digest=accepted.digest,
        value=end.value if isinstance(end, DoneRecord) else UNSET,
        type=failed.type if failed else None,
        args=failed.args if failed else UNSET,
        text=failed.text if failed else None,
        once=accepted.once,
        at=end.at,
    )
