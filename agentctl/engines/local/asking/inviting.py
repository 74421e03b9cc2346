"""HostInvoker: what code outside of handlers asks of the agents of its own program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Raw

from agentctl.core.lanes import Priority
from agentctl.core.lifecycle import Cancellation
from agentctl.core.timing import Sent, Timing
from agentctl.engines.changes import ResumeRequest
from agentctl.engines.local.asking import queries
from agentctl.engines.local.asking.answering import Answering
from agentctl.engines.local.asking.outcomes import outcome_request
from agentctl.engines.local.asking.timings import LocalTimings
from agentctl.engines.local.events.effects import SendRequest
from agentctl.engines.local.running.accepting import Wanted, find_same, number_of, once
from agentctl.errors import OutcomeGone
from agentctl.names import Address
from agentctl.sdk.ops import Target
from agentctl.times import Clock


class HostInvoker:
    """Implements the port `Invoker` over the agents of one program."""

    def __init__(self, answering: Answering, timings: LocalTimings, clock: Clock) -> None:
        self._answering = answering
        self._timings = timings
        self._clock = clock

    async def invoke(
        self,
        target: Target,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        priority: Priority = "medium",
    ) -> Any:
        """Accept an event and wait for its outcome, as the handler's caller sees it."""
        self._answering.check_alive()
        runtime = self._answering.agent(target.agent)
        handler = runtime.spec.handlers[target.name]
        identity = runtime.spec.check_identity(target.identity)
        raw = handler.signature.encode(args, kwargs)
        wanted = once(handler, Wanted(identity, handler.name, *raw, priority=priority))
        same = find_same(runtime.name, runtime.history, wanted)
        number = self._answering.put(runtime, wanted) if same is None else number_of(same)
        waiter = runtime.ends.wait_for(number)
        if same is not None:
            await self._answering.durable(runtime)
        end = await waiter
        if end.error is not None:
            raise end.error
        assert end.ended.result is not None
        return handler.signature.result.decode(end.ended.result)  # as read back from the record

    async def query(self, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Read the last committed state of an instance."""
        self._answering.check_alive()
        runtime = self._answering.agent(target.agent)
        state = runtime.state_of(runtime.spec.check_identity(target.identity))
        raw = queries.read(runtime.cls, target.identity, state, (target.name, args, kwargs))
        return runtime.spec.queries[target.name].result.decode(raw)

    async def send(
        self, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any], timing: Timing
    ) -> Sent:
        """Let a handler run now, later, or again and again; it is durable on return."""
        handler = self._answering.agent(target.agent).spec.handlers[target.name]
        raw, named = handler.signature.encode(args, kwargs)
        return await self._answering.send(
            SendRequest(
                target.agent,
                target.identity,
                target.name,
                Raw(raw),
                timing,
                UNSET if named is None else Raw(named),
            )
        )

    async def cancel(self, sent: Sent) -> Cancellation:
        """Cancel what a timing made."""
        return (await self._timings.cancel(sent, "")).answer

    async def resume(self, call: tuple[Address, str], value: bytes, by: str, note: str) -> None:
        """Give a call the input that it waits for, as JSON; it is durable on return."""
        event, path = call
        await self._answering.carry_out(
            ResumeRequest(
                event.agent,
                "",
                event.identity,
                event.event,
                call=path,
                value=Raw(value),
                by=by,
                note=note,
            )
        )

    async def outcome(self, sent: Sent) -> Any:
        """Wait for the outcome of the event that a timing made.

        Raises:
            OutcomeGone: it is no longer kept, or there never was such an event.
        """
        end = await self._answering.end_for(outcome_request(sent))
        if end.error is not None:
            raise end.error
        handler = self._answering.agent(sent.agent).spec.handlers.get(sent.handler)
        if handler is None or end.ended.result is None:
            raise OutcomeGone(f"{sent.agent} has no handler {sent.handler!r} any more")
        return handler.signature.result.decode(end.ended.result)

    def schedules(self, target: Target) -> Sequence[Sent]:
        """Read an instance's named schedules."""
        self._answering.check_alive()
        return self._answering.agent(target.agent).schedules_of(target.identity)

    def now_us(self) -> int:
        """The wall clock of the program."""
        return self._clock.now_us()
