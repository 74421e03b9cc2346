"""Why an event is where it is, what happens next, and when.

Invariant: takes no lock, changes nothing, hides secrets. Never decides in which state an event is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from agentctl.engines.changes import State
from agentctl.engines.views import AgentView, CallView, EventView
from agentctl.ops.hidden import hide
from agentctl.ops.instants import moment
from agentctl.ops.journal import JournalQuery, read_journal
from agentctl.ops.reasons import NOTHING, Ground, Reason, error, instance_of, shortened, telling
from agentctl.ops.step_documents import WhyDocument
from agentctl.ops.views import backing_off, under_way


def why_event(ground: Ground, event: EventView, view: AgentView) -> WhyDocument:
    """Say why an event is where it is; `view` is its agent's."""
    reason = _of(ground, event, view)
    journal, _ = read_journal(ground.desk, event.event.agent, JournalQuery(event=event.event.event))
    record = telling(journal.records, reason)
    if record is not None and record.kind == "bug" and b'"divergence":true' in bytes(record.record):
        reason = replace(
            reason, next=f"{reason.next}; or what differs is accepted: agentctl help again"
        )
    return WhyDocument(
        str(event.event),
        instance_of(event.event),
        None,
        str(event.state),
        f"{event.event} {reason.why}",
        reason.next,
        moment(reason.at_us),
        reason.behind,
        record,
    )


def _of(ground: Ground, event: EventView, view: AgentView) -> Reason:
    if event.state is State.QUEUED:
        reason = _queued(ground, event, view)
    else:
        reason = _REASONS[event.state](ground, event)
    if event.cancelling:
        return replace(reason, next=_cancelling(event, reason))
    return reason


def _cancelling(event: EventView, reason: Reason) -> str:
    if event.state is not State.RUNNING:
        return f"it is being cancelled, and ends when it has cleaned up: {reason.next}"
    if under_way(event):
        return "it is being cancelled: once that ends, the rest of its clean-up runs, and it ends"
    return "it is being cancelled, and ends when it has cleaned up"


# -- open events


def _scheduled(ground: Ground, event: EventView) -> Reason:
    begins = ground.by_itself("it begins", event.event.agent, event.next_us)
    return Reason("is scheduled: its time is to come", begins, ("event",), at_us=event.next_us)


def _queued(ground: Ground, event: EventView, view: AgentView) -> Reason:
    agent, begun = event.event.agent, event.started_us is not None
    goes = "it goes on" if begun else "it begins"
    kinds = ("event", "requeued", "retry")
    if view.holder is None:
        cut_off = "it was cut off, and " if begun else ""
        why = f"is queued: {cut_off}no program runs {agent}"
        next_ = ground.by_itself(goes, agent, None)
        return Reason(why, next_, (*kinds, "start", "again", "parked", "answer"))
    holder = next((one for one in view.events if str(one.event) == event.waits_for), None)
    if holder is not None:
        held = f"its instance is held by {holder.event}, which {_of(ground, holder, view).why}"
        return Reason(
            f"is queued: {held}", f"{goes} when that ends", kinds, behind=str(holder.event)
        )
    inside = ground.desk.inside(agent)
    number = 0 if inside is None else len(inside.executing)
    many = "1 event executes" if number == 1 else f"{number} events execute"
    lane = "" if event.priority == "medium" else f" in its lane, {event.priority}"
    why = f"is queued: {many}, and no permit is free for it{lane}" if number else "is queued"
    return Reason(why, f"{goes} when its turn comes", kinds)


def _running(ground: Ground, event: EventView) -> Reason:
    calls = under_way(event)
    if not calls:
        last = ("again", "start", "ok", "error", "fired")
        return Reason("is running: its handler executes", "it goes on by itself", last)
    first = min(calls, key=lambda call: call.at_us)
    last_attempt = first.attempts[-1] if first.attempts else None
    attempt, since_us = "", first.at_us
    if last_attempt is not None and last_attempt.n > 1:
        attempt, since_us = f" in attempt {last_attempt.n}", last_attempt.at_us
    where = f", and stands at {first.where}" if first.where else ""
    why = f"is running: it is in {first.fn}{attempt}, begun {ground.at(since_us)}{where}"
    return Reason(why, "it goes on when that ends", ("call", "attempt"), first.key)


def _sleeping(ground: Ground, event: EventView) -> Reason:
    agent, call = event.event.agent, backing_off(event)
    if call is not None:
        last = call.attempts[-1]
        begins = ground.by_itself(f"attempt {last.n + 1} begins", agent, event.next_us)
        why = f"is sleeping: {call.fn} backs off, since attempt {last.n} failed"
        return Reason(f"{why} ({error(last.error)})", begins, ("tried",), call.key, event.next_us)
    timer = next((one for one in event.calls if one.until_us == event.next_us), None)
    goes = ground.by_itself("it goes on", agent, event.next_us)
    key = None if timer is None else timer.key
    return Reason("is sleeping: its handler waits", goes, ("call",), key, event.next_us)


def _waiting(ground: Ground, event: EventView) -> Reason:
    if not event.inputs:
        return _waiting_for_another(ground, event)
    first, *more = event.inputs
    others = f", and {len(more)} more" if more else ""
    until = "" if first.until_us is None else f", and its time ends {ground.at(first.until_us)}"
    why = (
        f"is waiting: {first.key} asked {ground.at(first.since_us)}: "
        f"{shortened(first.text)} ({first.type}){others}{until}"
    )
    give = (
        f"agentctl approval approve {first.key}"
        if first.type == "bool"
        else f"agentctl invocation resume {first.key}"
    )
    goes = f"it goes on once that is answered{ground.needs(event.event.agent)}: {give}"
    return Reason(why, goes, ("call", "waiting"), first.key, first.until_us)


def _waiting_for_another(ground: Ground, event: EventView) -> Reason:
    goes = f"it goes on when the answer is there{ground.needs(event.event.agent)}"
    call = next((one for one in event.calls if one.state == "open" and one.about), None)
    if call is None:
        return Reason(f"is waiting for {event.waits_for or 'an answer'}", goes, ("call",))
    asked = _asked(ground, call)
    which = "" if asked is None else f", which is {asked.event} ({_word(asked.state)})"
    why = f"is waiting: {call.fn} {call.about}{which}, begun {ground.at(call.at_us)}"
    behind = None if asked is None else str(asked.event)
    return Reason(why, goes, ("call",), call.key, behind=behind)


def _asked(ground: Ground, call: CallView) -> EventView | None:
    """The event of another agent that a call asked for, where that can be seen."""
    agent = (call.about or "").partition("/")[0].partition(".")[0].partition("#")[0]
    if agent not in ground.desk.agents():
        return None
    return next((one for one in ground.desk.look(agent).events if one.from_ == call.key), None)


def _stuck(_ground: Ground, event: EventView) -> Reason:
    where = f" ({event.line})" if event.line else ""
    retry = f"agentctl invocation retry {event.event}"
    then = f"once its code is mended, it runs again with the next start, or by: {retry}"
    return Reason(f"is stuck: {shortened(event.text)}{where}", then, ("bug", "event"))


# -- those that are over


def _completed(ground: Ground, event: EventView) -> Reason:
    value = "" if event.value is None else f": {shortened(hide(event.value).decode())}"
    return Reason(f"completed{_ended(ground, event)}{value}", NOTHING, ("done", "outcome"))


def _failed(ground: Ground, event: EventView) -> Reason:
    step = next((one for one in reversed(event.steps) if one.state == "failed"), None)
    where = "" if step is None else f", by attempt {step.attempts[-1].n} of step {step.name}"
    why = f"failed{_ended(ground, event)}: {error(event.type, event.text)}{where}"
    kinds = ("failed", "outcome")
    if not event.records:
        return Reason(why, f"{NOTHING}: its calls are no longer kept", kinds)
    if any(one.undoes for one in event.steps) and (step is None or not step.undoes):
        return Reason(why, f"{NOTHING}: its steps were undone", kinds)
    retry = f"agentctl invocation retry {event.event}"
    return Reason(why, f"it runs again only by: {retry}", kinds)


def _cancelled(ground: Ground, event: EventView) -> Reason:
    text = f": {shortened(event.text)}" if event.text else ""
    # Where there is none, its end is the last record, and says who and why itself.
    return Reason(f"was cancelled{_ended(ground, event)}{text}", NOTHING, ("cancel",))


def _missed(_ground: Ground, event: EventView) -> Reason:
    why = f"was missed: it was {event.text or 'due too long ago'}, and never began"
    return Reason(why, f"{NOTHING}; invoke it anew if it is wanted", ("missed", "outcome"))


def _set_aside(_ground: Ground, event: EventView) -> Reason:
    why = f"is set aside: it was started {event.starts} times without a new result"
    back = f"agentctl requeue set-aside {event.event.agent} {event.event.event}"
    return Reason(why, f"it runs again only by: {back}", ("aside",))


def _ended(ground: Ground, event: EventView) -> str:
    return f" {ground.at(event.ended_us)}" if event.ended_us else ""


def _word(state: State) -> str:
    return str(state).replace("_", " ")


_REASONS: Final[dict[State, Callable[[Ground, EventView], Reason]]] = {
    State.SCHEDULED: _scheduled,
    State.RUNNING: _running,
    State.SLEEPING: _sleeping,
    State.WAITING: _waiting,
    State.STUCK: _stuck,
    State.COMPLETED: _completed,
    State.FAILED: _failed,
    State.CANCELLED: _cancelled,
    State.MISSED: _missed,
    State.SET_ASIDE: _set_aside,
}
