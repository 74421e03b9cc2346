"""Schedules against a model: whatever becomes of programs, clocks and nights, each due time once.

Random schedules, downtimes, kills, power cuts, clocks set forward and back, nights on which a
zone's hour comes twice or never, edits and pauses, through a program and without one. No occurrence
runs twice, none is early, what is missed is as the policy says and on record, and the grid never
moves.

`HYPOTHESIS_PROFILE=nightly` runs 10 000 examples.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentctl import AgentSettings, bind
from agentctl.core.timing import Timing
from agentctl.engines.local.desk import FilesDesk
from agentctl.engines.schedules import (
    FireRequest,
    PauseRequest,
    Scheduled,
    SetRequest,
    UnscheduleRequest,
)
from agentctl.testing import Durable, FakeClock
from agentctl.times import to_us

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))
from reading_raw import records_of
from steady import SteadyLoop

from .model_schedules import EPOCH, MINUTE_US, Ledger, Marks, Rota, Span

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
PATIENCE_S = 20.0
STEADY = AgentSettings(audit=True, keep=10)

MACHINE = settings(
    max_examples=10_000 if NIGHTLY else 500,
    stateful_step_count=20 if NIGHTLY else 10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

NAMES = st.sampled_from(("one", "two"))
BEGINNINGS = [
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 3, 29, 0, 20, tzinfo=UTC),  # an hour is missing in Berlin
    datetime(2026, 10, 25, 0, 10, tzinfo=UTC),  # one comes twice
    datetime(2026, 4, 4, 13, 40, tzinfo=UTC),  # half of one comes twice on Lord Howe
]
ZONES = ("UTC", "Europe/Berlin", "Australia/Lord_Howe")
CRONS = ("*/20 * * * *", "10 * * * *", "30 2 * * *", "45 1 * * *", "15 1-3 * * *")
minutes = st.integers(0, 90)


@st.composite
def timings(draw):
    """What a schedule may be like, its first due time in minutes from now."""
    given: dict[str, Any] = {
        "missed": draw(st.sampled_from(("coalesce", "skip", "all"))),
        "overlap": draw(st.sampled_from(("skip", "queue", "allow"))),
        "late_us": draw(st.sampled_from((None, None, 0, 10 * MINUTE_US))),
    }
    kind = draw(st.sampled_from(("period", "anchored", "cron", "once")))
    if kind == "cron":
        given |= {"cron": draw(st.sampled_from(CRONS)), "tz": draw(st.sampled_from(ZONES))}
    elif kind != "once":
        given["period_us"] = draw(st.sampled_from((11 * MINUTE_US, 60 * MINUTE_US)))
    first = draw(st.integers(-10, 60)) if kind in ("once", "anchored") else None
    return given, first, draw(st.sampled_from((0.0, 0.0, 200.0)))


ENDS = st.one_of(st.sampled_from(("stop", "kill")), st.integers(0, 1000))
# What passes while a program runs: the time until something is due; or so much at once.
PASSING = st.lists(st.one_of(st.none(), st.none(), minutes), max_size=3)


class Machine(RuleBasedStateMachine):
    """Lives of programs, and what happens to their schedules and clocks."""

    @initialize(beginning=st.sampled_from(BEGINNINGS))
    def begin(self, beginning: datetime) -> None:
        self.clock = FakeClock(to_us(beginning - EPOCH))
        self.durable = Durable(clock=self.clock)
        self.marks = Marks()
        self.ledger = Ledger()
        self.read = b""
        self.span: Span | None = None
        self.ids = 0
        self.steady = True
        self.set: dict[str, SetRequest] = {}
        self.life([], "stop")

    # -- one program's life

    def life(
        self, passing: list[int | None], end: Any, *acts: Callable[[Any], Awaitable[None]]
    ) -> None:
        """Start, act, let time pass, end; then hold what is on record to the model."""

        async def program() -> None:
            host = self.durable.host(self.binding(), jumps=False)
            since_us = self.clock.now_us()
            async with host:
                await self.rest(host)
                for act in acts:
                    await act(host)
                    await self.rest(host)
                await self.pass_time(host, passing)
                at_rest = self.durable.disk.after_kill()
                if isinstance(end, int):
                    at_rest = self.durable.disk.after_power_cut(end)
                self.note_span(since_us)
            if end != "stop":
                self.durable.disk = at_rest

        self.highest_us = self.clock.now_us()
        with asyncio.Runner(loop_factory=SteadyLoop) as runner:
            runner.run(asyncio.wait_for(program(), PATIENCE_S))
        self.absorb()
        cut = isinstance(end, int)  # then what was answered for may have to be, again
        self.ledger.check(self.clock.now_us() if self.steady and not cut else None)
        self.steady = True

    def binding(self) -> Any:
        return bind(Rota, world=self.marks, settings=STEADY)

    async def rest(self, host: Any) -> None:
        quiet = 0
        while quiet < 6:
            await asyncio.sleep(0)
            quiet = quiet + 1 if host.engine.quiet else 0

    async def pass_time(self, host: Any, passing: list[int | None]) -> None:
        for one in passing:
            if one is None:
                self.clock.jump()
            else:
                self.clock.advance(one * 60)
            self.clock.advance(1e-6)
            self.highest_us = max(self.highest_us, self.clock.now_us())
            await self.rest(host)

    def note_span(self, since_us: int | None) -> None:
        highest_us = max(self.clock.now_us(), self.highest_us)
        self.span = Span(since_us, highest_us, self.steady)

    def absorb(self) -> None:
        """Hold to the model what the journal says and didn't say before."""
        content = self.durable.journals["Rota"]
        header, *records = records_of(content)
        # A rewrite carries over what was read already.
        read = len(records_of(self.read)) - 1 if self.read and content.startswith(self.read) else 0
        self.read = content
        for record in records[max(read, header.get("kept", 0)) :]:
            self.ledger.take(record, self.span)

    # -- what happens

    @rule(passing=PASSING, end=ENDS)
    def run(self, passing, end) -> None:
        self.life(passing, end)

    @rule(away=st.integers(1, 300))
    def nobody_runs_it(self, away) -> None:
        self.clock.advance(away * 60)

    @rule(by=st.integers(-150, 150))
    def the_clock_is_set(self, by) -> None:
        self.clock.set_wall(self.clock.now_us() + by * MINUTE_US)

    @rule(by=st.integers(-150, 150), passing=PASSING, end=ENDS)
    def the_clock_is_set_while_it_runs(self, by, passing, end) -> None:
        async def act(host: Any) -> None:
            self.highest_us = max(self.highest_us, self.clock.now_us())
            self.clock.set_wall(self.clock.now_us() + by * MINUTE_US)
            self.steady = False  # a clock that only a test moves is looked at when it moves

        self.life(passing, end, act)

    def new_id(self) -> str:
        self.ids += 1
        return f"request {self.ids}"

    def change(self, request: Any, live: bool, note: Callable[[Any], None]) -> None:
        """Ask for a change, through a program or without one; each is answered twice alike."""

        async def act(host: Any) -> None:
            async def ask() -> Any:
                if isinstance(request, SetRequest):
                    return await host.engine.answering.schedule(request)
                return await host.carry_out(request)

            note(await self.both(ask))

        if live:
            self.life([], "kill", act)
            return
        desk = FilesDesk(Path("/memory"), self.clock, self.durable.disk)
        self.highest_us = self.clock.now_us()

        async def ask() -> Any:
            if isinstance(request, SetRequest):
                return desk.schedule(Rota, request)
            return desk.carry_out(request)

        with asyncio.Runner() as runner:
            note(runner.run(self.both(ask)))
        self.note_span(None)
        self.absorb()

    async def both(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        first, again = await ask(), await ask()
        assert first == again or getattr(first, "changed", True) is False
        return first

    @rule(name=NAMES, timing=timings(), live=st.booleans())
    def set_one(self, name, timing, live) -> None:
        given, first, seconds = timing
        due_us = None if first is None else self.clock.now_us() + first * MINUTE_US
        wanted = Timing(name, due_us, anchored=first is not None, **given)
        request = SetRequest("Rota", self.new_id(), "mark", wanted, args=(name, seconds))
        at_us = self.clock.now_us()

        def note(answer: Scheduled) -> None:
            if due_us is not None and (due_us >= at_us or not wanted.period_us):
                assert answer.due_us == due_us
            elif wanted.period_us or wanted.cron:
                assert answer.due_us >= at_us or not answer.changed, "an edit fires at once"

        self.set[name] = request
        self.change(request, live, note)

    @precondition(lambda self: self.ledger.live)
    @rule(live=st.booleans(), place=st.integers(0, 1))
    def set_the_same_again(self, live, place) -> None:
        names = sorted(self.ledger.live)
        name = names[place % len(names)]
        known = self.ledger.live[name]
        if not known.recurs:
            return
        before = known.record
        request = SetRequest(
            "Rota", self.new_id(), "mark", self.set[name].timing, args=self.set[name].args
        )
        answers: list[Scheduled] = []
        self.change(request, live, answers.append)
        assert not answers[0].changed
        assert self.ledger.live[name].record is before

    @precondition(lambda self: self.ledger.live)
    @rule(live=st.booleans(), place=st.integers(0, 1), pause=st.booleans())
    def pause_or_resume(self, live, place, pause) -> None:
        names = sorted(name for name, one in self.ledger.live.items() if one.recurs)
        if not names:
            return
        name = names[place % len(names)]
        request = PauseRequest("Rota", self.new_id(), name, pause=pause)
        was = self.ledger.live[name].paused
        answers: list[Any] = []
        self.change(request, live, answers.append)
        assert (answers[0].paused, answers[0].changed) == (pause, pause != was)
        assert self.ledger.live[name].paused is pause

    @precondition(lambda self: self.ledger.live)
    @rule(live=st.booleans(), place=st.integers(0, 1))
    def cancel(self, live, place) -> None:
        names = sorted(self.ledger.live)
        name = names[place % len(names)]
        self.change(UnscheduleRequest("Rota", self.new_id(), name), live, lambda _: None)
        assert name not in self.ledger.live

    @precondition(lambda self: self.ledger.live)
    @rule(live=st.booleans(), place=st.integers(0, 1))
    def run_one_beside_its_grid(self, live, place) -> None:
        names = sorted(name for name, one in self.ledger.live.items() if one.recurs)
        if not names:
            return
        runs = len(self.ledger.runs)
        request = FireRequest("Rota", self.new_id(), names[place % len(names)])
        self.change(request, live, lambda _: None)
        assert len(self.ledger.runs) > runs

    # -- what always holds

    @invariant()
    def what_ran_is_what_is_on_record(self) -> None:
        """Each call is that of an occurrence on record, with its due time; each runs once."""
        ran: dict[int, tuple[str, int, int]] = {}
        for key, mark in self.marks.made.items():
            event = int(key.split("-")[1])
            assert event not in ran, "an occurrence ran twice"
            ran[event] = mark
        for event, mark in ran.items():
            assert self.ledger.runs[event] == mark

    @invariant()
    def the_journal_shows_the_same_schedules(self) -> None:
        desk = FilesDesk(Path("/memory"), self.clock, self.durable.disk)
        shown = {one.name: (one.due_us, one.paused) for one in desk.schedules("Rota")}
        known = {name: (one.due_us, one.paused) for name, one in self.ledger.live.items()}
        assert shown == known

    def teardown(self) -> None:
        """In the end all that was accepted has run, and no due time is left behind."""
        if not hasattr(self, "ledger"):
            return
        self.life([], "stop")  # nothing that is due is left behind
        for name in list(self.ledger.live):
            self.change(UnscheduleRequest("Rota", self.new_id(), name), False, lambda _: None)
        self.life([None] * 120, "stop")
        ran = {int(key.split("-")[1]) for key in self.marks.made}
        assert ran == set(self.ledger.runs), "an occurrence that was accepted never ran"
        self.misses_stand_in_the_audit_log()

    def misses_stand_in_the_audit_log(self) -> None:
        """Each has one line, with a count."""
        audit = self.durable.disk.read_file("/memory/agents/Rota/audit.log").decode()
        said = [line for line in audit.splitlines() if " of schedule " in line and " from " in line]
        assert len(said) == self.ledger.skips
        stands = [line for line in audit.splitlines() if "which this run counts for" in line]
        assert len(stands) == sum(missed > 0 for _, _, missed in self.ledger.runs.values())


Machine.TestCase.settings = MACHINE
test_whatever_happens_each_due_time_is_answered_for_once = pytest.mark.timeout(
    36_000 if NIGHTLY else 300
)(Machine.TestCase)
