"""Steps: one call each, tried as their policy says, with the state that they changed."""

from __future__ import annotations

import json
import re

import pytest

from agentctl import (
    Agent,
    NonRetryable,
    RetryPolicy,
    StepDef,
    handler,
    run_steps,
    step,
)
from agentctl.errors import StepFailed, Stuck
from agentctl.testing import Durable

from .stepper import Bot, Declined, Real, Receipt, World


@pytest.fixture
def durable():
    return Durable()


def records(durable, agent="Bot"):
    return [json.loads(line) for line in durable.journals[agent].splitlines()]


def test_a_step_is_tried_as_its_policy_says_with_one_key(durable):
    world = Real(fails=2)
    assert durable.run(Bot, "charge", 7, world=world, narrow=world) == "r7"
    assert [made[:2] for made in world.made] == [("Bot-1-1.1", n) for n in (1, 2, 3)]
    kinds = [next(iter(one)) for one in records(durable)]
    assert [kinds.count(kind) for kind in ("tried", "attempt", "ok")] == [2, 2, 1]
    tried = [one["next"] - one["at"] for one in records(durable) if "tried" in one]
    assert tried == [60_000_000, 100_000_000]


def test_what_the_last_attempt_raises_reaches_the_handler(durable):
    world = Real(fails=9, error=Declined("no"))
    with pytest.raises(Declined, match="no"):
        durable.run(Bot, "charge", 7, world=world, narrow=world)
    assert len(world.made) == 3


def test_q2_nonretryable_fails_it_at_once(durable):
    world = Real(fails=9, error=NonRetryable("invalid"))
    with pytest.raises(NonRetryable):
        durable.run(Bot, "charge", 7, world=world, narrow=world)
    assert len(world.made) == 1
    assert not any("tried" in one or "attempt" in one for one in records(durable))


def test_a_capability_s_own_policy_holds_in_the_handler_and_not_within_a_step(durable):
    world = Real(fails=2)
    assert durable.run(Bot, "calls_flaky", world=world, narrow=world) == "a"
    assert [made[:2] for made in world.made] == [("Bot-1-1", n) for n in (1, 2, 3)]


def test_state_of_a_failed_attempt_is_dropped_and_of_the_last_one_kept(durable):
    world = Real(fails=1)
    got = durable.run(Bot, "by_method", 5, world=world, narrow=world)
    assert got == [5, 5, ["2"]]
    assert [made[0] for made in world.made] == ["Bot-1-1.1", "Bot-1-1.1", "Bot-1-1.2"]
    (ok,) = [one for one in records(durable) if "ok" in one]
    assert ok["state"] == {"total": 5, "seen": ["2"]}


def test_what_a_step_closes_over_is_the_copy(durable):
    world = Real()
    got = durable.run(Bot, "by_closure", 3, world=world, narrow=world)
    assert got == ["r3", 8, "x", 8, ["closure", "1"]]


def test_steps_side_by_side_change_what_they_changed(durable):
    assert durable.run(Bot, "side_by_side", world=Real(), narrow=Real()) == [7, 1]


def test_a_step_begins_with_the_state_of_when_it_is_awaited(durable):
    assert durable.run(Bot, "made_before", world=Real(), narrow=Real()) == 1 + 2


@pytest.mark.parametrize(("fails", "refunds"), [("", 0), ("declined", 2)])
def test_q14_done_steps_are_undone_in_reverse_if_the_event_fails(durable, fails, refunds):
    world = Real()
    if fails:
        with pytest.raises(Declined):
            durable.run(Bot, "undone", fails, world=world, narrow=world)
    else:
        durable.run(Bot, "undone", fails, world=world, narrow=world)
    assert [made[3] for made in world.made if made[2] == "refund"] == ["r2", "r1"][: refunds or 0]
    undoing = [one["undoes"] for one in records(durable) if one.get("undoes")]
    assert undoing == ["1-2", "1-1"][:refunds]


def test_a_bug_undoes_nothing(durable):
    world = Real()
    with pytest.raises(Stuck):
        durable.run(Bot, "undone", "bug", world=world, narrow=world)
    assert [made[2] for made in world.made] == ["charge", "charge"]


def test_what_can_not_be_undone_is_told_with_the_failure_and_the_rest_is_undone(durable):
    class Stubborn(Real):
        async def refund(self, receipt: Receipt) -> None:
            self._note("refund", receipt.id)
            if receipt.id == "r2":
                raise OSError("no way back")

    world = Stubborn()
    with pytest.raises(ExceptionGroup, match="wasn't all undone") as failed:
        durable.run(Bot, "undone", "declined", world=world, narrow=world)
    assert [str(error) for error in failed.value.exceptions] == ["no", "no way back"]
    assert [made[3] for made in world.made if made[2] == "refund"] == ["r2", "r1"]


def test_blocking_methods_are_awaited_in_steps(durable):
    world = Real()
    assert durable.run(Bot, "blocks", world=world, narrow=world) == [7, 8]


def test_q3_an_attempt_that_takes_too_long_is_stopped(durable):
    world = Real()
    assert durable.run(Bot, "limited", world=world, narrow=world) == "both"
    assert [made[1] for made in world.made] == [1, 2, 1], "each timeout is of its own attempt"


def test_policy_and_narrowing_hold_inside_a_step(durable):
    with pytest.raises(Exception, match="isn't among what the agent uses"):
        durable.run(Bot, "denied", world=Real(), narrow=Real())


def test_a_plan_runs_in_its_order_with_its_own_policies(durable):
    world = Real(fails=1)
    plan = [StepDef("b"), StepDef("a", retry=RetryPolicy(2)), StepDef("b ", timeout=1)]
    with pytest.raises(StepFailed, match="'b ' has no body"):
        durable.run(Bot, "plan", plan, world=world, narrow=world)
    assert world.made == []
    done = durable.run(Bot, "plan", plan[:2], world=world, narrow=world)
    assert list(done.items()) == [("b", 1), ("a", "r1")]
    with pytest.raises(StepFailed, match="twice"):
        durable.run(Bot, "plan", [StepDef("a"), StepDef("a")], world=world, narrow=world)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("nested", "step\\(\\) works in a handler, not inside a step"),
        ("asks", "question\\(\\) works in a handler, not inside a step"),
        ("asks_another", "Bot.ref\\(…\\).charge\\(\\) works in a handler, not inside a step"),
        ("by_chance", "random\\(\\) works in a handler, not inside a step"),
        ("times", "works in a handler"),
        ("plain", "isn't async"),
        ("unrecordable", "returned .*Receipt"),
        ("spoils_state", "the state seen"),
    ],
)
def test_what_does_not_belong_into_a_step_says_so(durable, how, told):
    said = durable.run(Bot, "misused", how, world=Real(), narrow=Real())
    assert re.search(told, said), said


def test_arguments_that_do_not_fit_are_refused_where_the_step_is_made(durable):
    class Wrong(Agent):
        world: World

        @handler
        async def run_it(self, how: str) -> None:
            if how == "type":
                await step("charge", self.world.charge, "x")  # type: ignore[arg-type]
            elif how == "count":
                await step("charge", self.world.charge)  # type: ignore[call-arg]
            elif how == "called":
                await step("nothing", self.nothing())  # type: ignore[arg-type]
            elif how == "plan":
                await run_steps(["nothing"], {"nothing": self.nothing})  # type: ignore[list-item]
            else:
                await step("charge", self.world.charge, 1, compensate=self.nothing)  # type: ignore[arg-type]

        async def nothing(self) -> None: ...

    for how, told in (
        ("type", "argument order"),
        ("count", "missing"),
        ("called", r"nothing\(\) is called already, and can't be a step"),
        ("plan", "the plan has 'nothing'\nhint: a plan is a list of StepDef"),
        ("undo", "what undoes the step 'charge' doesn't take its result"),
    ):
        with pytest.raises(Stuck, match=told):
            durable.run(Wrong, "run_it", how, world=Real())
