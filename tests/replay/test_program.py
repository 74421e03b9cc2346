"""The whole program dies at every change of its disk; another takes over, with other timing.

Two kinds of death: after `kill -9` the disk has what was written, after a power cut only what was
synced, and of the rest whatever its seed says.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator

import msgspec
import pytest

from agentctl.records import kind_of
from agentctl.storage.faulty import Fault, FaultyDisk
from agentctl.storage.memory import MemoryDisk
from agentctl.testing import FakeClock

from .bot import EVERY
from .orders import ALLOWS, heard_in
from .program import Life, journal_on, live
from .stage import ESSENTIAL, over_in

SEEDS = int(os.environ.get("AGENTCTL_REPLAY_PROGRAM_SEEDS", "1"))


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    logger = logging.getLogger("agentctl")
    logger.setLevel("ERROR")  # a task whose error nobody hears is warned of, each time
    yield
    logger.setLevel("NOTSET")


def essential(journal: list[bytes]) -> list[bytes]:
    return [body for body in journal if kind_of(body) in ESSENTIAL]


def is_over(journal: list[bytes]) -> bool:
    return any(kind_of(body) in ("done", "failed", "bug") for body in journal)


def die_at(handler: str, seed: int, at: int, *, cut: int | None) -> bool:
    """Die at change `at`, go on, and hold both lives against what was promised."""
    clock = FakeClock()
    disk = FaultyDisk(MemoryDisk(), Fault(at))
    first = live(disk, handler, random.Random(seed), clock=clock)
    assert first.late == []
    if not disk.hit:
        return False
    left = disk.after_kill() if cut is None else disk.after_power_cut(cut)
    before = journal_on(left)
    if first.accepted:
        assert before, "an event was accepted and is lost"
    for key, what in first.made:
        begins = b'{"call":"%b",' % key.removeprefix("Bot-").encode()
        assert any(one.startswith(begins) for one in before), f"{key} ({what}) isn't on record"
    if is_over(before):
        return True
    clock.set_wall(clock.now_us() + random.Random(at).randrange(3_000_000))
    second_disk = FaultyDisk(left)
    second = live(second_disk, handler, random.Random(f"{seed} {at}"), clock=clock)
    check(handler, before, journal_on(second_disk.disk), second)
    known = dict(first.made)
    for key, what in second.made:
        assert known.get(key, what) == what, f"{key} was {known[key]!r} before"
    return True


def check(handler: str, before: list[bytes], after: list[bytes], second: Life) -> None:
    assert second.end is not None
    assert not second.end.divergence, second.end.text
    assert essential(after)[: len(essential(before))] == essential(before)
    again = [key for key, _ in second.made if key.removeprefix("Bot-1-") in over_in(before)]
    assert not again, f"made again: {again}"
    if handler in ALLOWS:
        assert second.end.status == "completed", second.end.text
        assert second.end.result is not None
        result = msgspec.json.decode(second.end.result)
        assert ALLOWS[handler](result, heard_in(after))


def die_everywhere(handler: str) -> None:
    for seed in range(SEEDS):
        at = 1
        while die_at(handler, seed, at, cut=None):
            die_at(handler, seed, at, cut=at + 1000 * seed)
            at += 1
        assert at > 15, "it hardly touched the disk"


def those(case: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("handler", [one for one in EVERY if one.startswith(case + "_")])


@those("h1")
def test_h1_a_program_that_dies_among_lines_in_gather_goes_on(handler: str) -> None:
    die_everywhere(handler)


@those("h2")
def test_h2_a_program_that_dies_in_a_race_keeps_its_winner(handler: str) -> None:
    die_everywhere(handler)


@those("h3")
def test_h3_a_program_that_dies_between_the_calls_for_a_set_goes_on(handler: str) -> None:
    die_everywhere(handler)


@those("h4")
def test_h4_a_program_that_dies_in_as_completed_goes_on(handler: str) -> None:
    die_everywhere(handler)


@those("h5")
def test_h5_a_program_that_dies_in_a_task_group_goes_on(handler: str) -> None:
    die_everywhere(handler)


@those("h6")
def test_h6_a_program_that_dies_within_limits_of_time_goes_on(handler: str) -> None:
    die_everywhere(handler)


@those("h7")
def test_h7_a_program_that_dies_with_queues_and_generators_goes_on(handler: str) -> None:
    die_everywhere(handler)


@those("h10")
def test_h10_a_program_that_dies_while_calls_fail_goes_on(handler: str) -> None:
    die_everywhere(handler)
