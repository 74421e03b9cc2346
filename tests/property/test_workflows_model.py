"""Steps against a model: whatever becomes of programs, each is tried as its policy says.

Random plans, as data, by `step`, and workflows; failures, timeouts, kills and power cuts within
attempts and between them, restarts, answers and cancellations by a program and without one. Each
event has one end, no step begins after a cancellation, what was done is undone in reverse and once,
and the state is what the steps that count left.

`HYPOTHESIS_PROFILE=nightly` runs 10 000 examples, `AGENTCTL_EVERY_DEATH` 3000.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path as FilePath
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw, structs

from agentctl import AgentSettings, bind
from agentctl.engines.changes import CancelRequest, ResumeRequest
from agentctl.engines.local.desk import FilesDesk
from agentctl.engines.port import InvokeRequest
from agentctl.errors import Conflict, NotFound, UsageError
from agentctl.testing import Durable

sys.path.insert(0, str(FilePath(__file__).parents[1] / "crash"))
from reading_raw import Seen, records_of
from reading_steps import Event, Trail, events_of
from steady import SteadyLoop

from .model_workflows import (
    BACKOFF_S,
    UNDO_POLICY,
    Path,
    Planned,
    Planner,
    Told,
    attempts_of,
)

PATIENCE_S = 20.0
LIVES = 2
EXAMPLES = 3000 if os.environ.get("AGENTCTL_EVERY_DEATH") else 200
if os.environ.get("HYPOTHESIS_PROFILE") == "nightly":
    EXAMPLES = 10_000
PATIENT = AgentSettings(audit=True, max_starts=100, grace=timedelta(0))
ENDS = ("done", "failed", "cancelled")

comings = st.lists(st.sampled_from(("fail", "fail", "ok", "final", "slow")), max_size=3)
undoings = st.lists(st.sampled_from(("fail", "ok", "final")), max_size=2)


@st.composite
def plans(draw, event: int):
    """How a plan is run, and its steps; a workflow's policies are its own."""
    how = draw(st.sampled_from(("by_step", "by_plan", "run")))
    size = 3 if how == "run" else draw(st.integers(1, 4))
    plan = []
    for place in range(1, size + 1):
        most, backoff_s = draw(st.integers(1, 3)), draw(st.sampled_from((0.0, 45.0)))
        waits = draw(st.sampled_from((False, False, True)))
        undo = draw(st.one_of(st.none(), undoings, undoings)) if how == "by_step" else None
        if how == "run":
            most, backoff_s, waits = 2, BACKOFF_S, place == 2
            undo = draw(undoings) if place < 3 else None
        plan.append(Planned(f"{event}{place}", most, backoff_s, draw(comings), waits, undo))
    return how, plan


turns = st.tuples(st.just("turns"), st.integers(0, 60))
which = st.integers(0, 1)
LIVE_ACTS = st.one_of(
    turns,
    turns,
    st.just(("jump", 0)),
    st.just(("jump", 0)),
    st.tuples(st.just("answer"), which),
    st.tuples(st.just("answer"), which),
    st.tuples(st.just("cancel"), which),
    st.tuples(st.just("cancel running"), which),
)
COLD_ACTS = st.one_of(
    st.tuples(st.just("away"), st.integers(1, 100)),
    st.tuples(st.just("answer"), which),
    st.tuples(st.just("cancel"), which),
)
DEATHS = st.one_of(
    st.just(("stop", 0)),
    st.just(("kill", 0)),
    st.tuples(st.just("cut"), st.integers(0, 1000)),
    st.tuples(st.just("kill in attempt"), st.integers(1, 3)),
)
LIVED = st.lists(
    st.tuples(
        st.lists(LIVE_ACTS, max_size=5),
        DEATHS,
        st.one_of(st.just([]), st.lists(COLD_ACTS, max_size=2)),
    ),
    max_size=4,
)


@dataclass
class Sim:
    """The lives of programs that run some plans, and what people heard meanwhile."""

    plans: list[tuple[str, list[Planned]]]
    durable: Durable = field(default_factory=Durable)
    told: Told = field(default_factory=Told)
    cancelled: set[int] = field(default_factory=set)
    asked_to_cancel: set[int] = field(default_factory=set)
    answers: dict[str, str] = field(default_factory=dict)
    lives: int = 0
    ids: int = 0
    submitted: dict[int, str] = field(default_factory=dict)
    dead: Any = None

    def __post_init__(self) -> None:
        for _, plan in self.plans:
            for one in plan:
                self.told.tables[one.name] = one.comes_to
                self.told.tables[f"undo {one.name}"] = one.undo or []

    def agent(self, number: int) -> type[Any]:
        return Path if self.plans[number][0] == "run" else Planner

    # -- lives

    def life(self, act: Callable[[Any], Awaitable[None]], death: tuple[str, int]) -> None:
        """One program, from its start to its end."""

        async def program() -> None:
            host = self.durable.host(
                *(bind(one, world=self.told, settings=PATIENT) for one in (Planner, Path)),
                jumps=False,
            )
            async with host:
                await self.submit(host)
                await act(host)
                if death[0] != "stop" and self.dead is None:
                    self.kill(death)

        self.dead, self.told.is_over = None, False
        self.lives += 1
        self.note_settled()
        if death[0] == "kill in attempt":
            self.kill_in_attempt(death[1])
        with asyncio.Runner(loop_factory=SteadyLoop) as runner:
            runner.run(asyncio.wait_for(program(), PATIENCE_S))
        self.told.on_enter = None
        if self.dead is not None:
            self.durable.disk, self.dead = self.dead, None

    def kill(self, death: tuple[str, int]) -> None:
        """What is on the disk right now is what the next program finds."""
        disk = self.durable.disk
        self.told.is_over = True
        self.dead = disk.after_power_cut(death[1]) if death[0] == "cut" else disk.after_kill()

    def kill_in_attempt(self, number: int) -> None:
        left = [number]

        def on_enter() -> None:
            left[0] -= 1
            if left[0] == 0:
                self.kill(("kill", 0))

        self.told.on_enter = on_enter

    def note_settled(self) -> None:
        for content in self.durable.journals.values():
            seen = Seen(content)
            self.told.settled |= seen.settled
            self.told.tried |= seen.tried

    async def submit(self, host: Any) -> None:
        for number, (how, plan) in enumerate(self.plans):
            if number not in self.submitted:
                args = [] if how == "run" else [[asdict(one) for one in plan]]
                request = InvokeRequest(self.agent(number).__name__, (str(number),), how, args)
                self.submitted[number] = str(await host.submit(request))

    async def rest(self, host: Any) -> None:
        quiet = 0
        while quiet < 6 and self.dead is None:
            await asyncio.sleep(0)
            quiet = quiet + 1 if host.engine.quiet else 0

    # -- what people do

    async def act(self, host: Any, what: tuple[str, int]) -> None:
        name, number = what
        if self.dead is not None:
            return
        if name == "turns":
            for _ in range(number):
                await asyncio.sleep(0)
        elif name == "jump":
            await self.rest(host)
            self.durable.clock.jump()
            await asyncio.sleep(0)
        elif number < len(self.plans):
            await self.change(name, number, host.carry_out)

    def act_cold(self, what: tuple[str, int]) -> None:
        name, number = what
        desk = FilesDesk(FilePath("/memory"), self.durable.clock, self.durable.disk)
        if name == "away":
            self.durable.clock.advance(number)
        elif number in self.submitted:

            async def carry_out(request: Any) -> Any:
                return desk.carry_out(request)

            asyncio.run(self.change(name, number, carry_out))

    async def change(self, name: str, number: int, carry_out: Any) -> None:
        agent, event = self.submitted[number].split("#")
        agent, _, of = agent.partition("/")
        self.ids += 1
        where = {"agent": agent, "identity": (of,), "event": int(event)}
        if name == "answer":
            await self.answer(ResumeRequest(id=f"id {self.ids}", **where), carry_out)
            return
        self.asked_to_cancel.add(number)
        request = CancelRequest(id=f"id {self.ids}", running="running" in name, **where)
        answer = await carry_out(request)
        if self.dead is None and answer.answer in ("cancelled", "already_cancelled"):
            self.cancelled.add(number)
        assert number not in self.cancelled or "cancelled" in answer.answer, answer

    async def answer(self, request: ResumeRequest, carry_out: Any) -> None:
        value = f"answer {self.ids}"
        request = structs.replace(request, value=Raw(json.dumps(value).encode()))
        try:
            done = await carry_out(request)
        except Conflict:
            return  # it waits for nothing
        if self.dead is not None:
            return  # nobody heard it
        assert done.call not in self.answers, "it was decided twice"
        self.answers[done.call] = value
        try:
            await carry_out(structs.replace(request, id=f"{request.id} again", call=done.call[-1]))
            raise AssertionError("a second answer was taken")
        except (Conflict, NotFound, UsageError):
            pass

    async def finish(self, host: Any) -> None:
        """Answer all that waits, and let all come to its end."""
        for _ in range(60):
            await self.rest(host)
            given = len(self.answers)
            for number in self.submitted:
                await self.change("answer", number, host.carry_out)
            await self.rest(host)
            if not self.durable.clock.jump() and given == len(self.answers):
                return

    # -- what holds in the end

    def check(self) -> None:
        assert not self.told.broken, self.told.broken
        for number, (how, plan) in enumerate(self.plans):
            agent, _, event = self.submitted[number].partition("#")
            content = self.durable.journals[agent.partition("/")[0]]
            self.check_event(number, plan, (content, int(event)))
        for key, made in self.told.entered.items():
            for one in set(made):
                assert made.count(one) <= self.lives, f"{key} was made {made}"

    def check_event(self, number: int, plan: list[Planned], where: tuple[bytes, int]) -> None:
        content, event = where
        records, seen = records_of(content), Seen(content)
        found = events_of(records, [event])[event]
        assert not found.broken(), found.broken()
        assert not [one for one in found.too_late if seen.key(one) in self.told.entered]
        ends = [one for one in records if any(one.get(kind) == event for kind in ENDS)]
        assert len(ends) == 1, f"it ended {ends}"
        end = ends[0]
        assert ("cancelled" in end) or number not in self.cancelled, "its cancellation was lost"
        assert "cancelled" not in end or number in self.asked_to_cancel
        steps = [
            one for one in found.steps if one.undoes is None and one.call not in found.too_late
        ]
        check_steps(plan, steps, cancelled="cancelled" in end)
        check_undone(plan, steps, found, completed="done" in end)
        for one in steps:
            if (key := seen.key(one.call)) in self.answers and one.ends != ["dropped"]:
                assert one.answers == [self.answers[key]], "an answer that was taken is lost"
        if "done" in end:
            assert end["state"]["done"] == [one.name for one in plan]
            answers = [one.answers[0] if one.answers else None for one in steps]
            assert end["value"] == [
                f"{one.name} {answer}" for one, answer in zip(plan, answers, strict=True)
            ]
        else:
            assert "state" not in end


def check_steps(plan: list[Planned], steps: list[Trail], *, cancelled: bool) -> None:
    """Each step was tried as its policy says, in order; only a cancellation cuts one short."""
    expected = [attempts_of(one.comes_to, one.most) for one in plan]
    ends = [end for _, end in expected]
    whole = ends.index("error") + 1 if "error" in ends else len(plan)
    assert len(steps) <= whole
    assert cancelled or len(steps) == whole
    for place, trail in enumerate(steps):
        times, end = expected[place]
        is_cut = cancelled and place == len(steps) - 1
        assert trail.attempts == list(range(1, len(trail.attempts) + 1))
        assert len(trail.attempts) <= times
        assert is_cut or (len(trail.attempts), trail.ends) == (times, [end])


def check_undone(plan: list[Planned], steps: list[Trail], found: Event, *, completed: bool) -> None:
    """What was done is undone in reverse, once, each as its own policy says."""
    done = [
        (trail.call, one)
        for one, trail in zip(plan, steps, strict=False)
        if trail.ends == ["ok"] and one.undo is not None
    ]
    expected = [] if completed else done[::-1]
    assert found.undone == [call for call, _ in expected]
    undoing = [one for one in found.steps if one.undoes is not None]
    for trail, (_, one) in zip(undoing, expected, strict=True):
        times, end = attempts_of(one.undo or [], UNDO_POLICY.max_attempts)
        assert (len(trail.attempts), trail.ends) == (times, [end]), "undone by another policy"


def lived_through(planned: list[tuple[str, list[Planned]]], lived: Any) -> None:
    """Live so, and hold what came of it to the model."""
    sim = Sim(planned)
    for acts, death, cold in lived:

        async def act(host: Any, acts: list[tuple[str, int]] = acts) -> None:
            for one in acts:
                await sim.act(host, one)

        sim.life(act, death)
        for one in cold:
            sim.act_cold(one)
    for _ in range(LIVES):
        sim.life(sim.finish, ("stop", 0))
    sim.check()


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(planned=st.tuples(plans(0), plans(1)), lived=LIVED)
def test_q14_whatever_happens_each_step_is_tried_undone_and_cancelled_as_it_says(planned, lived):
    lived_through(list(planned), lived)
