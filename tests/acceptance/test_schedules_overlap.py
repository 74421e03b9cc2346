"""A schedule that falls due while its last run goes on, by each policy (C3), on a fake clock."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Literal

import pytest

from .rounds import Many, One, Rounds, minutes, rest, seconds

Overlap = Literal["skip", "queue", "allow"]
Kind = type[Many] | type[One]

PERIOD = timedelta(milliseconds=50)
STEP = timedelta(milliseconds=10)
WHILE = timedelta(milliseconds=600)


def busy(agent: Kind, overlap: Overlap | None, lasts: float = 0.19) -> tuple[Rounds, int]:
    """A run every 50 ms that lasts longer, for 600 ms; then what is still there may end.

    Returns:
        The world, and how many events were open when the schedule was cancelled.
    """
    rounds = Rounds()
    options = {} if overlap is None else {"overlap": overlap}

    async def life() -> int:
        async with rounds.life() as host:
            slow = agent.ref("a").slow
            handle = await slow.every(PERIOD, name="tick", **options)("x", lasts)  # type: ignore[arg-type]
            await rounds.pass_time(host, WHILE, STEP)
            begun = len(rounds.ran("a begin"))
            await handle.cancel()
            await rounds.pass_time(host, timedelta(seconds=4), STEP)
            return len(rounds.ran("a begin")) - begun

    waited = asyncio.run(life())
    return rounds, waited


def most_at_once(rounds: Rounds) -> int:
    """How many runs went on at the same time."""
    going = most = 0
    for one in rounds.ran("a "):
        going += 1 if one.what.startswith("a begin") else -1
        most = max(most, going)
    assert going == 0, "a run never ended"
    return most


@pytest.mark.parametrize("agent", [Many, One])
@pytest.mark.parametrize("overlap", [None, "skip"], ids=["default", "skip"])
def test_c3_skip_leaves_out_what_falls_due_meanwhile(agent: Kind, overlap: Overlap | None) -> None:
    rounds, waited = busy(agent, overlap)
    assert most_at_once(rounds) == 1
    assert rounds.times("a begin") == rounds.dues("a begin") == seconds(0.05, 0.25, 0.45)
    assert waited == 0, "runs had piled up"
    assert [one.missed for one in rounds.ran("a begin")] == [0, 0, 0]


def test_c3_the_case_as_it_stands_does_not_pile_up() -> None:
    rounds, waited = busy(Many, None, lasts=0.2)
    assert most_at_once(rounds) == 1
    assert 2 <= len(rounds.ran("a begin")) <= 3
    assert waited == 0, "runs had piled up"


def test_c3_each_skip_is_on_record_and_in_the_audit_log() -> None:
    rounds, _ = busy(Many, "skip")
    lines = rounds.audit("Many", "skipped")
    assert lines, "no skip is in the audit log"
    assert all(" Many/a skipped: " in line for line in lines)
    assert any(character.isdigit() for character in lines[0].partition(": ")[2])
    assert b'"skipped":"tick"' in rounds.world.journals["Many"]


@pytest.mark.parametrize("agent", [Many, One])
def test_c3_queue_runs_them_one_after_another(agent: Kind) -> None:
    rounds, waited = busy(agent, "queue")
    assert most_at_once(rounds) == 1
    dues = [due for due in rounds.dues("a begin") if due is not None]
    assert dues == sorted(set(dues)), "an occurrence ran twice, or they changed places"
    assert all(due % PERIOD == timedelta(0) for due in dues)
    begun = rounds.times("a begin")
    assert begun[:3] == seconds(0.05, 0.24, 0.43)
    assert waited > 0, "what fell due meanwhile wasn't queued"


def test_c3_allow_runs_them_side_by_side() -> None:
    rounds, waited = busy(Many, "allow")
    on_time = [timedelta(milliseconds=50 * n) for n in range(1, 13)]
    assert rounds.times("a begin") == rounds.dues("a begin") == on_time
    assert most_at_once(rounds) == 4
    assert waited == 0
    assert rounds.audit("Many", "skipped") == []


def test_c3_allow_still_runs_an_instance_with_state_one_at_a_time() -> None:
    rounds, _ = busy(One, "allow")
    assert most_at_once(rounds) == 1
    dues = [due for due in rounds.dues("a begin") if due is not None]
    assert dues == [timedelta(milliseconds=50 * n) for n in range(1, 13)]


def test_c3_what_goes_on_after_a_restart_counts_as_going_on() -> None:
    rounds = Rounds()
    minute = timedelta(minutes=1)

    async def lives() -> None:
        async with rounds.life() as host:
            await Many.ref("a").slow.every(minute, name="tick")("x", 150.0)
            await rounds.pass_time(host, timedelta(seconds=90), timedelta(seconds=10))
        async with rounds.life() as host:
            await rounds.pass_time(host, timedelta(seconds=180), timedelta(seconds=10))

    asyncio.run(lives())
    # From 1:00 to 3:30; the next begins at 4:00.
    assert rounds.times("a begin") == rounds.dues("a begin") == minutes(1, 4)


def test_c3_a_call_of_somebody_else_s_holds_up_no_occurrence_of_an_agent_without_state() -> None:
    rounds = Rounds()
    minute = timedelta(minutes=1)

    async def life() -> None:
        async with rounds.life() as host:
            await Many.ref("a").note.every(minute, name="tick")("x")
            other = asyncio.ensure_future(Many.ref("a").slow("y", 600.0))
            await rest(host)
            await rounds.pass_time(host, 3 * minute, minute)
            other.cancel()

    asyncio.run(life())
    assert rounds.times("a x") == minutes(1, 2, 3)


def test_c3_two_names_do_not_skip_for_each_other() -> None:
    rounds = Rounds()
    minute = timedelta(minutes=1)

    async def life() -> None:
        async with rounds.life() as host:
            await Many.ref("a").slow.every(minute, name="slow")("y", 600.0)
            await Many.ref("a").note.every(minute, name="quick")("x")
            await rounds.pass_time(host, 3 * minute, minute)

    asyncio.run(life())
    assert rounds.times("a x") == minutes(1, 2, 3)
    assert rounds.times("a begin y") == minutes(1)


def test_a_jitter_is_drawn_once_and_within_its_bounds() -> None:
    rounds = Rounds()
    hour, most = timedelta(hours=1), timedelta(minutes=10)

    async def lives() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.every(hour, name="tick", jitter=most)("x")
            await rounds.pass_time(host, timedelta(hours=6), timedelta(minutes=1))
        async with rounds.life() as host:
            await rounds.pass_time(host, timedelta(hours=6), timedelta(minutes=1))

    asyncio.run(lives())
    late = [at - hour * n for n, at in enumerate(rounds.times("a x"), 1)]
    assert len(late) in (11, 12)
    assert all(timedelta(0) <= one <= most + timedelta(minutes=1) for one in late), late
    assert len(set(late)) > 1, "no jitter"
    assert [one.missed for one in rounds.ran()] == [0] * len(late)
