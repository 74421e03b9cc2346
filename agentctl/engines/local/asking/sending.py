"""Timings that come from elsewhere: of another agent, of a host, of a person (R18).

What a timing makes is put on record with the answer, under the id that it was asked under: asked
again, it is answered again, and makes nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentctl.core.history import JournalHistory
from agentctl.core.setting import Wish
from agentctl.core.timing import Sent, Timing, check
from agentctl.engines.changes import Accepted
from agentctl.engines.local.asking.checking import checked_request, handler_of, wanted_of
from agentctl.engines.local.changing import scheduling
from agentctl.engines.local.changing.ground import Ground
from agentctl.engines.local.changing.operations import answer_again, answered
from agentctl.engines.local.events.effects import SendRequest
from agentctl.engines.local.options import random_part
from agentctl.engines.local.running.accepting import Wanted, check_repeatable, digest_of, once
from agentctl.engines.port import InvokeRequest
from agentctl.engines.schedules import Scheduled, SetRequest
from agentctl.errors import UsageError
from agentctl.names import Address, format_instance
from agentctl.records import Record
from agentctl.sdk.fields import AgentSpec

_SET = "schedule"
_SAME = "scheduled"
"""Nothing was set: it was there already, just so; the call that asked mustn't set it once gone."""


def send(ground: Ground, spec: AgentSpec, request: SendRequest) -> Sent:
    """Accept an event, or set a schedule.

    Raises:
        NotFound, BadArguments, UsageError: it doesn't fit the handler, or makes no sense.
        Conflict: the name or the key is taken.
    """
    check(request.timing)
    known = ground.history.answer_to(request.id)
    if request.timing.name is not None:
        wish = wish_of(spec, request)

        def answer(done: Scheduled) -> Sequence[Record]:
            asked = (request.id, _SET if done.changed else _SAME)
            return answered(ground, asked, done, owed=True) if request.id else ()

        if known is not None:
            done = answer_again(known, Scheduled)
        else:
            done = scheduling.put(ground, wish, random_part(), answer, force=False)
        return _of_schedule(request, done)
    if known is not None:
        accepted = answer_again(known, Accepted)
    else:
        accepted = ground.accept(wanted_by_timing(spec, request))
    number = Address.parse(accepted.event).event
    return Sent(
        format_instance(request.agent, request.identity),
        request.handler,
        event=number,
        due_us=due_of(ground.history, number, request.timing),
        key=request.timing.key,
    )


def due_of(history: JournalHistory, number: int | None, timing: Timing) -> int | None:
    """When an event is due that a timing asked for: it may have been there, for another time."""
    event = None if number is None else history.open.get(number)
    return timing.due_us if event is None else event.accepted.due


def _of_schedule(request: SendRequest, done: Scheduled) -> Sent:
    return Sent(
        done.instance,
        request.handler,
        schedule=done.name,
        due_us=done.due_us,
        period_us=request.timing.period_us,
        key=request.timing.key,
        cron=request.timing.cron,
    )


def wanted_by_timing(spec: AgentSpec, request: SendRequest, from_: str | None = None) -> Wanted:
    """The event that a timing without a name asks for, checked by its handler.

    Args:
        from_: the call that asks for it, where it is the same agent's.
    """
    handler, raw, named = checked_request(spec, request)
    timing = request.timing
    wanted = Wanted(
        spec.check_identity(request.identity),
        handler.name,
        raw,
        named,
        key=timing.key,
        due_us=timing.due_us,
        late_us=timing.late_us,
        priority=timing.priority,
        digest=None if timing.key is None else digest_of(handler, raw, named),
        from_=from_,
        request=request.id,
        owed=bool(request.id),
    )
    return once(handler, wanted)


def wish_of(spec: AgentSpec, request: SendRequest, from_: str | None = None) -> Wish:
    """The schedule that a timing with a name asks for, checked by its handler."""
    handler, raw, named = checked_request(spec, request)
    check_repeatable(handler)
    identity = spec.check_identity(request.identity)
    return Wish(identity, handler.name, raw, named, request.timing, "code", from_)


def set_schedule(ground: Ground, spec: AgentSpec, request: SetRequest) -> Scheduled:
    """Set a schedule as a person or a file asks for it.

    Raises:
        NotFound, BadArguments, UsageError: it doesn't fit the handler, or makes no sense.
        Conflict: another source has set it.
    """
    known = ground.history.answer_to(request.id)
    if known is not None:
        return answer_again(known, Scheduled)

    def answer(done: Scheduled) -> Sequence[Record]:
        remembered = request.id and done.changed
        return answered(ground, (request.id, _SET), done) if remembered else ()

    wish = wish_by(spec, request)
    return scheduling.put(ground, wish, random_part(), answer, force=request.force)


def wish_by(spec: AgentSpec, request: SetRequest) -> Wish:
    """A schedule as it is asked for, checked by its handler."""
    timing: Timing = request.timing
    if timing.name is None:
        raise UsageError("a schedule has a name", hint="give it one: --name report")
    check(timing)
    check_repeatable(handler_of(spec, request.handler))
    wanted = wanted_of(
        spec,
        InvokeRequest(
            request.agent,
            request.identity,
            request.handler,
            request.args,
            request.kwargs,
            request.words,
            request.text,
        ),
    )
    return Wish(
        wanted.identity,
        wanted.handler,
        wanted.args,
        wanted.kwargs,
        timing,
        request.source,
        by=request.by,
    )


def encoded(sent: Sent) -> bytes:
    """What a timing made, as it is recorded."""
    return msgspec.json.encode(sent)
