"""One event's trouble stays its own: whatever the author's code does, the program goes on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from agentctl import Agent, Capability, Stuck, bind, blocking, handler
from agentctl.errors import CallFailed, NotRecordable


@dataclass
class Even:
    number: int

    def __post_init__(self):
        if self.number % 2:
            raise ValueError("odd")


class Odd(Capability):
    async def number(self) -> Even:
        made = Even(2)
        made.number = 3
        return made

    @blocking
    def nothing(self) -> int:
        return next(iter([]))


class Bot(Agent):
    odd: Odd

    @handler
    async def reads(self) -> str:
        try:
            await self.odd.number()
        except NotRecordable as error:
            return str(error)
        return "read"

    @handler
    async def takes(self) -> str:
        try:
            return str(await self.odd.nothing())
        except CallFailed as error:
            return str(error)
        except RuntimeError as error:
            return str(error)

    @handler
    async def surrogate(self) -> None:
        raise ValueError("bad \udcff name")

    @handler
    async def well(self) -> str:
        return "well"


def test_r7_a_result_that_cant_be_read_back_is_the_calls_error(world):
    said = world.run(Bot, "reads", odd=Odd())
    assert "Odd.number" in said
    assert world.run(Bot, "well", odd=Odd()) == "well"


def test_a_stop_iteration_of_a_blocking_method_is_an_error_like_any_other(world):
    assert "raised StopIteration" in world.run(Bot, "takes", odd=Odd())


def test_r8_a_bug_whose_text_is_no_utf8_makes_the_event_stuck(world):
    with pytest.raises(Stuck, match="bad"):
        world.run(Bot, "surrogate", odd=Odd())
    bug = next(one for one in world.records() if "bug" in one)
    assert bug["text"] == r"ValueError: bad \udcff name"
    assert world.run(Bot, "well", odd=Odd()) == "well"


def changed_bots():
    class Bot(Agent):
        n: int = 0

        @handler
        async def wait(self) -> None:
            await asyncio.sleep(60)

        @handler
        async def well(self) -> str:
            return "well"

    before = Bot

    class Bot(Agent):
        name: str
        n: int = 0

        @handler
        async def wait(self) -> None:
            await asyncio.sleep(60)

        @handler
        async def well(self) -> str:
            return "well"

    return before, Bot


def test_r3_an_event_without_the_identity_that_its_class_has_now_is_stuck_alone(world):
    before, after = changed_bots()

    async def accept_and_die():
        async with world.program(bind(before), jumps=False) as host:
            waiting = asyncio.ensure_future(host.reference(before).wait())
            await asyncio.sleep(0.01)
            world.disk = world.disk.after_kill()
            waiting.cancel()

    asyncio.run(accept_and_die())
    assert world.run(after, "well", identity=("eu",)) == "well"
    assert any("identity" in text for text in world.heard.warnings)


class Poller(Agent):
    name: str
    odd: Odd

    @handler
    async def poll(self) -> None:
        try:
            await self.odd.number()
        except CallFailed:
            return


def test_r15_no_audit_line_of_an_agent_with_identity_is_doubled(world):
    denied = bind(Poller, odd=Odd(), deny={"odd.number": "closed"})
    world.invoke(denied, "poll", identity=("eu/7",))
    killed = world.after_kill()
    killed.clock.advance(1)
    killed.start(denied)
    lines = killed.folder_file("audit.log", "Poller").splitlines()
    assert len(lines) == len(set(lines))
    assert sum("Poller/eu%2F7 denied: call 1-1 (closed)" in line for line in lines) == 1


class Flaky(Capability):
    async def send(self) -> None:
        raise KeyError("smtp")


class Mailer(Agent):
    flaky: Flaky

    @handler
    async def mail(self) -> None:
        await self.flaky.send()


def test_a_fault_in_a_capability_is_shown_where_it_happened(world):
    ended = world.invoke(bind(Mailer, flaky=Flaky()), "mail")
    assert ended.status == "failed"
    assert ended.error.__traceback__.tb_next is not None
    assert isinstance(ended.error, KeyError)


class Forgetful(Agent):
    odd: Odd

    @handler
    async def forgets(self) -> str:
        self.odd.number()
        return "done"

    @handler
    async def shows(self) -> str:
        return f"{self.odd.number()}"

    @handler
    async def looks(self) -> int:
        return self.odd.number().number

    @handler
    async def misspells(self) -> int:
        return await self.odd.nubmer()

    @handler
    async def drops_on_purpose(self) -> str:
        self.odd.number().close()
        return "well"


@pytest.mark.parametrize("name", ["forgets", "shows", "looks"])
def test_a_forgotten_await_is_a_bug_that_names_call_and_line(world, name):
    ended = world.invoke(bind(Forgetful, odd=Odd()), name)
    assert ended.status == "stuck"
    assert "Odd.number()" in ended.text
    assert "await" in ended.text
    assert ended.line.startswith("tests/unit/engine/test_own_trouble.py:")
    assert not world.heard.calls


def test_a_misspelt_method_suggests_the_nearest(world):
    assert "did you mean number?" in world.invoke(bind(Forgetful, odd=Odd()), "misspells").text


def test_a_call_that_is_given_up_on_purpose_is_no_bug(world):
    assert world.run(Forgetful, "drops_on_purpose", odd=Odd()) == "well"
