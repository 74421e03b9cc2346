"""R21: what is asked is told and audited once; an answer is given once, whoever asks where."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count

import pytest
from msgspec import Raw

from agentctl import Agent, Secret, WaitForInput, bind, handler, question, resume_input, step
from agentctl.engines.changes import CancelRequest, Resumed, ResumeRequest
from agentctl.errors import Conflict, NotFound, UsageError
from agentctl.storage.faulty import SimulatedDeath

IDS = map("id-{}".format, count())


@dataclass
class Terms:
    amount: int
    token: Secret[str] | None = None

    def __post_init__(self) -> None:
        if self.amount < 0:
            raise ValueError(self.amount)


class Bot(Agent):
    @handler
    async def decide(self) -> str:
        ask = await question("refund 900?", bool, timeout=60)
        try:
            return str(await ask)
        except TimeoutError:
            return "nobody"

    @handler
    async def terms(self) -> int:
        return (await (await question("on which terms?", Terms))).amount

    @handler
    async def never_awaited(self) -> str:
        return (await question("hm?", str)).key

    @handler
    async def cleans_up(self) -> None:
        try:
            await (await question("go on?", bool))
        finally:
            await (await question("undo?", bool))

    @handler
    async def signs(self) -> str:
        return await step("sign", self.signed)

    async def signed(self) -> str:
        if (by := resume_input(str)) is None:
            raise WaitForInput("who signs?", str)
        return by


BOT = bind(Bot)


def answer(value=b"true", request=None, **which):
    which = which or {"event": 1}
    return ResumeRequest("Bot", request or next(IDS), **which, value=Raw(value), by="ana")


def live(world, request, do, jumps=False):
    """What `do` gives while the event of a request waits in a running program, and its end."""

    async def life():
        async with world.program(BOT, jumps=jumps) as host:
            event = await host.submit(request)
            await host.idle()
            done = await do(host)
            return done, await host.ended(event)

    return asyncio.run(life())


def waits(world, request):
    """Let the event of a request wait on record, and no program run."""

    async def life():
        async with world.program(BOT) as host:
            await host.submit(request)
            await host.idle()

    asyncio.run(life())


def of_inputs(world):
    return [line for line in world.audit if " asked: " in line or " answered: " in line]


def test_a_question_is_told_and_audited_when_it_is_put(world, request_of):
    async def do(host):
        return list(world.heard.asks), of_inputs(world), await host.carry_out(answer())

    (asks, before, done), ended = live(world, request_of(Bot, "decide"), do)
    assert asks == [("Bot-1-1", "refund 900?", "bool")]
    assert [line.partition(", until")[0] for line in before] == [
        "Bot asked: Bot-1-1: refund 900? (bool"
    ]
    assert done == Resumed("Bot-1-1", "Bot#1")
    assert ended.result == b'"True"'
    assert of_inputs(world) == [*before, "Bot answered: Bot-1-1 by ana: true"]


def test_a_step_that_waits_is_told_and_audited(world, request_of):
    async def do(host):
        return await host.carry_out(answer(b'"ana"', call="1", event=1))

    _, ended = live(world, request_of(Bot, "signs"), do)
    assert world.heard.asks == [("Bot-1-1", "who signs?", "str")]
    assert ended.result == b'"ana"'
    assert of_inputs(world) == [
        "Bot asked: Bot-1-1: who signs? (str)",
        'Bot answered: Bot-1-1 by ana: "ana"',
    ]


def test_after_a_kill_nothing_is_told_or_audited_twice(world, request_of):
    waits(world, request_of(Bot, "decide"))
    twin = world.after_kill()
    twin.start(BOT, jumps=False)
    assert twin.heard.asks == []
    assert len(of_inputs(twin)) == 1
    twin.desk.carry_out(answer())
    twin = twin.after_kill()
    twin.start(BOT, jumps=False)
    assert [line.partition(":")[0] for line in of_inputs(twin)] == ["Bot asked", "Bot answered"]
    assert twin.audit.count('Bot completed: event #1 of decide, nobody waited for "True"') == 1


def test_a_question_that_nobody_awaits_is_audited_before_the_end(world, request_of):
    async def do(host):
        return None

    _, ended = live(world, request_of(Bot, "never_awaited"), do)
    assert ended.result == b'"Bot-1-1"'
    verbs = [line.split(":")[0] for line in world.audit]
    assert verbs.index("Bot asked") < verbs.index("Bot completed")


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_q15_the_same_request_is_answered_again_and_another_is_told_who_decided(
    world, request_of, beside
):
    first = answer(b"false")

    def check(error):
        assert "Bot-1-1 is already decided: by ana" in error.value.message

    if not beside:
        waits(world, request_of(Bot, "decide"))
        assert world.desk.carry_out(first) == world.desk.carry_out(first)
        with pytest.raises(Conflict) as caught:
            world.desk.carry_out(answer())
        check(caught)
        world.start(BOT, jumps=False)
    else:

        async def do(host):
            assert await host.carry_out(first) == await host.carry_out(first)
            with pytest.raises(Conflict) as caught:
                await host.carry_out(answer())
            check(caught)
            await host.idle()
            with pytest.raises(Conflict) as caught:
                await host.carry_out(answer(call="1", event=1))
            check(caught)

        live(world, request_of(Bot, "decide"), do)
    assert [one["value"] for one in world.records() if "answer" in one] == [False]
    assert [one["value"] for one in world.records() if "done" in one] == ["False"]


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"7", "answer: expected Terms, got something else"),
        (b'{"amount":"7"}', "answer.amount: expected int, got something else"),
        (b"{", "no JSON"),
    ],
)
def test_q15_an_answer_of_another_type_is_refused_and_the_question_stays_open(
    world, request_of, value, said, beside
):
    if not beside:
        waits(world, request_of(Bot, "terms"))
        with pytest.raises(UsageError) as caught:
            world.desk.carry_out(answer(value))
        world.desk.carry_out(answer(b'{"amount":7}'))
        world.start(BOT, jumps=False)
    else:

        async def do(host):
            with pytest.raises(UsageError) as caught:
                await host.carry_out(answer(value))
            await host.carry_out(answer(b'{"amount":7,"token":"hunter2"}'))
            return caught

        caught, _ = live(world, request_of(Bot, "terms"), do)
    assert "Bot-1-1 waits for Terms, for 'on which terms?'" in caught.value.message
    assert said in caught.value.message
    assert [one["value"] for one in world.records() if "done" in one] == [7]


def test_q15_a_running_program_checks_by_the_type_itself(world, request_of):
    async def do(host):
        with pytest.raises(UsageError, match="Bot-1-1 waits for Terms"):
            await host.carry_out(answer(b'{"amount":-7}'))
        await host.carry_out(answer(b'{"amount":7}'))

    live(world, request_of(Bot, "terms"), do)


def test_an_answer_behind_the_end_of_the_wait_is_refused(world, request_of):
    async def do(host):
        await host.idle(float("inf"))
        with pytest.raises(Conflict, match="its time was over"):
            await host.carry_out(answer())

    _, ended = live(world, request_of(Bot, "decide"), do, jumps=True)
    assert ended.result == b'"nobody"'


def test_what_is_cancelled_takes_no_answer(world, request_of):
    waits(world, request_of(Bot, "terms"))
    world.desk.carry_out(CancelRequest("Bot", next(IDS), event=1))
    (view,) = world.desk.look("Bot").events
    assert not view.inputs
    assert (str(view.state), view.waits_for, view.cancelling) == ("waiting", None, True)
    for _ in range(2):
        with pytest.raises(Conflict, match="cancelled"):
            world.desk.carry_out(answer(b'{"amount":7}'))
        world.start(BOT, jumps=False)
    with pytest.raises(NotFound):
        world.desk.carry_out(answer(event=9))


def test_what_is_asked_to_clean_up_takes_its_answer(world, request_of):
    async def do(host):
        world.clock.advance(1)
        await host.carry_out(CancelRequest("Bot", next(IDS), event=1))
        await host.idle()
        with pytest.raises(UsageError, match="Bot-1-1"):
            await host.carry_out(answer())
        with pytest.raises(Conflict, match="cancelled"):
            await host.carry_out(answer(call="1", event=1))
        return await host.carry_out(answer(call="2", event=1))

    done, ended = live(world, request_of(Bot, "cleans_up"), do)
    assert (done.call, ended.status) == ("Bot-1-2", "cancelled")


def test_a_death_between_the_answer_and_the_rest_loses_neither(world, request_of):
    async def life():
        async with world.program(BOT) as host:
            await host.submit(request_of(Bot, "decide"))
            await host.idle()
            await host.carry_out(answer())
            raise SimulatedDeath

    with pytest.raises(SimulatedDeath):
        asyncio.run(life())
    twin = world.after_power_cut(seed=1)
    twin.start(BOT, jumps=False)
    assert [one["value"] for one in twin.records() if "done" in one] == ["True"]
