"""Invoking a handler: beside the program that runs its agent, or as a program of one's own.

Invariant: what is answered is durable; the same request is asked under one id, so that an event
is accepted once, whoever was just ending. The user's code is loaded only where nobody else has it
loaded. Never prints and never asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import Raw, structs

from agentctl.engines.desk import Desk, Holder
from agentctl.engines.port import Ended, InvokeRequest
from agentctl.names import Address
from agentctl.project.model import Project
from agentctl.times import Clock

How: TypeAlias = Literal["ended", "read", "accepted", "timeout"]


@dataclass(frozen=True)
class Outcome:
    """What came of an invocation.

    Attributes:
        how: it `ended`; it was a query, which was `read`; it was `accepted`, and nobody waits; or
            the time to wait passed.
        event: None for a query, and where the time passed before anything was answered.
        result: of a query: JSON.
        joined: the event was there already, under the same key.
        beside: another program runs it, and goes on with it.
    """

    how: How
    event: Address | None = None
    ended: Ended | None = None
    result: bytes | None = None
    joined: bool = False
    beside: bool = False


def invoke(
    desk: Desk,
    request: InvokeRequest,
    alone: Callable[[], Outcome],
    *,
    clock: Clock,
    wait_s: float,
    timeout_s: float | None,
) -> Outcome:
    """Run one event to its end, or read a query.

    Args:
        alone: does it where no program runs the agent; raises `Locked` if one does by now.
        clock: measures the time to wait.
        wait_s: how long a program that holds the folder may be out of reach.
        timeout_s: how long to wait for the end; None for as long as it takes.

    Raises:
        Locked: a program holds the folder, and doesn't answer.
        AgentctlError: it wasn't accepted.
    """
    give_up_s = None if timeout_s is None else clock.monotonic_s() + timeout_s

    def left_s() -> float | None:
        return None if give_up_s is None else max(0.0, give_up_s - clock.monotonic_s())

    def beside(holder: Holder) -> Outcome:
        try:
            invoked = holder.invoke(structs.replace(request, waits=True), left_s())
        except TimeoutError:
            return Outcome("timeout", beside=True)
        if isinstance(invoked.result, Raw):
            return Outcome("read", result=bytes(invoked.result), beside=True)
        event = _event(invoked.event)
        try:
            end = holder.wait(event, left_s())
        except TimeoutError:
            return Outcome("timeout", event, joined=invoked.joined, beside=True)
        return Outcome("ended", event, end, joined=invoked.joined, beside=True)

    return desk.invoke(request.agent, alone, beside, wait_s)


def trigger(desk: Desk, project: Project, request: InvokeRequest, *, wait_s: float) -> Outcome:
    """Have an event accepted, and don't wait for it.

    Raises:
        Locked: a program holds the folder, and doesn't answer.
        AgentctlError: it wasn't accepted.
    """

    def alone() -> Outcome:
        from agentctl.project.loading import load_class

        accepted = desk.leave(load_class(project, request.agent), request)
        return Outcome("accepted", Address.parse(accepted.event), joined=accepted.joined)

    def beside(holder: Holder) -> Outcome:
        invoked = holder.invoke(request, None)
        if isinstance(invoked.result, Raw):
            return Outcome("read", result=bytes(invoked.result), beside=True)
        return Outcome("accepted", _event(invoked.event), joined=invoked.joined, beside=True)

    return desk.invoke(request.agent, alone, beside, wait_s)


def _event(text: str | None) -> Address:
    assert text is not None, "what is no query is an event"
    return Address.parse(text)
