"""The kit for users' own tests: a world in memory, a clock that jumps, a fixture."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from agentctl import (
    Agent,
    AgentError,
    Capability,
    Stuck,
    bind,
    handler,
    query,
    sleep,
    wait_for_input,
)
from agentctl.errors import Conflict, Locked, NotFound, UsageError
from agentctl.storage.memory import MemoryDisk
from agentctl.testing import Durable, FakeClock


class Shop(Capability):
    async def pay(self, amount: int) -> str: ...


class Real(Shop):
    def __init__(self):
        self.paid = []

    async def pay(self, amount: int) -> str:
        self.paid.append(amount)
        if amount < 0:
            raise AgentError("no")
        return f"r{amount}"


class Bot(Agent):
    shop: Shop

    @handler
    async def request(self, amount: int) -> str:
        return await self.shop.pay(amount)

    @handler
    async def later(self, amount: int) -> str:
        await sleep(timedelta(days=30))
        return await self.shop.pay(amount)

    @handler
    async def hourly(self) -> None:
        while True:
            await sleep(timedelta(hours=1))
            await self.shop.pay(1)

    @handler
    async def soon(self, wait_s: float) -> None:
        await sleep(wait_s)
        await self.shop.pay(1)

    @handler
    async def broken(self) -> None:
        raise KeyError("bug")

    @handler
    async def often_broken(self) -> None:
        await self.broken.every(timedelta(hours=1), name="bug")()


class Poller(Agent):
    name: str
    count: int = 0

    @handler
    async def poll(self) -> int:
        self.count += 1
        return self.count

    @handler
    async def start(self) -> None:
        await self.poll.every(timedelta(hours=1), name="tick")()

    @handler
    async def once_more(self) -> None:
        await sleep(timedelta(hours=3))
        self.count += 100

    @query
    async def total(self) -> int:
        return self.count


def test_the_fixture_runs_an_agent_without_a_folder(durable, fake_clock):
    shop = Real()
    assert durable.run(Bot, "request", 7, shop=shop) == "r7"
    assert shop.paid == [7]
    assert durable.clock is fake_clock


def test_what_a_handler_raises_is_raised_in_the_test(durable):
    with pytest.raises(AgentError, match="no"):
        durable.run(Bot, "request", -1, shop=Real())
    with pytest.raises(Stuck):
        durable.run(Bot, "broken", shop=Real())


def test_the_clock_jumps_over_a_month(durable, fake_clock):
    assert durable.run(Bot, "later", 7, shop=Real()) == "r7"
    assert fake_clock.now == datetime(2026, 1, 31, tzinfo=UTC)


def test_state_and_numbers_go_on_from_run_to_run(durable):
    assert [durable.run(Poller, "poll", identity=("a",)) for _ in range(3)] == [1, 2, 3]
    assert durable.run(Poller, "poll", identity=("b",)) == 1
    assert list(durable.journals) == ["Poller"]


def test_a_query_is_read_and_is_no_event(durable):
    durable.run(Poller, "poll", identity=("a",))
    before = durable.journals["Poller"].count(b'"event":')
    assert durable.run(Poller, "total", identity=("a",)) == 1
    assert durable.journals["Poller"].count(b'"event":') == before


def begin_hourly(durable, shop):
    async def program():
        async with durable.host(bind(Bot, shop=shop), jumps=False):
            task = asyncio.create_task(Bot.ref().hourly())
            while b'"timer"' not in durable.journals["Bot"]:
                await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(program())


def test_time_passes_as_far_as_it_is_told_and_what_is_due_runs_at_its_moment(durable, fake_clock):
    shop, begun = Real(), fake_clock.now
    begin_hourly(durable, shop)
    durable.pass_time(Bot, timedelta(minutes=59), shop=shop)
    assert shop.paid == []
    durable.pass_time(Bot, timedelta(minutes=1), shop=shop)
    assert shop.paid == [1]
    durable.pass_time(Bot, timedelta(hours=2, minutes=30), shop=shop)
    assert shop.paid == [1, 1, 1]
    assert fake_clock.now - begun == timedelta(hours=3, minutes=30)


def test_time_passes_also_where_nothing_is_due(durable, fake_clock):
    begun = fake_clock.now
    durable.pass_time(Bot, timedelta(days=1), shop=Real())
    assert fake_clock.now - begun == timedelta(days=1)


def test_time_passes_in_seconds_too(durable, fake_clock):
    begun = fake_clock.now
    durable.pass_time(Bot, 3600, shop=Real())
    durable.pass_time(Bot, 0.5, shop=Real())
    assert fake_clock.now - begun == timedelta(hours=1, seconds=0.5)


def test_what_gets_stuck_while_time_passes_is_raised_when_it_has_passed(durable, fake_clock):
    begun = fake_clock.now
    durable.run(Bot, "often_broken", shop=Real())
    with pytest.raises(Stuck, match="an event is stuck: Bot#2: KeyError: 'bug'") as told:
        durable.pass_time(Bot, timedelta(hours=1), shop=Real())
    assert "allow_stuck" in told.value.hint
    with pytest.raises(Stuck, match=r"2 events are stuck: Bot#2: .*; Bot#3: KeyError: 'bug'"):
        durable.pass_time(Bot, timedelta(hours=1), shop=Real())
    durable.pass_time(Bot, timedelta(hours=1), shop=Real(), allow_stuck=True)
    assert fake_clock.now - begun == timedelta(hours=3)


def test_what_is_stuck_at_a_recovery_is_raised(durable):
    with pytest.raises(Stuck):
        durable.run(Bot, "broken", shop=Real())
    with pytest.raises(Stuck, match="Bot#1: KeyError: 'bug'"):
        durable.recover(Bot, shop=Real())
    durable.recover(Bot, shop=Real(), allow_stuck=True)


def test_a_stuck_event_runs_on_with_a_mended_program(durable):
    shop = Real()
    with pytest.raises(Stuck):
        durable.run(Bot, "broken", shop=shop)

    async def mended(self) -> None:
        await self.shop.pay(1)

    mended_handler = handler(mended)
    mended_handler.name = "broken"
    newer = type("Bot", (Agent,), {"__annotations__": {"shop": Shop}, "broken": mended_handler})
    durable.recover(newer, shop=shop)
    assert shop.paid == [1]


def test_recover_ends_what_is_unfinished_and_fires_no_schedule(durable, fake_clock):
    me = {"identity": ("a",)}
    durable.run(Poller, "start", **me)

    async def program():
        async with durable.host(bind(Poller), jumps=False):
            await Poller.ref("a").once_more.trigger()()

    asyncio.run(program())
    begun = fake_clock.now
    durable.recover(Poller)
    assert fake_clock.now - begun == timedelta(hours=3)
    assert durable.run(Poller, "total", **me) == 100
    durable.pass_time(Poller, timedelta(hours=2))
    assert durable.run(Poller, "total", **me) == 103  # one for the three, and two


def test_a_wrong_handler_or_identity_or_capability_is_said(durable):
    with pytest.raises(NotFound, match="'reqest'") as unknown:
        durable.run(Bot, "reqest", 7, shop=Real())
    assert unknown.value.hint == "did you mean request?"
    with pytest.raises(UsageError):
        durable.run(Poller, "poll")
    with pytest.raises(UsageError):
        durable.run(Bot, "request", 7)


def test_two_worlds_share_nothing():
    one, other = Durable(), Durable()
    one.run(Poller, "poll", identity=("a",))
    assert other.run(Poller, "poll", identity=("a",)) == 1


def test_a_world_can_stand_on_a_disk_and_a_clock_of_one_s_own():
    disk, clock = MemoryDisk(), FakeClock(start_us=0)
    world = Durable(clock=clock, disk=disk)
    world.run(Poller, "poll", identity=("a",))
    again = Durable(clock=clock, disk=disk)
    assert again.run(Poller, "poll", identity=("a",)) == 2
    assert clock.now == datetime(1970, 1, 1, tzinfo=UTC)


def test_a_fake_clock_moves_only_as_it_is_told():
    clock = FakeClock()
    begun = clock.now
    assert not clock.jump()
    clock.advance(timedelta(hours=1))
    clock.advance(0.5)
    assert clock.now - begun == timedelta(hours=1, seconds=0.5)
    assert clock.monotonic_s() == 3600.5
    clock.set_wall(0)
    assert clock.now == datetime(1970, 1, 1, tzinfo=UTC)
    assert clock.monotonic_s() == 3600.5


def test_a_fake_clock_begins_at_a_date_that_has_its_zone():
    berlin = timezone(timedelta(hours=2))
    clock = FakeClock(datetime(2026, 3, 29, 1, 59, 59, 999_999, tzinfo=berlin))
    assert clock.now == datetime(2026, 3, 28, 23, 59, 59, 999_999, tzinfo=UTC)
    with pytest.raises(UsageError, match="2026-03-29T00:00:00 has no zone"):
        FakeClock(datetime(2026, 3, 29))


class Desk(Agent):
    shop: Shop

    @handler
    async def name(self) -> str:
        return await wait_for_input("who is it?", str)

    @handler
    async def refund(self, amount: int) -> str:
        if not await wait_for_input(f"refund {amount}?", bool, timeout=timedelta(days=3)):
            raise AgentError("denied")
        return await self.shop.pay(amount)


def test_an_event_waits_without_time_passing_until_it_is_answered(durable, fake_clock):
    shop, begun = Real(), fake_clock.now
    first, second = (durable.trigger(Desk, "refund", 7, shop=shop) for _ in range(2))
    assert (first, second, shop.paid) == ("Desk#1", "Desk#2", [])
    durable.resume(Desk, "Desk-1-1", True, by="ana", shop=shop)
    durable.resume(Desk, second, False, shop=shop)
    assert (fake_clock.now, shop.paid) == (begun, [7])
    assert b'"by":"ana"' in durable.journals["Desk"]
    with pytest.raises(Conflict, match="already decided: by ana"):
        durable.resume(Desk, first, True, shop=shop)


def test_an_answer_of_the_wrong_type_is_refused_as_in_the_shell(durable):
    event = durable.trigger(Desk, "refund", 7, shop=Real())
    with pytest.raises(UsageError, match="answer: expected bool"):
        durable.resume(Desk, event, "yes", shop=Real())


def test_an_event_that_would_wait_for_ever_is_said_to_instead_of_hanging(durable):
    with pytest.raises(UsageError, match=r"it waits for ever: Desk#1 asks: who is it\?"):
        durable.run(Desk, "name", shop=Real())
    with pytest.raises(TimeoutError):
        durable.run(Desk, "refund", 7, shop=Real())


def test_small_steps_of_a_fake_clock_add_up_exactly(durable, fake_clock):
    begun = fake_clock.now
    for step in range(1, 1001):
        fake_clock.advance(0.01)
        assert fake_clock.monotonic_s() == step / 100
    assert fake_clock.now - begun == timedelta(seconds=10)


@pytest.mark.parametrize("wait_s", [0.1, 0.3, 0.7, 1e-7])
def test_a_wait_ends_with_the_step_that_reaches_its_end(durable, fake_clock, wait_s):
    shop = Real()

    async def program():
        async with durable.host(bind(Bot, shop=shop), jumps=False) as host:
            await Bot.ref().soon.trigger()(wait_s)
            for _ in range(round(wait_s * 100)):
                await rest(host)
                assert shop.paid == []
                fake_clock.advance(0.01)
            await rest(host)
            assert shop.paid == [1]

    fake_clock.advance(0.1)
    asyncio.run(program())


async def rest(host):
    for _ in range(10):
        await asyncio.sleep(0)
        while not host.engine.quiet:
            await asyncio.sleep(0)


def test_the_uptime_of_a_fake_clock_outlives_programs_but_no_reboot():
    clock = FakeClock()
    before = str(clock.uptime())
    clock.advance(10)
    clock.set_wall(0)
    assert clock.uptime().since(before) == 10_000_000
    clock.reboot()
    assert clock.uptime().since(before) is None


def test_the_clock_of_a_world_may_move_while_no_program_runs(durable, fake_clock):
    durable.run(Bot, "request", 7, shop=Real())
    fake_clock.advance(timedelta(days=1))
    assert durable.run(Bot, "request", 8, shop=Real()) == "r8"


def test_a_host_of_the_kit_runs_several_agents(durable):
    async def life():
        async with durable.host(bind(Bot, shop=Real()), bind(Poller)) as host:
            return [await host.reference(Bot).request(7), await Poller.ref("a").poll()]

    assert asyncio.run(life()) == ["r7", 1]


def test_k7_a_second_program_on_the_same_world_is_refused_at_once(durable):
    async def life():
        async with durable.host(bind(Poller)):
            with pytest.raises(Locked, match="Poller already runs in another program"):
                await durable.host(bind(Poller)).__aenter__()
            return await Poller.ref("a").poll()

    assert asyncio.run(life()) == 1
