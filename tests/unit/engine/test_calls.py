"""R9: calls that nobody waits for, or that may have happened; calls forbidden or limited."""

from __future__ import annotations

import asyncio
import json
import threading

from agentctl import (
    Agent,
    Capability,
    Denied,
    UnknownOutcome,
    bind,
    blocking,
    call,
    handler,
    timeout,
    uses,
)
from agentctl.storage.faulty import SimulatedDeath


class Api(Capability):
    async def get(self, what: str) -> str: ...
    @call(repeat=False)
    async def pay(self, amount: int) -> str: ...
    @call(timeout=0.02)
    async def slow(self) -> None: ...
    @blocking
    def block(self, what: str) -> str: ...


class Real(Api):
    def __init__(self, *die_at):
        self.made = []
        self.die_at = set(die_at)
        self.gate = asyncio.Event()
        self.thread = threading.Event()

    def _note(self, what):
        self.made.append(what)
        if what in self.die_at:
            raise SimulatedDeath

    async def get(self, what: str) -> str:
        self._note(what)
        if what == "never":
            await self.gate.wait()
        return what

    async def pay(self, amount: int) -> str:
        self._note(f"pay {amount}")
        return "paid"

    async def slow(self) -> None:
        self._note("slow")
        await self.gate.wait()

    @blocking
    def block(self, what: str) -> str:
        self._note(what)
        self.thread.wait(5)
        return what


class Bot(Agent):
    api: Api
    narrow: Api = uses("get")

    @handler
    async def pays(self) -> str:
        try:
            return await self.api.pay(900)
        except UnknownOutcome as error:
            return f"unknown: {error}"

    @handler
    async def pays_blindly(self) -> str:
        return await self.api.pay(900)

    @handler
    async def races(self) -> str:
        loser = asyncio.create_task(self.api.get("never"))
        winner = asyncio.create_task(self.api.get("quick"))
        await asyncio.wait({loser, winner}, return_when=asyncio.FIRST_COMPLETED)
        loser.cancel()
        await self.api.get("kill")
        return winner.result()

    @handler
    async def slow(self) -> str:
        try:
            await self.api.slow()
        except TimeoutError:
            return "timeout"
        return "no timeout"

    @handler
    async def forbidden(self) -> str:
        try:
            await self.narrow.pay(1)
        except Denied as error:
            return error.reason
        return "allowed"

    @handler
    async def forbidden_by_policy(self) -> str:
        return await self.api.get("x")

    @handler
    async def blocks(self) -> str:
        return await self.api.block("b")

    @handler
    async def gives_up_blocking(self) -> str:
        try:
            async with timeout(5):
                return await self.api.block("b")
        except TimeoutError:
            return "gave up"


def run(world, handler_name, *args, api=None, **options):
    api = api or Real()
    return world.invoke(bind(Bot, api=api, narrow=api, **options), handler_name, *args)


def test_r9_a_call_that_must_not_be_repeated_gives_unknown_outcome_after_a_crash(world, request_of):
    api = Real("pay 900")
    world.dies(bind(Bot, api=api, narrow=api), requests=[request_of(Bot, "pays")])
    api.die_at.clear()
    world.start(bind(Bot, api=api, narrow=api))
    (done,) = [one for one in world.records() if "done" in one]
    assert done["value"].startswith("unknown: Bot-1-1 (Api.pay) was cut off by a crash")
    assert api.made == ["pay 900"]


def test_r9_unknown_outcome_that_nobody_catches_fails_the_event(world, request_of):
    api = Real("pay 900")
    world.dies(bind(Bot, api=api, narrow=api), requests=[request_of(Bot, "pays_blindly")])
    world.start(bind(Bot, api=api, narrow=api))
    assert world.heard.ends == [("Bot#1", "failed", False)]
    assert api.made == ["pay 900"]


def test_r9_without_a_crash_such_a_call_is_an_ordinary_one(world):
    assert run(world, "pays").result == b'"paid"'


def test_r9_a_call_that_nobody_waits_for_is_dropped_cancelled_and_not_made_again(world, request_of):
    api = Real("kill")
    world.dies(bind(Bot, api=api, narrow=api), requests=[request_of(Bot, "races")])
    assert {"dropped": "1-1"} in world.records()
    api.die_at.clear()
    world.start(bind(Bot, api=api, narrow=api))
    assert api.made == ["never", "quick", "kill", "kill"]
    assert [one["value"] for one in world.records() if "done" in one] == ["quick"]


def test_a_call_that_takes_longer_than_its_method_allows_raises_timeout_error(world):
    assert run(world, "slow").result == b'"timeout"'


def test_uses_lets_nothing_but_the_named_methods_through_and_leaves_it_on_record(world):
    api = Real()
    ended = run(world, "forbidden", api=api)
    assert json.loads(ended.result) == "Api.pay isn't among what the agent uses"
    assert api.made == []
    assert "Bot denied: call 1-1 (Api.pay isn't among what the agent uses)" in world.audit


def test_deny_forbids_a_call_by_policy_with_its_reason(world):
    api = Real()
    deny = {"api.get": "closed for the audit"}
    ended = run(world, "forbidden_by_policy", api=api, deny=deny)
    assert (ended.status, ended.text) == ("failed", "closed for the audit")
    assert ended.type == "agentctl.errors.Denied"
    assert api.made == []


def test_a_denied_call_is_denied_again_on_replay_although_policy_changed(world, request_of):
    class Twice(Agent):
        api: Api

        @handler
        async def run(self) -> str:
            try:
                await self.api.pay(1)
            except Denied as error:
                await self.api.get("kill")
                return error.reason
            return "allowed"

    api = Real("kill")
    denying = bind(Twice, api=api, deny={"api.pay": "closed"})
    world.dies(denying, requests=[request_of(Twice, "run")])
    api.die_at.clear()
    world.start(bind(Twice, api=api))
    assert [one["value"] for one in world.records("Twice") if "done" in one] == ["closed"]
    assert api.made == ["kill", "kill"]


def test_a_blocking_method_runs_in_a_thread_and_is_awaited_like_the_rest(world):
    api = Real()
    api.thread.set()
    assert run(world, "blocks", api=api).result == b'"b"'


def test_r7_a_result_is_what_the_record_gives_back_in_the_first_run_too(world):
    class Pair(Capability):
        async def pair(self) -> tuple[int, list[int]]: ...

    shared = [1]

    class RealPair(Pair):
        async def pair(self) -> tuple[int, list[int]]:
            return (1, shared)

    class Taker(Agent):
        pairs: Pair

        @handler
        async def run(self) -> list[bool]:
            number, values = await self.pairs.pair()
            return [values is shared, values == shared, number == 1]

    ended = world.invoke(bind(Taker, pairs=RealPair()), "run")
    assert ended.result == b"[false,true,true]"


def test_r9_a_thread_s_late_result_is_dropped_with_a_warning(world, request_of, caplog):
    api = Real()

    async def life():
        async with world.program(bind(Bot, api=api, narrow=api)) as host:
            event = await host.submit(request_of(Bot, "gives_up_blocking"))
            while not api.made:
                await asyncio.sleep(0.001)
            world.clock.advance(5)
            ended = await host.ended(event)
            assert "Bot-1-2: Api.block" not in caplog.text
            api.thread.set()
            while "nobody waits" not in caplog.text:
                await asyncio.sleep(0.001)
            return ended

    assert asyncio.run(life()).result == b'"gave up"'
    assert "Bot-1-2: Api.block went on in its thread until now" in caplog.text
    assert {"dropped": "1-2"} in world.records()
    assert not any("ok" in one for one in world.records())
