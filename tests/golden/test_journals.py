"""Journals that earlier versions wrote on Python 3.11 replay here, whatever Python this is.

Each lies whole in `journals/<version>/`. Cut after any of its lines it is what a program left that
died there; `write_journals.py` says how they are made.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentctl.records import BugRecord, kind_of
from agentctl.storage.faulty import FaultyDisk
from agentctl.storage.memory import MemoryDisk
from agentctl.testing import FakeClock

from ..replay.bot import EVERY
from ..replay.orders import ALLOWS, heard_in
from ..replay.program import journal_on, live
from ..replay.stage import ENDS, Played, Stage, over_in, unended

JOURNALS = sorted(Path(__file__).parent.glob("journals/*/*.journal"))
PLACE = "/memory/agents/Bot/journal"


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    logger = logging.getLogger("agentctl")
    logger.setLevel("ERROR")  # a task whose error nobody hears is warned of, each time
    yield
    logger.setLevel("NOTSET")


def handler_of(path: Path) -> str:
    return path.stem.rpartition("-")[0]


def disk_with(content: bytes) -> MemoryDisk:
    disk = MemoryDisk()
    disk.put_file(PLACE, content)
    return disk


def records(journal: Sequence[bytes], *kinds: str) -> list[dict[str, Any]]:
    """What stands in the journal's records of these kinds, but for what the machine adds."""
    found = [msgspec.json.decode(body) for body in journal if kind_of(body) in kinds]
    return [{name: one[name] for name in one if name != "up"} for one in found]


def by_call(journal: Sequence[bytes], kind: str) -> list[dict[str, Any]]:
    return sorted(records(journal, kind), key=lambda one: one[kind])


def same(golden: Sequence[bytes], played: Played) -> None:
    """A run in which the same was heard did the same; siblings may have been quicker to ask."""
    heard = ("ok", "error", "fired")
    assert records(played.journal, *heard) == records(golden, *heard)
    # How an end is worded is no promise, nor is the handler's line.
    (end,), (recorded_end,) = records(played.journal, *ENDS), records(golden, *ENDS)
    for name in ("text", "line"):
        end.pop(name, None)
        recorded_end.pop(name, None)
    if "calls" not in recorded_end:
        # 0.1.0 didn't say yet which calls an error came out of.
        failing = {one["error"] for one in records(golden, "error")}
        assert set(end.pop("calls", ())) <= failing
    assert end == recorded_end
    for kind in ("call", "dropped"):
        assert by_call(played.journal, kind) == by_call(golden, kind)


def test_h6_every_handler_has_a_golden_journal() -> None:
    assert {handler_of(path) for path in JOURNALS} == set(EVERY)


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_h6_a_journal_of_another_python_goes_on_to_its_recorded_end(path: Path) -> None:
    handler, golden = handler_of(path), journal_on(disk_with(path.read_bytes()))
    ended = [body for body in golden if kind_of(body) != "stop"]
    for length in range(1, len(unended(golden)) + 1):
        before = golden[:length]
        played = Stage(handler, before).follow(golden)
        assert played.end is not None, f"cut after {length} it waits for ever"
        over = over_in(before)
        assert not [key for key, _ in played.made if key.removeprefix("Bot-1-") in over]
        same(ended, played)


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_h6_a_journal_of_another_python_goes_on_in_another_order(path: Path) -> None:
    handler, golden = handler_of(path), journal_on(disk_with(path.read_bytes()))
    for length in range(1, len(unended(golden)) + 1):
        played = Stage(handler, golden[:length]).play(random.Random(length))
        assert played.end is not None
        record = played.end.record
        assert not (isinstance(record, BugRecord) and record.divergence), record.text
        if handler in ALLOWS:
            status, result = played.outcome
            assert status == "completed"
            assert ALLOWS[handler](result, heard_in(played.journal))


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_h6_a_whole_program_takes_over_a_journal_of_another_python(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    last = next(n for n, line in enumerate(lines) if kind_of(line) in ENDS)
    for length in {2, last // 2, last}:
        disk = FaultyDisk(disk_with(b"".join(lines[:length])))
        before = journal_on(disk.disk)
        clock = FakeClock(msgspec.json.decode(lines[last])["at"])
        life = live(disk, handler_of(path), random.Random(length), clock=clock)
        assert life.end is not None
        assert not life.end.divergence, life.end.text
        over = over_in(before)
        assert not [key for key, _ in life.made if key.removeprefix("Bot-1-") in over]
