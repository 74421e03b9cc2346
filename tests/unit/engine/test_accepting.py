"""R1, R4: numbers that are never used again, random parts, and keys that every run repeats."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from agentctl import (
    Agent,
    AgentSettings,
    Capability,
    bind,
    call_key,
    handler,
    random,
    service_key,
    uuid4,
)
from agentctl.errors import BadArguments, NotFound


class Api(Capability):
    async def get(self, what: str) -> str: ...


class Keys(Api):
    """Answers with the key of each call, and keeps them all."""

    def __init__(self, die_at=None, die=None):
        self.seen = []
        self.services = []
        self.die_at, self.die = die_at, die

    async def get(self, what: str) -> str:
        key = call_key()
        self.seen.append((what, key))
        self.services.append(service_key())
        if what == self.die_at:
            self.die()
        return key


class Bot(Agent):
    api: Api

    @handler
    async def one(self, what: str = "x") -> str:
        return await self.api.get(what)

    @handler
    async def branches(self) -> list[str]:
        first = self.api.get("first")  # its place is taken here, not where it is awaited

        async def branch() -> list[str]:
            return [await self.api.get("a"), await self.api.get("b"), await self.api.get("c")]

        task = asyncio.create_task(branch())
        last = await self.api.get("last")
        return [await first, *await task, last]

    @handler
    async def nested(self) -> list[str]:
        async def inner() -> str:
            return await self.api.get("inner")

        async def outer() -> list[str]:
            mine = await self.api.get("outer")
            return [mine, *await asyncio.gather(inner(), inner())]

        return await asyncio.create_task(outer())

    @handler
    async def dice(self) -> list[str]:
        async def branch() -> str:
            return f"{random()} {uuid4()}"

        mine = [str(random()), str(uuid4()), str(random())]
        mine += await asyncio.gather(branch(), branch())
        await self.api.get("dice")
        return mine


class Poller(Agent):
    name: str
    api: Api

    @handler
    async def poll(self) -> str:
        return await self.api.get("poll")


def test_r1_numbers_start_at_1_rise_by_one_and_are_never_used_again(world):
    binding = bind(Bot, api=Keys())
    for number in range(1, 4):
        assert world.invoke(binding, "one").event.event == number
    assert world.records()[0]["next"] == 3  # the last start wrote it so
    world.start(binding)
    assert world.invoke(binding, "one").event.event == 4


def test_r1_a_number_that_was_cut_off_before_it_was_acknowledged_may_come_again_a_told_one_never(
    world, request_of
):
    async def life():
        async with world.program(bind(Bot, api=Keys())) as host:
            told = await host.submit(request_of(Bot, "one"))
            return told.event, [world.after_power_cut(seed) for seed in range(20)]

    told, twins = asyncio.run(life())
    for twin in twins:
        twin.start(bind(Bot, api=Keys()))
        assert twin.invoke(bind(Bot, api=Keys()), "one").event.event == told + 1


def test_r1_each_event_gets_a_random_part_of_its_own(world):
    for _ in range(3):
        world.invoke(bind(Bot, api=Keys()), "one")
    twin = world
    nonces = {one["nonce"] for one in twin.records() if "event" in one}
    assert len(nonces) == 3
    for nonce in nonces:
        assert len(nonce) == 16
        int(nonce, 16)


def test_r4_a_call_has_the_key_agent_event_place(world):
    keys = Keys()
    world.invoke(bind(Bot, api=keys), "one")
    world.invoke(bind(Bot, api=keys), "one")
    assert keys.seen == [("x", "Bot-1-1"), ("x", "Bot-2-1")]


def test_r4_with_identity_the_instance_stands_in_the_key(world):
    keys = Keys()
    world.invoke(bind(Poller, api=keys), "poll", identity=("my-poller",))
    world.invoke(bind(Poller, api=keys), "poll", identity=("eu/7",))
    assert [key for _, key in keys.seen] == ["Poller/my-poller-1-1", "Poller/eu%2F7-2-1"]


def test_r4_calls_and_branches_share_a_counter_and_places_are_fixed_when_a_stub_is_called(world):
    keys = Keys()
    world.invoke(bind(Bot, api=keys), "branches")
    assert dict(keys.seen) == {
        "first": "Bot-1-1",
        "a": "Bot-1-2.1",
        "b": "Bot-1-2.2",
        "c": "Bot-1-2.3",
        "last": "Bot-1-3",
    }


def test_r4_a_branch_of_a_branch_counts_below_it(world):
    keys = Keys()
    world.invoke(bind(Bot, api=keys), "nested")
    assert [key for _, key in keys.seen] == ["Bot-1-1.1", "Bot-1-1.2.1", "Bot-1-1.3.1"]


@pytest.mark.parametrize("die_at", ["first", "a", "b", "c", "last"])
def test_k2_the_keys_are_the_same_in_every_run_of_the_event(world, request_of, die, die_at):
    keys = Keys(die_at, die)
    world.dies(bind(Bot, api=keys), requests=[request_of(Bot, "branches")])
    keys.die_at = None
    world.start(bind(Bot, api=keys))
    by_name = {}
    for what, key in keys.seen:
        by_name.setdefault(what, set()).add(key)
    assert by_name == {
        "first": {"Bot-1-1"},
        "a": {"Bot-1-2.1"},
        "b": {"Bot-1-2.2"},
        "c": {"Bot-1-2.3"},
        "last": {"Bot-1-3"},
    }


def test_k2_outside_a_call_there_is_no_key():
    assert call_key() is None
    assert service_key() is None


def test_k2_in_the_handler_s_own_code_there_is_no_key(world):
    class Plain(Agent):
        @handler
        async def ask(self) -> list[str | None]:
            return [call_key(), service_key()]

    assert world.invoke(bind(Plain), "ask").result == b"[null,null]"


def test_k15_the_same_number_in_two_journals_has_the_same_call_key_and_another_service_key(
    world, tmp_path
):
    keys = Keys()
    world.invoke(bind(Bot, api=keys), "one")
    other = type(world)()
    other.invoke(bind(Bot, api=keys), "one")
    assert [key for _, key in keys.seen] == ["Bot-1-1", "Bot-1-1"]
    assert keys.services[0] != keys.services[1]
    assert all(one.startswith("Bot-1-1-") for one in keys.services)


def test_k15_a_restored_backup_that_goes_on_never_repeats_a_service_key(world):
    keys = Keys()
    world.invoke(bind(Bot, api=keys), "one")
    backup = world.after_kill()
    world.invoke(bind(Bot, api=keys), "one")
    backup.invoke(bind(Bot, api=keys), "one")
    assert [key for _, key in keys.seen] == ["Bot-1-1", "Bot-2-1", "Bot-2-1"]
    assert len(set(keys.services)) == 3


def test_k15_a_recovered_event_keeps_its_own_service_key(world, request_of, die):
    keys = Keys("x", die)
    world.dies(bind(Bot, api=keys), requests=[request_of(Bot, "one")])
    keys.die_at = None
    world.start(bind(Bot, api=keys))
    assert len(keys.services) == 2
    assert len(set(keys.services)) == 1


def test_random_and_uuid4_are_the_same_on_replay_and_differ_by_branch_and_event(
    world, request_of, die
):
    first = Keys("dice", die)
    world.dies(bind(Bot, api=first), requests=[request_of(Bot, "dice")])
    twin = world.after_kill()
    results = []
    for one in (world, twin):
        one.start(bind(Bot, api=Keys()))
        (done,) = [record for record in one.records() if "done" in record]
        results.append(done["value"])
    assert results[0] == results[1]
    assert len(set(results[0])) == 5
    another = world.invoke(bind(Bot, api=Keys()), "dice")
    assert another.result is not None
    assert not set(results[0]) & set(another.result.decode().strip('[]"').split('","'))


def test_p16_arguments_that_do_not_fit_are_refused_and_nothing_is_accepted(world):
    binding = bind(Bot, api=Keys())
    for args in (("a", "b"), (7,)):
        with pytest.raises(BadArguments, match=r"Bot\.one") as refused:
            world.invoke(binding, "one", *args)
        assert "call it as Bot.one(what: str" in str(refused.value.hint)
    with pytest.raises(BadArguments):
        world.invoke(binding, "one", whom="x")
    with pytest.raises(NotFound, match="'onee'") as unknown:
        world.invoke(binding, "onee")
    assert unknown.value.hint == "did you mean one?"
    assert "event" not in world.kinds()
    assert world.invoke(binding, "one").event.event == 1


VOLATILE = AgentSettings(journal=False, audit=False)


def test_k12_without_a_journal_nothing_is_written_nothing_replays_and_keys_never_repeat(
    world, request_of, die
):
    keys = Keys("x", die)
    world.entropy = map("{:016x}".format, count(0xABC)).__next__
    world.dies(bind(Bot, api=keys, settings=VOLATILE), requests=[request_of(Bot, "one")])
    keys.die_at = None
    world.start(bind(Bot, api=keys, settings=VOLATILE))
    world.invoke(bind(Bot, api=keys, settings=VOLATILE), "one")
    assert [key for _, key in keys.seen] == [
        "Bot-0000000000000abc-1",
        "Bot-0000000000000abd-1",
    ]
    assert world.journals == {}


def test_k12_an_agent_without_a_journal_keeps_an_audit_log_and_the_lock_if_asked_to(world):
    audited = AgentSettings(journal=False, audit=True)
    world.invoke(bind(Bot, api=Keys(), settings=audited), "one")
    assert [line.split(":")[0] for line in world.audit] == [
        "Bot started",
        "Bot accepted",
        "Bot completed",
        "Bot stopped",
    ]
    assert world.folder_file("journal") == ""
