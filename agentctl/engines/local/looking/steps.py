"""An event's steps as a reader sees them: from its history to `StepView`.

Pure, as `showing`. What undoes a step is a step, too; the step that it undid is undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentctl.core.attempts import Attempt
from agentctl.core.event_history import EventHistory
from agentctl.core.keys import path_of
from agentctl.engines.step_views import AttemptView, StepState, StepView
from agentctl.names import format_call_key, format_instance
from agentctl.record_steps import StepRecord, TriedRecord, WaitingRecord
from agentctl.records import ErrorRecord, OkRecord


def steps_of(
    agent: str, event: EventHistory, attempts: Mapping[str, Sequence[Attempt]], *, running: bool
) -> Sequence[StepView]:
    """Show an event's steps, in the order of their starts.

    Args:
        attempts: as `attempts_of` has them.
        running: the event executes, in a program that is there.
    """
    outcomes = {path: one for path, one in event.deliveries if path in attempts}
    undone = {
        path_of(call.undoes)
        for path, call in event.calls.items()
        if call.undoes is not None and isinstance(outcomes.get(path), OkRecord)
    }
    instance = format_instance(agent, event.accepted.of)
    shown = []
    for path, call in event.calls.items():
        if call.step is None:
            continue
        outcome, stands = outcomes.get(path), event.steps.get(path)
        last = None if stands is None else stands.last
        state = _state(event, path, outcome, last, running=running)
        if state == "done" and path in undone:
            state = "undone"
        shown.append(
            StepView(
                call.step if call.undoes is None else f"undo {call.step}",
                format_call_key(instance, event.number, path),
                state,
                [attempt_view(one) for one in attempts[path]],
                last.next if state == "backing_off" and isinstance(last, TriedRecord) else None,
                bytes(outcome.value) if isinstance(outcome, OkRecord) else None,
                last.text if state == "waiting" and isinstance(last, WaitingRecord) else None,
                call.undoes is not None,
            )
        )
    return shown


def _state(
    event: EventHistory, path: str, outcome: object, last: StepRecord | None, *, running: bool
) -> StepState:
    if isinstance(outcome, OkRecord):
        return "done"
    if isinstance(outcome, ErrorRecord):
        return "failed"
    if path in event.dropped or event.end is not None:
        return "dropped"
    match last:
        case TriedRecord():
            return "backing_off"
        case WaitingRecord():
            return "waiting"
        case _:
            return "running" if running else "queued"


def attempt_view(attempt: Attempt) -> AttemptView:
    """Show one attempt."""
    type_, text = attempt.type, attempt.text
    error = f"{type_}: {text}" if type_ and text else type_
    return AttemptView(attempt.n, attempt.at_us, attempt.ended_us, error)
