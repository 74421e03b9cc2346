"""Waiting for the outcome of what a timing made: an event, or a schedule's next occurrence."""

from __future__ import annotations

from msgspec import Raw

from agentctl.core.finding import find_occurrence
from agentctl.core.history import JournalHistory
from agentctl.core.timing import Sent
from agentctl.engines.local.events.effects import OutcomeRequest, Sender
from agentctl.engines.local.events.endings import End
from agentctl.engines.local.events.questions import AskRequest, behind
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.errors import NotFound, OutcomeGone
from agentctl.names import Address, format_instance
from agentctl.records import BugRecord


def number_for(history: JournalHistory, request: OutcomeRequest) -> int | None:
    """The event whose outcome is asked for; None: its schedule hasn't made it yet.

    Raises:
        OutcomeGone: nothing is kept of it.
    """
    if request.event is not None:
        return request.event
    assert request.schedule is not None
    live = history.schedules.live.get((request.identity, request.schedule))
    if live is not None and live.due == request.due_us:
        return None
    if request.key is not None:
        at = request.identity, request.key
        if (number := history.keys.get(at)) is not None:
            return number
        if (outcome := history.outcomes.get(at)) is not None:
            return outcome.outcome
    event = find_occurrence(history, request.identity, request.schedule, request.due_us)
    if event is not None:
        return event.number
    wanted = request.identity, request.schedule, request.due_us
    for number, aside in history.asides.items():
        if (aside.of, aside.schedule, aside.occurrence) == wanted:
            return number
    raise gone(request)


def is_over(history: JournalHistory, request: OutcomeRequest) -> bool:
    """Whether there is nothing more to wait for: it has ended, or nothing is kept of it."""
    try:
        number = number_for(history, request)
    except OutcomeGone:
        return True
    return number is not None and number not in history.open and number not in history.asides


def gone(request: OutcomeRequest) -> OutcomeGone:
    """What is said where nothing is kept of an event."""
    instance = format_instance(request.agent, request.identity)
    what = Sent(instance, request.handler, request.event, request.schedule, request.due_us).shown
    return OutcomeGone(
        f"the outcome of {what} isn't kept: it ended too long ago, was cancelled, or never was",
        hint="give the timing a key=, and its outcome is kept for `retention`",
    )


async def number_when_made(runtime: AgentRuntime, request: OutcomeRequest) -> int:
    """Wait until a schedule has made that event, and give its number.

    Raises:
        OutcomeGone: nothing is kept of it.
    """
    while (number := number_for(runtime.history, request)) is None:
        await runtime.waiters.wait_for_move((request.identity, request.schedule or ""))
    return number


async def end_for(runtime: AgentRuntime, request: OutcomeRequest) -> End:
    """Wait until that event has ended, however long.

    Raises:
        OutcomeGone: nothing is kept of it.
    """
    history = runtime.history
    number = await number_when_made(runtime, request)
    while number in history.open or number in history.asides:
        end = await runtime.waiters.wait_for(number)
        if not isinstance(end.record, BugRecord):
            return end  # one that is stuck has no outcome yet
    try:
        return runtime.ends.end_of(number)
    except NotFound:
        raise gone(request) from None


def outcome_request(sent: Sent) -> OutcomeRequest:
    """What asks for the outcome of what a timing made."""
    return OutcomeRequest(
        sent.agent,
        Address.parse(sent.instance).identity,
        sent.handler,
        sent.event,
        sent.schedule,
        sent.due_us,
        sent.key,
    )


def as_question(request: OutcomeRequest, sender: Sender) -> AskRequest:
    """The wait as a question, so far as it may be a wait for oneself."""
    accepted = sender.accepted
    return AskRequest(
        request.agent,
        request.identity,
        request.handler,
        Raw(b"[]"),
        sender.key,
        accepted.nonce,
        behind=behind(sender.agent, accepted, exclusive=sender.exclusive),
    )
