"""Journals with steps that earlier versions wrote are read here as they were read there.

Beside each lies what the version that wrote it made of it, after every line: where each step and
question stands, what waits, and the open events. `orders.py` says what happened,
`write_journals.py` writes them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agentctl.core.history import JournalHistory
from agentctl.core.waits import waits_of
from agentctl.engines.changes import ResumeRequest
from agentctl.records import BugRecord, decode, encode, kind_of
from agentctl.storage.memory import MemoryDisk
from agentctl.testing import Durable, FakeClock

from . import orders
from .test_schedules import bodies, folded, kept_in

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))
from reading_steps import events_of

JOURNALS = sorted(Path(__file__).parent.glob("steps/*/*.journal"))
KINDS_OF_STEPS = {"tried", "attempt", "waiting", "answer", "fired", "retry", "cancel", "dropped"}
ANSWERS = {"str": Raw(b'"blue"'), "bool": Raw(b"false")}
EVERY = pytest.mark.parametrize(
    "path", JOURNALS, ids=lambda path: f"{path.parent.name}-{path.stem}"
)


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    logger = logging.getLogger("agentctl")
    logger.setLevel("CRITICAL")  # what fails there is told each time
    yield
    logger.setLevel("NOTSET")


def seen_in(journal: bytes) -> list[dict[str, Any]]:
    """What there is after each record that changes it."""
    whole, found = bodies(journal), list[dict[str, Any]]()
    for length in range(kept_in(journal) + 1, len(whole) + 1):
        seen = _seen(folded(whole[:length]))
        if not found or seen != {name: found[-1][name] for name in seen}:
            found.append({"after": length, **seen})
    return found


def _seen(history: JournalHistory) -> dict[str, Any]:
    steps: dict[str, Any] = {}
    waits: dict[str, Any] = {}
    for number, event in history.open.items():
        for path, stands in event.steps.items():
            answer = None if stands.answer is None else bytes(stands.answer.value).decode()
            steps[f"{number}-{path}"] = [kind_of(encode(stands.last)), stands.attempt, answer]
        for path, wait in waits_of(event).items():
            waits[f"{number}-{path}"] = [wait.text, wait.type, wait.until_us]
    return {"open": list(history.open), "steps": steps, "waits": waits}


def test_the_golden_journals_hold_every_kind_of_record_of_steps() -> None:
    records = [json.loads(body) for path in JOURNALS for body in path.read_bytes().splitlines()]
    assert {next(iter(record)) for record in records} >= KINDS_OF_STEPS
    members: set[str] = set().union(*records)
    assert members >= {"undoes", "step", "state", "once", "lane", "note", "by", "until", "undo"}


@EVERY
def test_a_journal_of_another_version_says_what_it_said_there_after_every_line(path: Path) -> None:
    recorded = json.loads(path.with_suffix(".json").read_bytes())
    seen = json.loads(json.dumps(seen_in(path.read_bytes())))
    for there, here in zip(recorded, seen, strict=True):
        assert here == there


@EVERY
def test_q8_q14_a_program_takes_over_a_journal_of_another_version_wherever_it_ends(
    path: Path,
) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    orders.Errand.mended = True
    for length in range(kept_in(lines[0]) + 2, len(lines) + 1):
        place = f"/memory/agents/{path.stem}/journal"
        world = _world(place, b"".join(lines[:length]))
        asyncio.run(_go_on(world, path.stem))
        whole = bodies(world.disk.read_file(place))
        assert not [one for one in map(decode, whole) if isinstance(one, BugRecord)]
        history = folded(whole)
        assert not history.open, "it never ended"
        records: list[Mapping[str, Any]] = [json.loads(body) for body in whole]
        for event in events_of(records, history.kept.events).values():
            assert not event.broken(), event.broken()


def _world(place: str, journal: bytes) -> Durable:
    """A world in which a program died that had written this, a minute ago."""
    disk = MemoryDisk()
    disk.put_file(place, journal)
    last_us = max(json.loads(line).get("at", 0) for line in journal.splitlines())
    return Durable(clock=FakeClock(last_us + 60_000_000), disk=disk)


async def _go_on(world: Durable, agent: str) -> None:
    """Answer whatever waits, and let the time pass that the rest needs."""
    bindings = [one for one in orders.bindings() if one.spec.name == agent]
    async with world.host(*bindings, jumps=False) as host:
        for _ in range(20):
            await orders.quiet(host)
            for number, event in list(host.engine.agents[agent].open.items()):
                for path, wait in host.engine.agents[agent].runs[number].waits().items():
                    given = ResumeRequest(
                        agent, "", event.accepted.of, number, None, path, ANSWERS[wait.type]
                    )
                    await host.engine.carry_out(given)
            await orders.quiet(host)
            world.clock.jump()
