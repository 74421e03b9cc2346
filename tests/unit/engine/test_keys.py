"""R17, R22: a key stands for one event; a full lane refuses or waits; nothing accepted is lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from agentctl import Agent, AgentSettings, Capability, bind, handler
from agentctl.engines.changes import CancelRequest
from agentctl.errors import AgentError, KeyReused, LaneFull, SetAside, Stuck, UsageError

DAY_S = 86_400


class Till(Capability):
    async def pay(self, order: int) -> str: ...


class Declined(AgentError):
    pass


class Real(Till):
    def __init__(self, *, held=False, die=None):
        self.paid = []
        self.gate = asyncio.Event()
        self.held, self.die = held, die

    async def pay(self, order: int) -> str:
        self.paid.append(order)
        if self.held:
            await self.gate.wait()
        if self.die is not None:
            self.die()
        if order == 0:
            raise Declined("no order 0")
        return f"r{order}"


BUGS = set()


class Bot(Agent):
    till: Till

    @handler
    async def refund(self, order: int = 7) -> str:
        receipt = await self.till.pay(order)
        if order in BUGS:
            raise KeyError("a bug")
        return receipt

    @handler
    async def other(self, order: int) -> str:
        return "other"


class Poller(Agent):
    name: str
    till: Till

    @handler
    async def refund(self, order: int) -> str:
        return await self.till.pay(order)


@pytest.fixture
def keyed(request_of):
    def make(*args, handler="refund", key="k", cls=Bot, identity=(), request="", **kwargs):
        asked = request_of(cls, handler, *args, identity=identity, **kwargs)
        return replace(asked, key=key, id=request)

    return make


def live(world, binding, do, **how):
    async def life():
        async with world.program(binding, **how) as host:
            return await do(host)

    return asyncio.run(life())


def to_end(world, binding, *requests):
    async def do(host):
        events = [await host.submit(request) for request in requests]
        return [await host.ended(event) for event in events]

    return live(world, binding, do)


def accepted(world, agent="Bot"):
    return [one["event"] for one in world.records(agent) if "event" in one]


def test_two_at_the_same_moment_are_one_event(world, keyed):
    till = Real()

    async def do(host):
        events = await asyncio.gather(*(host.submit(keyed(7)) for _ in range(5)))
        return {str(event) for event in events}, [await host.ended(event) for event in events[:1]]

    events, (end,) = live(world, bind(Bot, till=till), do)
    assert (events, end.result, till.paid) == ({"Bot#1"}, b'"r7"', [7])
    assert accepted(world) == [1]


def test_with_the_same_arguments_however_written_it_joins_the_open_event(world, keyed):
    till = Real(held=True)

    async def do(host):
        first = await host.engine.answering.accept(keyed(7), watch=True)
        second = await host.engine.answering.accept(keyed(order=7), watch=True)
        third = await host.engine.answering.accept(keyed(), watch=False)
        till.gate.set()
        ends = [await first.end, await second.end]
        return [first.joined, second.joined, third.joined], [one.ended.result for one in ends]

    joined, results = live(world, bind(Bot, till=till), do)
    assert (joined, results, till.paid) == ([False, True, True], [b'"r7"', b'"r7"'], [7])


@pytest.mark.parametrize("keep", [100, 0], ids=["kept", "outcome-only"])
@pytest.mark.parametrize("order", [7, 0], ids=["completed", "failed"])
def test_once_it_is_over_its_outcome_comes_again_and_nothing_runs(world, keyed, order, keep):
    till = Real()
    settings = AgentSettings(keep=keep, keep_failed=timedelta(0))
    binding = bind(Bot, till=till, settings=settings)
    first, again = to_end(world, binding, keyed(order), keyed(order))
    (restarted,) = to_end(world, binding, keyed(order))
    assert till.paid == [order]
    for end in (again, restarted):
        assert (end.event, end.status, end.result, end.type, end.text) == (
            first.event, first.status, first.result, first.type, first.text
        )  # fmt: skip


def test_an_outcome_is_forgotten_after_its_retention_and_the_key_is_free(world, keyed):
    till = Real()
    binding = bind(Bot, till=till, settings=AgentSettings(retention=timedelta(days=7)))
    to_end(world, binding, keyed(7))
    world.clock.advance(6 * DAY_S)
    assert str(to_end(world, binding, keyed(7))[0].event) == "Bot#1"
    world.clock.advance(2 * DAY_S)
    world.start(binding)
    assert str(to_end(world, binding, keyed(7))[0].event) == "Bot#2"
    assert till.paid == [7, 7]


def test_a_stuck_event_gives_its_error(world, keyed):
    BUGS.add(7)
    try:
        ends = to_end(world, bind(Bot, till=Real()), keyed(7), keyed(7))
    finally:
        BUGS.clear()
    assert [(end.status, end.text) for end in ends] == [("stuck", "KeyError: 'a bug'")] * 2
    assert accepted(world) == [1]
    assert issubclass(Stuck, Exception)


@pytest.mark.parametrize(
    "wrong", [{"args": (8,)}, {"args": (7,), "handler": "other"}], ids=["arguments", "handler"]
)
@pytest.mark.parametrize("state", ["open", "ended", "restarted", "aside", "cold"])
def test_with_other_arguments_or_another_handler_it_is_refused_whatever_became_of_it(
    world, keyed, die, wrong, state
):
    args, how = wrong["args"], {k: v for k, v in wrong.items() if k != "args"}
    till = Real(held=state == "open")
    binding = bind(Bot, till=till)

    async def twice(host):
        if state != "restarted":
            await host.submit(keyed(7))
            if state == "ended":
                await host.idle()
        try:
            await host.submit(keyed(*args, **how))
        finally:
            till.gate.set()

    if state in ("restarted", "cold"):
        to_end(world, binding, keyed(7))
    if state == "aside":
        set_aside(world, keyed, die)

    async def once(host):
        await host.submit(keyed(*args, **how))

    with pytest.raises(KeyReused) as refused:
        if state == "cold":
            world.desk.leave(Bot, keyed(*args, **how))
        else:
            live(world, binding, once if state == "aside" else twice)
    assert refused.value.exit_code == 4
    assert "Bot#1" in refused.value.message
    assert ("other arguments" if args == (8,) else "the handler other") in refused.value.message
    assert "invocation show Bot#1" in (refused.value.hint or "")


def set_aside(world, keyed, die):
    deadly = bind(Bot, till=Real(die=die))
    world.dies(deadly, requests=[keyed(7)])
    for _ in range(2):
        world.dies(deadly)
    world.start(deadly)
    assert "aside" in world.kinds()


def test_what_is_set_aside_is_said_so_and_nothing_runs(world, keyed, die):
    set_aside(world, keyed, die)
    till = Real()

    async def do(host):
        await host.submit(keyed(7))

    for ask in (
        lambda: live(world, bind(Bot, till=till), do),
        lambda: world.desk.leave(Bot, keyed(7)),
    ):
        with pytest.raises(SetAside, match="Bot#1, which is set aside") as refused:
            ask()
        assert refused.value.exit_code == 4
        assert "requeue set-aside Bot 1" in (refused.value.hint or "")
    assert till.paid == []


def test_a_cancelled_key_is_remembered_and_may_be_used_anew(world, keyed):
    world.start(bind(Bot, till=Real()))
    world.desk.leave(Bot, keyed(7))
    assert world.desk.carry_out(CancelRequest("Bot", "a", key="k")).answer == "cancelled"
    assert world.desk.carry_out(CancelRequest("Bot", "b", key="k")).answer == "already_cancelled"
    (end,) = to_end(world, bind(Bot, till=Real()), keyed(8))
    assert (str(end.event), end.result) == ("Bot#2", b'"r8"')


def test_each_instance_has_keys_of_its_own(world, keyed):
    till = Real()
    asks = [keyed(order, cls=Poller, identity=(name,)) for order, name in ((1, "a"), (2, "b"))]
    ends = to_end(world, bind(Poller, till=till), *asks)
    assert [str(end.event) for end in ends] == ["Poller/a#1", "Poller/b#2"]
    assert till.paid == [1, 2]


@pytest.mark.parametrize("key", ["", "x" * 257])
def test_a_key_that_can_be_none_is_refused(world, keyed, key):
    with pytest.raises(UsageError, match="1 to 256 characters"):
        to_end(world, bind(Bot, till=Real()), keyed(7, key=key))
    assert accepted(world) == []
    assert to_end(world, bind(Bot, till=Real()), keyed(7, key="x" * 256))[0].status == "completed"


def test_without_a_key_each_invocation_is_an_event(world, keyed):
    ends = to_end(world, bind(Bot, till=Real()), keyed(7, key=None), keyed(7, key=None))
    assert [str(end.event) for end in ends] == ["Bot#1", "Bot#2"]


# -- without a program


def test_an_event_that_is_left_runs_with_the_next_start_and_is_joined_until_then(world, keyed):
    till = Real()
    world.start(bind(Bot, till=till))
    told = [world.desk.leave(Bot, keyed(7)) for _ in range(2)]
    assert [(one.event, one.joined) for one in told] == [("Bot#1", False), ("Bot#1", True)]
    assert till.paid == []
    world.start(bind(Bot, till=till))
    assert till.paid == [7]
    again = world.desk.leave(Bot, keyed(7))
    assert (again.event, again.joined) == ("Bot#1", True)
    assert accepted(world) == [1]


# -- who asks twice under one id


def test_who_asks_again_under_the_same_id_is_told_the_same_also_after_a_restart(world, keyed):
    till = Real()
    binding = bind(Bot, till=till)
    asked = keyed(7, key=None, request="id-1")
    ends = to_end(world, binding, asked, asked)
    (restarted,) = to_end(world, binding, asked)
    cold = world.desk.leave(Bot, asked)
    assert {str(end.event) for end in (*ends, restarted)} == {"Bot#1"}
    assert (cold.event, cold.joined) == ("Bot#1", False)
    assert (till.paid, accepted(world)) == ([7], [1])


def test_what_was_left_under_an_id_is_told_again_by_a_program(world, keyed):
    world.start(bind(Bot, till=Real()))
    asked = keyed(7, key=None, request="id-1")
    assert world.desk.leave(Bot, asked).event == "Bot#1"
    (end,) = to_end(world, bind(Bot, till=Real()), asked)
    assert (str(end.event), end.result) == ("Bot#1", b'"r7"')
    assert accepted(world) == [1]


# -- R22: when too many wait


FULL = AgentSettings(concurrency=1, capacity=2)


def test_a_full_lane_refuses_who_asks_for_that(world, keyed):
    till = Real(held=True)

    async def do(host):
        for order in (1, 2, 3):  # one runs, two wait
            await host.submit(keyed(order, key=None))
            await asyncio.sleep(0)
        refusing = replace(keyed(4, key=None), if_full="refuse")
        with pytest.raises(LaneFull, match="2 events of Bot wait to begin") as refused:
            await host.submit(refusing)
        till.gate.set()
        await host.idle()
        await host.submit(refusing)
        await host.idle()
        return refused.value

    error = live(world, bind(Bot, till=till, settings=FULL), do)
    assert error.exit_code == 4
    assert till.paid == [1, 2, 3, 4]


def test_a_full_lane_lets_others_wait_for_room_and_loses_nobody(world, keyed):
    till = Real(held=True)

    async def do(host):
        waiting = [
            asyncio.create_task(host.submit(keyed(order, key=None))) for order in range(1, 21)
        ]
        for _ in range(50):
            await asyncio.sleep(0)
        before = sum(one.done() for one in waiting)
        till.gate.set()
        events = await asyncio.gather(*waiting)
        await host.idle()
        return before, len({event.event for event in events})

    before, events = live(world, bind(Bot, till=till, settings=FULL), do)
    assert (before, events) == (3, 20)
    assert sorted(till.paid) == list(range(1, 21))


def test_who_joins_needs_no_room(world, keyed):
    till = Real(held=True)

    async def do(host):
        for order in (1, 2, 3):
            await host.submit(keyed(order, key=f"k{order}"))
            await asyncio.sleep(0)
        joined = await host.submit(replace(keyed(3, key="k3"), if_full="refuse"))
        till.gate.set()
        return str(joined)

    assert live(world, bind(Bot, till=till, settings=FULL), do) == "Bot#3"


def test_who_gives_up_waiting_for_room_has_had_nothing_accepted(world, keyed):
    till = Real(held=True)

    async def do(host):
        for order in (1, 2, 3):
            await host.submit(keyed(order, key=None))
            await asyncio.sleep(0)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(host.submit(keyed(4, key=None)), 0.01)
        till.gate.set()
        await host.idle()

    live(world, bind(Bot, till=till, settings=FULL), do)
    assert till.paid == [1, 2, 3]
