"""What comes first decides: the event's end, the time, the stop, or a disk that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agentctl.engines.port import Ended, InvokeRequest, Stopped
from agentctl.errors import AgentctlError, DiskTrouble
from agentctl.names import Address
from agentctl.ops.running import Answer, Served, invoke, serve

REQUEST = InvokeRequest("Bot", (), "request", [7])
EVENT = Address("Bot", (), 1)


class Program:
    """An engine whose event ends, or whose disk fails, when the test says so."""

    recovered = ()

    def __init__(self) -> None:
        self.end: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self.trouble: asyncio.Future[AgentctlError] = asyncio.get_running_loop().create_future()
        self.rest: asyncio.Future[Sequence[Address]] = asyncio.get_running_loop().create_future()
        self.joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.joined.set_result(None)
        self.order: list[str] = []
        self.stops = 0

    async def submit(self, request: InvokeRequest) -> Address:
        return EVENT

    async def ended(self, event: Address) -> Ended:
        return await self.end

    async def idle(self, within_s: float = 0.0) -> Sequence[Address]:
        return await self.rest

    async def others(self) -> None:
        self.order.append("others")
        await self.joined

    async def broken(self) -> AgentctlError:
        return await asyncio.shield(self.trouble)

    async def stop(self) -> Stopped:
        self.order.append("stop")
        self.stops += 1
        return Stopped(open=1, cut_off=2)


def test_the_end_is_the_answer_even_if_the_stop_comes_with_it() -> None:
    async def main() -> tuple[Answer, int]:
        program, asked = Program(), asyncio.Event()
        program.end.set_result(Ended(EVENT, "request", "completed", result=b"7"))
        asked.set()
        return await invoke(program, REQUEST, stop_asked=asked), program.stops

    answer, stops = asyncio.run(main())
    assert answer.how == "ended"
    assert answer.ended is not None
    assert stops == 1


def test_it_is_answered_at_its_end_and_others_that_joined_are_waited_for() -> None:
    async def main() -> list[str]:
        program = Program()
        program.end.set_result(Ended(EVENT, "request", "completed", result=b"7"))
        program.joined = asyncio.get_running_loop().create_future()

        def answered(_: Answer) -> None:
            program.order.append("answered")
            program.joined.get_loop().call_soon(program.joined.set_result, None)

        await invoke(program, REQUEST, stop_asked=asyncio.Event(), answered=answered)
        return program.order

    assert asyncio.run(main()) == ["answered", "others", "stop"]


def test_a_stop_does_not_wait_for_those_that_joined() -> None:
    async def main() -> tuple[Answer, list[str]]:
        program, asked = Program(), asyncio.Event()
        program.end.set_result(Ended(EVENT, "request", "completed", result=b"7"))
        program.joined = asyncio.get_running_loop().create_future()  # nobody ever lets it go
        return await invoke(
            program, REQUEST, stop_asked=asked, answered=lambda _: asked.set()
        ), program.order

    answer, order = asyncio.run(main())
    assert answer.how == "ended"
    assert order == ["others", "stop"]


def test_without_an_end_the_time_decides() -> None:
    async def main() -> Answer:
        return await invoke(Program(), REQUEST, stop_asked=asyncio.Event(), timeout_s=0.0)

    assert asyncio.run(main()) == Answer("timeout", EVENT)


def test_or_the_stop() -> None:
    async def main() -> Answer:
        asked = asyncio.Event()
        return await invoke(Program(), REQUEST, stop_asked=asked, accepted=lambda _: asked.set())

    assert asyncio.run(main()) == Answer("stopped", EVENT)


def test_a_disk_that_fails_is_raised_by_both() -> None:
    async def main(which: str) -> None:
        program = Program()
        program.trouble.set_result(DiskTrouble("no space"))
        if which == "invoke":
            await invoke(program, REQUEST, stop_asked=asyncio.Event())
        else:
            await serve(program, stop_asked=asyncio.Event())

    for which in ("invoke", "serve"):
        with pytest.raises(DiskTrouble, match="no space"):
            asyncio.run(main(which))


def test_serving_ends_when_asked_or_when_all_is_idle() -> None:
    async def main(*, idle: bool) -> Served:
        program, asked = Program(), asyncio.Event()
        if idle:
            program.rest.set_result([EVENT])
            return await serve(program, stop_asked=asked, idle_within_s=0.0)
        asyncio.get_running_loop().call_soon(asked.set)
        return await serve(program, stop_asked=asked)

    assert asyncio.run(main(idle=True)) == Served([EVENT], Stopped(1, 2), False)
    assert asyncio.run(main(idle=False)) == Served((), Stopped(1, 2), True)
