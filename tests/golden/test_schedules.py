"""Journals with schedules that earlier versions wrote are read here as they were read there.

Beside each lies what the version that wrote it made of it, after every line: the schedules with
their due times, and the open events. `rota.py` says what happened, `write_journals.py` writes them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agentctl.core.history import JournalHistory
from agentctl.records import KINDS, BugRecord, EventRecord, decode, kind_of
from agentctl.storage.memory import MemoryDisk
from agentctl.testing import Durable, FakeClock

from . import rota

JOURNALS = sorted(Path(__file__).parent.glob("schedules/*/*.journal"))
ROTA = [path for path in JOURNALS if path.stem == "Rota"]
PLACE = "/memory/agents/Rota/journal"
HOUR_US = 3_600_000_000
KINDS_OF_SCHEDULES = {"schedule", "skipped", "unschedule", "paused", "resumed", "missed"}
CALLS = {"trigger", "schedule", "cancel", "result", "schedules"}
EVERY = pytest.mark.parametrize(
    "path", JOURNALS, ids=lambda path: f"{path.parent.name}-{path.stem}"
)


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    logger = logging.getLogger("agentctl")
    logger.setLevel("CRITICAL")  # what was missed, or asks for what Desk forgot, is told each time
    yield
    logger.setLevel("NOTSET")


def bodies(journal: bytes) -> list[bytes]:
    lines = [line[: line.rindex(b',"crc"')] + b"}" for line in journal.splitlines()]
    return [body for body in lines if kind_of(body) in KINDS]


def folded(journal: list[bytes]) -> JournalHistory:
    history = JournalHistory()
    for body in journal:
        history.fold(kind_of(body), decode(body), body)
    history.end()
    return history


def seen_in(journal: bytes) -> list[dict[str, Any]]:
    """What there is after each record that changes it: schedules, and the open events."""
    whole = bodies(journal)
    found: list[dict[str, Any]] = []
    for length in range(kept_in(journal) + 1, len(whole) + 1):
        history = folded(whole[:length])
        seen = {
            "schedules": {
                "/".join((*of, name)): [one.due, *(["paused"] if one.paused else [])]
                for (of, name), one in history.schedules.live.items()
            },
            "open": list(history.open),
        }
        if not found or seen != {"schedules": found[-1]["schedules"], "open": found[-1]["open"]}:
            found.append({"after": length, **seen})
    return found


def kept_in(journal: bytes) -> int:
    """How many records a rewrite had carried over: a journal never ends among them."""
    kept: int = json.loads(journal.splitlines()[0]).get("kept", 0)
    return kept


def test_the_golden_journals_hold_every_kind_of_record_and_call_of_schedules() -> None:
    kinds: set[str] = set()
    calls: set[str] = set()
    members: set[str] = set()
    for path in JOURNALS:
        for body in bodies(path.read_bytes()):
            record = json.loads(body)
            kinds.add(kind_of(body))
            members |= record.keys()
            if kind_of(body) == "call":
                calls.add(record["fn"])
    assert kinds >= KINDS_OF_SCHEDULES
    assert calls >= CALLS
    assert members >= {"beside", "note", "owed", "next", "seed", "jitter", "late", "why"}


@EVERY
def test_a_journal_of_another_version_says_what_it_said_there_after_every_line(path: Path) -> None:
    recorded = json.loads(path.with_suffix(".json").read_bytes())
    seen = json.loads(json.dumps(seen_in(path.read_bytes())))
    for there, here in zip(recorded, seen, strict=True):
        assert here == there


@pytest.mark.parametrize("path", ROTA, ids=lambda path: path.parent.name)
def test_a_program_takes_over_a_journal_of_another_version_wherever_it_ends(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for length in range(kept_in(lines[0]) + 2, len(lines) + 1, 13):
        world = _world(b"".join(lines[:length]))
        settings = rota.bindings()[0].settings
        world.pass_time(rota.Rota, timedelta(hours=1), settings=settings)
        whole = [decode(body) for body in bodies(world.disk.read_file(PLACE))]
        assert not [one for one in whole if isinstance(one, BugRecord)]
        events = [one for one in whole if isinstance(one, EventRecord) and one.moves]
        fired = [(one.of, one.schedule, one.occurrence) for one in events]
        assert len(fired) == len(set(fired)), "a due time ran twice"
        assert not [one for one in events if one.at < (one.occurrence or 0)], "one ran early"
        assert [one for one in events if one.at > world.clock.now_us() - HOUR_US], "none ran"


def _world(journal: bytes) -> Durable:
    """A world in which a program died that had written this, a minute ago."""
    disk = MemoryDisk()
    disk.put_file(PLACE, journal)
    last_us = max(json.loads(line).get("at", 0) for line in journal.splitlines())
    return Durable(clock=FakeClock(last_us + 60_000_000), disk=disk)
