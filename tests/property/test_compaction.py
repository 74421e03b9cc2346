"""A journal that is written anew while it grows says what it said before, wherever it is cut.

The machine of test_model.py makes the journals: with crashes, retries, cancels, requeues,
deletions. Of each, what a program may write anew stands before a random end of an append; behind
it follows the rest, as it was.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings

from agentctl.core.compaction import Keeping, compacted
from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.records import decode, kind_of
from agentctl.storage.files import frame
from agentctl.storage.files.appending import Appending

from .test_model import NIGHTLY, Machine


def fold(bodies: list[bytes], keep: int) -> JournalHistory:
    history = JournalHistory(keep=keep)
    for body in bodies:
        history.fold(kind_of(body), decode(body), body)
    history.end()
    return history


def said(history: JournalHistory) -> dict[str, Any]:
    """What must be the same, for whoever goes on from there."""
    return {
        "open": {number: of_event(event) for number, event in history.open.items()},
        "states": history.states,
        "outcomes": history.outcomes,
        "answered": dict(history.answered),
        "asides": history.asides,
        "requeuing": sorted(history.requeuing),
        "next": history.next_event,
        "keys": history.keys,
        "asked": history.asked,
        "untold": history.kept.untold,
        "stopping": history.stopping,
        "schedules": history.schedules.live,
        "gone": history.schedules.gone,
        "owed": history.owed,
    }


def of_event(event: EventHistory) -> dict[str, Any]:
    return {name: getattr(event, name) for name in EventHistory.__slots__}


def anew(before: list[bytes], keep: int, now_us: int) -> list[bytes]:
    """What a running program replaces these records by."""
    history = fold(before, keep)
    assert history.header is not None
    header = msgspec.structs.replace(
        history.header,
        next=history.next_event,
        open=len(history.open),
        start=False,
        cut=None,
        since=1,
        since_crc="00000000",
        at=max(now_us, history.latest_us),
    )
    return compacted(history, header, Keeping())


def check(bodies: list[bytes], cut: int, keep: int, now_us: int = 0) -> None:
    whole = fold(bodies, keep)
    short = fold([*anew(bodies[:cut], keep, now_us), *bodies[cut:]], keep)
    assert said(short) == said(whole)
    # One may be kept a little longer: a retry took another one out from among the last ones.
    for number, event in whole.kept.events.items():
        assert of_event(short.kept.events[number]) == of_event(event)


class Compacted(Machine):
    """The same life; at each look, its journals are cut."""

    tried = 0

    def __init__(self) -> None:
        super().__init__()
        self.ends: set[int] = set()
        self.chance = random.Random(7)
        self.plain = Appending.append
        ends, plain = self.ends, self.plain

        def append(file: Appending, bodies: Any, *, ending: bool = False) -> int:
            place = plain(file, bodies, ending=ending)
            ends.add(file.crc)
            return place

        Appending.append = append  # type: ignore[method-assign]

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            Appending.append = self.plain  # type: ignore[method-assign]

    def look(self) -> None:
        super().look()
        for content in self.durable.journals.values():
            self.cut(content)

    def cut(self, content: bytes) -> None:
        lines = content.splitlines()
        bodies: list[bytes] = []
        cuts: list[int] = []
        for line in lines:
            body = frame.unseal(line)
            if body is not None:
                if kind_of(body) in ("stopping", "stop"):
                    cuts.append(len(bodies))
                    break  # a program that stops doesn't begin to write anew
                bodies.append(body)
            if int(line[-10:-2], 16) in self.ends:
                cuts.append(len(bodies))
        all_of_it = [body for line in lines if (body := frame.unseal(line)) is not None]
        carried_over = 1 + decode(all_of_it[0]).kept  # type: ignore[union-attr]
        cuts = [cut for cut in cuts if cut >= carried_over]
        for keep in (0, 1, 3):
            for cut in self.chance.sample(cuts, min(2, len(cuts))):
                check(all_of_it, cut, keep)
                type(self).tried += 1


Compacted.TestCase.settings = settings(
    max_examples=2000 if NIGHTLY else 100,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class TestCompacted(Compacted.TestCase):
    @pytest.mark.timeout(36_000 if NIGHTLY else 300)
    def runTest(self) -> None:
        super().runTest()
        assert Compacted.tried > 1000
