"""Events as a reader sees them: from what a journal's fold keeps to `EventView`.

Pure: a history and a moment in, views out. Never reads, and never decides in which state an event
is; `core.states` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from msgspec import Raw, structs

from agentctl.core.attempts import Attempt, attempts_of
from agentctl.core.event_history import EventHistory, Stands
from agentctl.core.history import JournalHistory
from agentctl.core.lanes import priority_of
from agentctl.core.set_aside import SetAsideEvent
from agentctl.core.states import WAITS, open_calls, pending, state_of
from agentctl.core.timetable import begins_us
from agentctl.core.waits import is_given_up, waits_of
from agentctl.engines.changes import State
from agentctl.engines.inputs import InputView
from agentctl.engines.local.looking.steps import attempt_view, steps_of
from agentctl.engines.schedules import ScheduleView
from agentctl.engines.views import CallView, EventView, Inside
from agentctl.names import Address, format_call_key, format_instance
from agentctl.record_kept import OutcomeRecord
from agentctl.record_moves import AsideRecord, CancelledRecord, MissedRecord
from agentctl.record_schedules import ScheduleRecord
from agentctl.record_steps import AnswerRecord, TriedRecord, WaitingRecord
from agentctl.records import CallRecord, DoneRecord, ErrorRecord, FailedRecord, OkRecord
from agentctl.times import format_duration

_HOLDS = frozenset({State.RUNNING, State.SLEEPING, State.WAITING})


@dataclass(frozen=True)
class AsOf:
    """Whose events are shown, and as of when.

    Attributes:
        held: a program holds the agent's folder.
        unable: the events that it says it can't run, each with the reason.
    """

    agent: str
    held: bool
    now_us: int
    unable: Mapping[int, str] = field(default_factory=dict)

    def open_event(self, event: EventHistory) -> EventView:
        """Show an event that hasn't ended."""
        if (why := self.unable.get(event.number)) is not None:
            return self._event(event, State.STUCK, text=why)
        state = State(state_of(event, held=self.held, now_us=self.now_us))
        if state is State.STUCK and event.bug is not None:
            return self._event(event, state, text=event.bug.text, line=event.bug.line)
        if state is State.SCHEDULED:
            return self._event(event, state, next_us=event.accepted.due)
        if state is State.SLEEPING:
            return self._event(event, state, next_us=pending(event).until_us)
        if state is State.WAITING:
            view = self._event(event, state)
            awaited = view.inputs[0].key if view.inputs else _awaited(event)
            return structs.replace(view, waits_for=awaited)
        return self._event(event, state)

    def _inputs(self, event: EventHistory) -> Sequence[InputView]:
        if event.end is not None:
            return ()
        instance = format_instance(self.agent, event.accepted.of)
        return [
            InputView(
                format_call_key(instance, event.number, path),
                wait.text,
                wait.type,
                wait.schema,
                wait.since_us,
                wait.until_us,
                wait.step,
            )
            for path, wait in waits_of(event).items()
            if not is_given_up(event, path, wait)
        ]

    def _event(self, event: EventHistory, state: State, **more: Any) -> EventView:
        accepted = event.accepted
        attempts = attempts_of(event)
        runs = state is State.RUNNING
        return EventView(
            Address(self.agent, accepted.of, accepted.event),
            accepted.handler,
            state,
            bytes(accepted.args),
            bytes(accepted.kwargs) if isinstance(accepted.kwargs, Raw) else None,
            key=accepted.key,
            priority=priority_of(accepted.lane),
            accepted_us=accepted.at,
            started_us=event.started_us,
            starts=event.starts,
            from_=accepted.from_,
            records=len(event.bodies),
            calls=self._calls(event, attempts) if event.calls else (),
            cancelling=event.cancel is not None and event.end is None,
            schedule=accepted.schedule,
            due_us=None if accepted.beside else accepted.occurrence or accepted.due,
            inputs=self._inputs(event) if event.calls else (),
            steps=steps_of(self.agent, event, attempts, running=runs) if attempts else (),
            once=accepted.once,
            **more,
        )

    def _calls(
        self, event: EventHistory, attempts: Mapping[str, Sequence[Attempt]]
    ) -> Sequence[CallView]:
        outcomes = dict(event.deliveries)
        instance = format_instance(self.agent, event.accepted.of)
        return [
            _call(
                format_call_key(instance, event.number, path),
                call,
                outcomes.get(path),
                event.steps.get(path),
                attempts=attempts.get(path, ()),
                dropped=path in event.dropped,
            )
            for path, call in event.calls.items()
        ]

    def ended_events(self, history: JournalHistory) -> Iterator[EventView]:
        """Show what is kept of events that are over, by number."""
        kept = history.kept.events
        remembered = {one.outcome: one for one in history.outcomes.values()}
        for number in sorted({*kept, *remembered} - history.open.keys() - history.asides.keys()):
            if number in kept:
                yield self._ended_event(kept[number])
            else:
                yield self._remembered(remembered[number])

    def _ended_event(self, event: EventHistory) -> EventView:
        match event.end:
            case DoneRecord(value=value, at=at):
                return self._event(event, State.COMPLETED, ended_us=at, value=bytes(value))
            case FailedRecord(type=type_, text=text, at=at):
                return self._event(event, State.FAILED, ended_us=at, type=type_, text=text)
            case CancelledRecord(reason=reason, at=at):
                said = reason or (event.cancel.reason if event.cancel else "")
                return self._event(event, State.CANCELLED, ended_us=at, text=said)
            case MissedRecord(late_us=late_us, at=at):
                said = f"due {format_duration(timedelta(microseconds=late_us))} before"
                return self._event(event, State.MISSED, ended_us=at, text=said)
        raise AssertionError("what is kept has ended")

    def _remembered(self, outcome: OutcomeRecord) -> EventView:
        return EventView(
            Address(self.agent, outcome.of, outcome.outcome),
            outcome.handler,
            State(outcome.status),
            key=outcome.key,
            ended_us=outcome.at,
            type=outcome.type,
            text=outcome.text or "",
            value=bytes(outcome.value) if isinstance(outcome.value, Raw) else None,
            once=outcome.once,
        )

    def aside_event(self, aside: AsideRecord, lying: SetAsideEvent | None) -> EventView:
        """Show an event that is set aside; `lying` are its lines, where they can be read."""
        return EventView(
            Address(self.agent, aside.of, aside.aside),
            aside.handler,
            State.SET_ASIDE,
            b"[]" if lying is None else bytes(lying.args),
            None if lying is None or lying.kwargs is None else bytes(lying.kwargs),
            key=aside.key,
            priority=priority_of(aside.lane),
            accepted_us=aside.accepted,
            started_us=aside.started or None,
            ended_us=aside.at,
            starts=aside.starts,
            from_=aside.from_,
            records=0 if lying is None else len(lying.lines),
            schedule=aside.schedule,
            due_us=aside.occurrence,
            once=aside.once,
        )


def with_holders(events: Sequence[EventView], seen: Inside | None) -> Sequence[EventView]:
    """Say of each queued event which one holds its instance, if one does.

    Args:
        seen: what the program says; if it doesn't answer, what has begun counts as the holder.
    """
    holders: dict[tuple[str, ...], Address] = {}
    for one in events:
        if one.state in _HOLDS if seen is None else one.event.event in seen.holding:
            holders.setdefault(one.event.identity, one.event)
    return [
        structs.replace(one, waits_for=str(holders[one.event.identity]))
        if one.state is State.QUEUED and holders.get(one.event.identity, one.event) != one.event
        else one
        for one in events
    ]


def _awaited(event: EventHistory) -> str | None:
    """Whose answer an event waits for."""
    for call in open_calls(event):
        if call.fn in WAITS:
            return _about(call) if call.fn == "result" else call.to
    return None


def _about(call: CallRecord) -> str | None:
    """What a call that concerns another event is about; of a question its text."""
    if call.text is not None:
        return call.text
    if call.to is None or isinstance(call.args, Raw):
        return None if call.to is None else f"{call.to}.{call.handler}"
    schedule, _, _due_us = call.to.rpartition(" ")
    return schedule or call.to


def _call(
    key: str,
    call: CallRecord,
    outcome: Any,
    stands: Stands | None,
    *,
    attempts: Sequence[Attempt],
    dropped: bool,
) -> CallView:
    args = bytes(call.args) if isinstance(call.args, Raw) else None
    about, by = _about(call), None
    last = None if stands is None else stands.last
    if isinstance(last, WaitingRecord):
        about = last.text
    if isinstance(outcome, OkRecord):
        state, said = "ok", bytes(outcome.value).decode()
    elif isinstance(outcome, ErrorRecord):
        state, said = "error", f"{outcome.type}: {outcome.text}" if outcome.text else outcome.type
    elif isinstance(last, AnswerRecord) and not dropped:
        state, said, by = "answered", bytes(last.value).decode(), last.by
    else:
        state, said = ("dropped" if dropped else "open" if outcome is None else "fired"), None
    ended_us = None if outcome is None else outcome.at
    return CallView(
        key,
        call.name,
        state,
        args,
        said,
        call.at,
        ended_us,
        call.until,
        about=about,
        by=by,
        attempts=[attempt_view(one) for one in attempts],
        next_us=last.next if state == "open" and isinstance(last, TriedRecord) else None,
        kwargs=bytes(call.kwargs) if isinstance(call.kwargs, Raw) else None,
    )


def schedule(agent: str, record: ScheduleRecord) -> ScheduleView:
    """Show a schedule."""
    return ScheduleView(
        Address(agent, record.of),
        record.schedule,
        record.handler,
        bytes(record.args),
        bytes(record.kwargs) if isinstance(record.kwargs, Raw) else None,
        record.due,
        begins_us(record),
        record.period,
        record.cron,
        record.tz,
        record.missed,
        record.overlap,
        record.jitter,
        record.late,
        record.source,
        record.paused,
        record.at,
        record.by,
        priority_of(record.lane),
    )
