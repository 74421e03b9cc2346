"""Carrying out the timings of a program's events, and waiting for what they made (R18).

In the event's own agent a timing is an effect: one write with the call's result. Of another agent
it is asked, in this program or elsewhere, under an id that it knows again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

import msgspec
from msgspec import UNSET, Raw

from agentctl.core.audit import audit_lines
from agentctl.core.event_history import EventHistory
from agentctl.core.kept import request_of
from agentctl.core.lifecycle import Cancellation
from agentctl.core.setting import decide, sent_of
from agentctl.core.timing import Sent
from agentctl.engines.changes import Cancelled, CancelRequest
from agentctl.engines.local.asking import sending
from agentctl.engines.local.asking.answering import NO_ANSWER, Answering
from agentctl.engines.local.asking.elsewhere import Elsewhere
from agentctl.engines.local.asking.outcomes import outcome_request
from agentctl.engines.local.changing.held import HeldGround
from agentctl.engines.local.changing.operations import carry_out
from agentctl.engines.local.events.askers import made_of
from agentctl.engines.local.events.effects import (
    Effect,
    Sender,
    SendRequest,
    TimingOp,
)
from agentctl.engines.local.events.made import Made, failed
from agentctl.engines.local.running.accepting import find_same, number_of
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.engines.schedules import Unscheduled, UnscheduleRequest
from agentctl.errors import AgentctlError, Interrupted
from agentctl.names import Address, format_instance
from agentctl.records import encode
from agentctl.sdk.execution import Result
from agentctl.sdk.ops import CancelOp, SendOp


class LocalTimings:
    """Implements `Timings` for the agents of one program."""

    def __init__(
        self, agents: Mapping[str, AgentRuntime], answering: Answering, elsewhere: Elsewhere
    ) -> None:
        self._agents = agents
        self._answering = answering
        self._elsewhere = elsewhere

    # -- in the event's own agent

    def effect(self, op: SendOp | CancelOp, sender: Sender) -> Effect:
        """Decide what comes of what an event asks of its own agent."""
        runtime = self._agents[sender.agent]
        try:
            if isinstance(op, CancelOp):
                ground = HeldGround(runtime)
                change = cancel_request(op.sent, request_of(sender.asking))
                made = _cancelled(carry_out(ground, change))
                return Effect(made, ground.bodies, ground.audit, ground.take_effect)
            request = _send_request(op, "")
            if op.timing.name is None:
                return _event(runtime, op, request, sender.key)
            return _schedule(runtime, op, request, sender.key)
        except AgentctlError as error:
            if error.exit_code in NO_ANSWER:
                raise
            return Effect(failed(error))

    # -- of another agent

    async def ask(self, op: TimingOp, sender: Sender) -> Made:
        """Ask another agent, or wait for an outcome; what is wrong with it is an answer, too.

        Raises:
            asyncio.CancelledError: this program stops first; the next start asks again.
        """
        try:
            if isinstance(op, SendOp):
                return await self._send(op, _send_request(op, request_of(sender.asking)))
            if isinstance(op, CancelOp):
                return _cancelled(await self.cancel(op.sent, request_of(sender.asking)))
            wanted = outcome_request(op.sent)
            if op.agent in self._agents:
                asked = await self._answering.outcome(wanted, sender)
            else:
                asked = await self._elsewhere.outcome(wanted)
            return made_of(op, asked)
        except Interrupted:
            raise asyncio.CancelledError from None
        except AgentctlError as error:
            if error.exit_code in NO_ANSWER:
                raise
            return failed(error)

    async def _send(self, op: SendOp, request: SendRequest) -> Made:
        if op.agent in self._agents:
            sent = await self._answering.send(request)
        else:
            sent = await self._elsewhere.send(request, op.cls)
        return _sent(op, sent)

    async def cancel(self, sent: Sent, request: str) -> Cancelled | Unscheduled:
        """Cancel what a timing made, wherever that is."""
        change = cancel_request(sent, request)
        if sent.agent in self._agents:
            answer = await self._answering.carry_out(change)
        else:
            answer = await self._elsewhere.carry_out(change)
        assert isinstance(answer, Cancelled | Unscheduled)
        return answer


def _send_request(op: SendOp, request: str) -> SendRequest:
    return SendRequest(
        op.target.agent,
        op.target.identity,
        op.target.name,
        Raw(op.args),
        op.timing,
        UNSET if op.kwargs is None else Raw(op.kwargs),
        request,
    )


def _event(runtime: AgentRuntime, op: SendOp, request: SendRequest, key: str) -> Effect:
    wanted = sending.wanted_by_timing(runtime.spec, request, key)
    same = find_same(runtime.name, runtime.history, wanted)
    number = runtime.history.next_event if same is None else number_of(same)
    sent = Sent(
        format_instance(runtime.name, wanted.identity),
        wanted.handler,
        event=number,
        due_us=sending.due_of(runtime.history, number, op.timing),
        key=op.timing.key,
    )
    if same is not None:
        return Effect(_sent(op, sent))
    program = runtime.program
    record = wanted.record(runtime.history.next_event, program.entropy(), program.now_us())

    def take() -> None:
        event = EventHistory(record, b"")
        runtime.history.begin(event)
        runtime.queue_in_time(event)

    lines = audit_lines(runtime.name, record, record)
    return Effect(_sent(op, sent), [encode(record)], lines, take)


def _schedule(runtime: AgentRuntime, op: SendOp, request: SendRequest, key: str) -> Effect:
    wish, program = sending.wish_of(runtime.spec, request, key), runtime.program
    wanted = wish.record(program.entropy(), program.now_us())
    known = runtime.history.schedules.live.get((wanted.of, wanted.schedule))
    record = decide(runtime.name, known, wanted, anchored=op.timing.anchored, force=False)
    if record is None:
        assert known is not None
        return Effect(_sent(op, sent_of(runtime.name, known)))
    take: Callable[[], None] = partial(runtime.calendar.take, record)
    lines = audit_lines(runtime.name, record, None)
    return Effect(_sent(op, sent_of(runtime.name, record)), [encode(record)], lines, take)


def _sent(op: SendOp, sent: Sent) -> Made:
    raw = sending.encoded(sent)
    return Made(Result(msgspec.json.decode(raw, type=op.returns)), raw)


def _cancelled(answer: object) -> Made:
    assert isinstance(answer, Cancelled | Unscheduled)
    word: Cancellation = answer.answer
    return Made(Result(word), msgspec.json.encode(word))


def cancel_request(sent: Sent, request: str) -> CancelRequest | UnscheduleRequest:
    """The change that cancels what a timing made."""
    identity = Address.parse(sent.instance).identity
    if sent.event is not None:
        return CancelRequest(sent.agent, request, identity, sent.event)
    assert sent.schedule is not None
    due_us = None if sent.recurs else sent.due_us  # a single one may have been replaced
    return UnscheduleRequest(sent.agent, request, sent.schedule, identity, due_us)
