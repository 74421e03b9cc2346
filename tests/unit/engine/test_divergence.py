"""R6: a program that asks for something else than the record stops that event, and says where."""

from __future__ import annotations

import asyncio

import pytest

from agentctl import Agent, Capability, bind, call, handler, sleep
from agentctl.storage.faulty import SimulatedDeath

MODE = {"new": False}


class Api(Capability):
    async def get(self, what: str, *, note: str = "") -> str: ...
    async def put(self, what: str) -> str: ...
    @call(match="name")
    async def log(self, text: str) -> None: ...
    @call(record="digest")
    async def store(self, blob: str) -> None: ...
    async def kill(self) -> None: ...


class Real(Api):
    async def get(self, what: str, *, note: str = "") -> str:
        return what

    async def put(self, what: str) -> str:
        return what

    async def log(self, text: str) -> None:
        pass

    async def store(self, blob: str) -> None:
        pass

    async def kill(self) -> None:
        if not MODE["new"]:
            raise SimulatedDeath


class Bot(Agent):
    api: Api

    @handler
    async def run(self, case: str) -> str:
        await self.api.get("first")
        await getattr(self, f"_{case}")(MODE["new"])
        await self.api.kill()
        return "done"

    async def _same(self, new: bool) -> None:
        await self.api.get("x")

    async def _name(self, new: bool) -> None:
        await (self.api.put("x") if new else self.api.get("x"))

    async def _arguments(self, new: bool) -> None:
        await self.api.get("y" if new else "x")

    async def _by_name(self, new: bool) -> None:
        await self.api.get("x", note="b" if new else "a")

    async def _extra(self, new: bool) -> None:
        if new:
            await self.api.put("extra")
        await self.api.get("x")

    async def _missing(self, new: bool) -> None:
        if not new:
            await self.api.get("x")

    async def _timer(self, new: bool) -> None:
        await sleep(20 if new else 10)

    async def _timer_for_call(self, new: bool) -> None:
        await (self.api.get("x") if new else sleep(10))

    async def _swallows(self, new: bool) -> None:
        try:
            await self.api.get("y" if new else "x")
        except BaseException:
            await self.api.get("swallowed")
            raise

    async def _branch(self, new: bool) -> None:
        task = asyncio.create_task(self.api.get("x"))
        if new:
            await self.api.get("between")
        await task

    async def _matched_by_name(self, new: bool) -> None:
        await self.api.log("b" if new else "a")

    async def _digest_same(self, new: bool) -> None:
        await self.api.store("x" * 1000)

    async def _digest_other(self, new: bool) -> None:
        await self.api.store(("y" if new else "x") * 1000)

    async def _gave_up(self, new: bool) -> None:
        task = asyncio.create_task(self.api.get("x"))
        await asyncio.sleep(0)
        if not new:
            task.cancel()
        await self.api.get("z")


@pytest.fixture(autouse=True)
def old():
    MODE["new"] = False


def rerun(world, request_of, case):
    """Run the old code until it dies in its last call, then the new code over the record."""
    world.dies(bind(Bot, api=Real()), requests=[request_of(Bot, "run", case)])
    MODE["new"] = True
    world.start(bind(Bot, api=Real()))
    bugs = [one for one in world.records() if "bug" in one]
    return bugs[0] if bugs else None


@pytest.mark.parametrize(
    ("case", "key", "recorded", "now"),
    [
        ("name", "Bot-1-2", 'Api.get("x")', 'Api.put("x")'),
        ("arguments", "Bot-1-2", 'Api.get("x")', 'Api.get("y")'),
        ("by_name", "Bot-1-2", 'Api.get("x", note="a")', 'Api.get("x", note="b")'),
        ("extra", "Bot-1-2", 'Api.get("x")', 'Api.put("extra")'),
        ("missing", "Bot-1-2", 'Api.get("x")', "Api.kill()"),
        ("timer", "Bot-1-2", "timer until ", "timer until "),
        ("timer_for_call", "Bot-1-2", "timer until ", 'Api.get("x")'),
        ("swallows", "Bot-1-2", 'Api.get("x")', 'Api.get("y")'),
        ("branch", "Bot-1-4", "Api.kill()", 'Api.get("between")'),
        ("digest_other", "Bot-1-2", "Api.store(digest ", "Api.store(digest "),
    ],
)
def test_k8_each_kind_of_difference_is_reported_with_key_record_program_and_line(
    world, request_of, case, key, recorded, now
):
    bug = rerun(world, request_of, case)
    assert bug is not None
    assert bug["divergence"] is True
    assert bug["text"].startswith(f"Divergence at {key}: on record is {recorded}")
    assert f"the program asks for {now}" in bug["text"]
    assert bug["line"].startswith("tests/unit/engine/test_divergence.py:")
    assert world.heard.ends == [("Bot#1", "stuck", False)]


@pytest.mark.parametrize("case", ["same", "matched_by_name", "digest_same"])
def test_what_may_differ_or_does_not_is_no_divergence(world, request_of, case):
    assert rerun(world, request_of, case) is None
    assert world.heard.ends == [("Bot#1", "completed", False)]


def test_h9_a_divergence_is_never_raised_into_the_handler(world, request_of):
    bug = rerun(world, request_of, "swallows")
    assert bug["divergence"] is True
    assert not any("swallowed" in str(one) for one in world.records())


def test_what_was_given_up_on_record_and_is_awaited_now_is_a_difference(world, request_of):
    bug = rerun(world, request_of, "gave_up")
    assert bug is not None
    assert bug["divergence"] is True


def test_a_handler_that_ends_earlier_than_its_record_is_a_difference(world, request_of):
    class Short(Agent):
        api: Api

        @handler
        async def run(self, case: str) -> str:
            await self.api.get("first")
            return "short"

    world.dies(bind(Bot, api=Real()), requests=[request_of(Bot, "run", "same")])
    MODE["new"] = True
    Short.__name__ = "Bot"
    shorter = type("Bot", (Agent,), {**vars(Short), "__annotations__": {"api": Api}})
    world.start(bind(shorter, api=Real()))
    (bug,) = [one for one in world.records() if "bug" in one]
    assert bug["text"] == (
        'Divergence at Bot-1-2: on record is Api.get("x"), the program asks for nothing now'
    )


def test_the_old_code_put_back_finishes_the_event(world, request_of):
    assert rerun(world, request_of, "arguments") is not None
    MODE["new"] = False

    class Alive(Real):
        async def kill(self) -> None:
            pass

    world.start(bind(Bot, api=Alive()))
    assert world.heard.ends == [("Bot#1", "completed", False)]


def test_a_digest_alone_is_on_record_where_the_method_says_so(world):
    MODE["new"] = True
    world.invoke(bind(Bot, api=Real()), "run", "digest_same")
    (stored,) = [one for one in world.records() if one.get("fn") == "Api.store"]
    assert "args" not in stored
    assert len(stored["digest"]) == 64
    assert "xxx" not in world.journals["Bot"].decode()


def test_r10_an_event_that_diverges_at_every_start_is_set_aside_in_the_end(world, request_of):
    rerun(world, request_of, "arguments")
    found = [world.start(bind(Bot, api=Real()))[0].set_aside for _ in range(4)]
    assert [[str(event) for event in one] for one in found][-1] == []
    assert ["Bot#1"] in [[str(event) for event in one] for one in found]
    assert "Bot set aside: event #1 of run (started 3 times without finishing)" in world.audit
