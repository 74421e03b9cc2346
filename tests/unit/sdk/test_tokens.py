"""Tokens and handles: kept in state and arguments, checked, cancelled and waited for."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from agentctl import Agent, Cancellation, ScheduleHandle, Token, handler, query
from agentctl.core.timing import Sent
from agentctl.errors import AgentctlError, NotRecordable, UsageError
from agentctl.sdk.agent import build, spec_of
from agentctl.sdk.handlers import run_query
from agentctl.sdk.ops import CancelOp, ResultOp
from agentctl.sdk.registry import class_named, serve, unserve
from agentctl.sdk.tokens import made_of
from agentctl.values import codec

from .fakes import START_US, FakeInvoker, in_handler

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR_US = 3_600_000_000


class Holding(Agent):
    name: str
    pending: Token[None] | None = None
    many: list[Token[int]] = []
    nightly: ScheduleHandle | None = None

    @handler
    async def act(self) -> object:
        return await self.acts(self)  # type: ignore[attr-defined]

    @handler
    async def take(self, token: Token[int], handle: ScheduleHandle | None = None) -> None: ...

    @query
    async def names(self) -> list[str]:
        return list(self.schedules)


EVENT = Token[None]("Holding/ada", "act", event=7, key="k")
NAMED = Token[None]("Holding/ada", "act", schedule="tick", due_us=START_US)
HANDLE = ScheduleHandle("Holding/ada", "act", schedule="n", due_us=START_US, period_us=HOUR_US)
CRON = ScheduleHandle("Holding/ada", "act", schedule="daily", due_us=START_US)
PLAIN = Sent("Holding/ada", "act", schedule="n", due_us=START_US, period_us=HOUR_US)


def test_a_token_names_its_event_or_the_instance_that_will_number_it():
    assert (EVENT.address, EVENT.name, EVENT.due) == ("Holding/ada#7", None, None)
    assert (NAMED.address, NAMED.name, NAMED.due) == ("Holding/ada", "tick", START)
    assert EVENT.handler == "act"


def test_a_handle_tells_when_it_fires_next():
    assert HANDLE.name == "n"
    assert (HANDLE.due, HANDLE.period, HANDLE.handler) == (START, timedelta(hours=1), "act")
    assert HANDLE.due.tzinfo is UTC
    assert CRON.period is None


@pytest.mark.parametrize("made", [EVENT, NAMED, HANDLE, CRON])
def test_their_json_is_the_record_s_and_comes_back_equal(made):
    raw = msgspec.json.encode(made)
    assert raw == msgspec.json.encode(made.sent)
    assert msgspec.json.decode(raw, type=type(made)) == made
    for annotation in (type(made), type(made) | None, list[type(made)]):
        kept = [made] if annotation not in (type(made), type(made) | None) else made
        again = codec(annotation).decode(codec(annotation).encode(kept))
        assert again == kept
        assert codec(type(made)).decode(raw) == made
    assert hash(made) == hash(made_of(type(made), made.sent))


def test_a_token_of_any_result_is_the_same_on_record():
    for annotation in (Token[None], Token[int] | None, Token[list[str]], Token):
        again = codec(annotation).decode(codec(annotation).encode(EVENT))
        assert again == EVENT
        assert type(again) is Token
    assert codec(Token[int] | None).decode(b"null") is None


def test_tokens_are_state_and_arguments():
    spec = spec_of(Holding)
    for name, value in (("pending", EVENT), ("many", [NAMED, EVENT]), ("nightly", HANDLE)):
        field = spec.state[name].codec
        assert field.decode(field.encode(value)) == value
    signature = spec.handlers["take"].signature
    args, kwargs = signature.encode((EVENT,), {"handle": HANDLE})
    assert signature.decode(args, kwargs) == ([EVENT], {"handle": HANDLE})
    with pytest.raises(NotRecordable):
        signature.encode((HANDLE,), {})


WRONG = [
    ({"instance": "Kee per"}, "can't be an agent's name"),
    ({"instance": "Holding#7"}, "is no instance"),
    ({"instance": 'Holding("ada")'}, "is no instance"),
    ({"instance": "../etc"}, "can't be an agent's name"),
    ({"instance": 7}, "no text"),
    ({"handler": ""}, "is no handler"),
    ({"handler": "act()"}, "is no handler"),
    ({"event": None}, "an event by its number, or else a schedule"),
    ({"schedule": "n"}, "an event by its number, or else a schedule"),
    ({"event": 0}, "0 can't be its event"),
    ({"event": -3}, "-3 can't be its event"),
    ({"event": True}, "True can't be its event"),
    ({"event": 10**30}, "can't be its event"),
    ({"event": None, "schedule": ""}, "is no schedule's name"),
    ({"event": None, "schedule": "x" * 129}, "is no schedule's name"),
    ({"due_us": 10**18}, "can't be its due_us"),
    ({"due_us": -1}, "can't be its due_us"),
    ({"due_us": 1.5}, "can't be its due_us"),
    ({"period_us": 0}, "can't be its period_us"),
    ({"key": 7}, "no text"),
]


@pytest.mark.parametrize(("changes", "says"), WRONG)
def test_nobody_makes_a_token_of_nonsense(changes, says):
    fields = {"instance": "Holding/ada", "handler": "act", "event": 7, **changes}
    with pytest.raises(ValueError, match=says):
        Token(**fields)
    with pytest.raises(NotRecordable):
        codec(Token[None]).decode(json.dumps(fields).encode())


def test_a_handle_needs_a_name_and_a_due_time():
    for fields in ({"event": 7}, {"schedule": "n"}):
        with pytest.raises(ValueError, match="a schedule has a name, and is due some time"):
            ScheduleHandle("Holding/ada", "act", **fields)


def test_in_a_handler_cancelling_is_a_call():
    async def act(self):
        self.pending = EVENT
        return await self.pending.cancel()

    run = in_handler(Holding, act)
    sent = Sent("Holding/ada", "act", event=7, key="k")
    assert run.ops == [CancelOp("1", sent)]
    assert type(run.ops[0].sent) is Sent
    run.answer(Cancellation.RUNNING)
    assert run.result is Cancellation.RUNNING


def test_in_a_handler_waiting_for_the_outcome_is_a_call_that_knows_the_class():
    async def act(_self):
        unknown = Token[int]("Nobody", "total", event=3)
        return await asyncio.gather(EVENT.result(), unknown.result())

    run = in_handler(Holding, act)
    assert run.ops == [
        ResultOp("1", EVENT.sent, Holding),
        ResultOp("2", Sent("Nobody", "total", event=3), None),
    ]
    assert not run.loop.unawaited


def test_a_forgotten_await_of_either_is_found():
    async def act(_self):
        EVENT.cancel()
        HANDLE.cancel()
        NAMED.result()

    run = in_handler(Holding, act)
    assert run.ops == []
    found = list(run.loop.unawaited.values())
    assert [fn for fn, _, _ in found] == ["Token.cancel", "ScheduleHandle.cancel", "Token.result"]
    assert {file for _, file, _ in found} == {__file__}


def test_on_a_host_both_go_to_whoever_runs_the_agent_now():
    async def host():
        return await HANDLE.cancel(), await EVENT.result()

    invoker = FakeInvoker()
    serve(Holding, invoker)
    try:
        assert asyncio.run(host()) == (Cancellation.CANCELLED, 42)
    finally:
        unserve(Holding, invoker)
    assert invoker.cancelled == [PLAIN]
    assert invoker.awaited == [EVENT.sent]
    with pytest.raises(AgentctlError, match="Holding doesn't run in this program"):
        asyncio.run(host())


def test_a_class_is_found_by_its_name_the_one_that_runs_before_the_one_defined_last():
    def define(name):
        return type(name, (Agent,), {})

    first, last = define("Twice"), define("Twice")
    assert class_named("Twice") is last
    invoker = FakeInvoker()
    serve(first, invoker)
    assert class_named("Twice") is first
    unserve(first, invoker)
    assert class_named("Twice") is last
    assert class_named("NeverDefined") is None


def test_self_schedules_is_one_read_on_record_for_each_use():
    async def act(self):
        first = self.schedules
        await asyncio.sleep(1)
        again = self.schedules
        with pytest.raises(TypeError):
            again["n"] = None
        return first, sorted(again), again["n"], again.get("nothing")

    run = in_handler(Holding, act, named=[PLAIN, CRON.sent])
    run.fire()
    first, names, one, nothing = run.result
    assert run.read_at == ["1", "3"]
    assert list(first) == ["n", "daily"]
    assert names == ["daily", "n"]
    assert one == HANDLE
    assert type(one) is ScheduleHandle
    assert nothing is None


def test_the_schedules_of_another_instance_are_not_read_in_a_handler():
    async def act(_self):
        return Holding.ref("bob").schedules

    run = in_handler(Holding, act)
    with pytest.raises(UsageError, match="only its own instance's schedules"):
        _ = run.result
    assert run.read_at == []


def test_a_query_reads_no_schedules():
    obj = build(Holding, ("ada",), {}, None)
    with pytest.raises(UsageError, match="schedules of Holding are read in a handler"):
        run_query(Holding.names(obj), "Holding.names")


def test_a_host_reads_them_by_a_reference_and_cancels_by_the_same_host():
    invoker, latest = FakeInvoker(named=[PLAIN]), FakeInvoker()
    serve(Holding, invoker)
    try:
        found = Holding.ref("ada").schedules
        serve(Holding, latest)
        asyncio.run(cancel(found["n"]))
        unserve(Holding, latest)
    finally:
        unserve(Holding, invoker)
    assert dict(found) == {"n": HANDLE}
    assert invoker.cancelled == [PLAIN]
    assert latest.cancelled == []


async def cancel(handle):
    return await handle.cancel()


def test_an_event_that_was_let_go_of_reads_none():
    async def act(self):
        try:
            await asyncio.sleep(60)
        finally:
            _ = self.schedules

    run = in_handler(Holding, act)
    run.loop.let_go()
    assert run.read_at == []


def test_the_host_that_made_it_is_no_part_of_a_token():
    mine = made_of(Token[int], EVENT.sent, FakeInvoker())
    assert mine == EVENT
    assert hash(mine) == hash(EVENT)
    assert codec(Token[int]).encode(mine) == codec(Token[int]).encode(EVENT)
