"""Cancelled at every delivery, and then killed at every record, a handler ends cancelled (R20, H9).

The cancellation is on record where it was delivered, among the results; from any beginning of that
record the handler cleans up as it did, and no clean-up on record is made again. Not even a handler
that swallows it completes, and none is ever told of a divergence.
"""

from __future__ import annotations

import logging
import os
import random

import pytest

from agentctl.records import BugRecord, kind_of

from .cancelled_bot import EVERY_CANCELLED, CancelledBot
from .stage import DELIVERIES, Played, Stage, over_in, unended

SEEDS = int(os.environ.get("AGENTCTL_REPLAY_SEEDS", "200"))
STRIDE = int(os.environ.get("AGENTCTL_REPLAY_STRIDE", "6"))


def play(handler: str, before: list[bytes], seed: object, at: int | None = None) -> Played:
    stage = Stage(handler, before, agent=CancelledBot)
    return stage.play(random.Random(str(seed)), cancel_at=at)


def check(before: list[bytes], after: Played, made_before: dict[str, str]) -> None:
    """Hold a run, begun over the records `before`, in which the cancellation is on record."""
    assert after.end is not None, "the handler waits for ever"
    record = after.end.record
    assert not isinstance(record, BugRecord), record.text
    assert after.outcome[0] == "cancelled", after.outcome
    again = [key for key, _ in after.made if key.partition("-1-")[2] in over_in(before)]
    assert not again, f"made again: {again}"
    keys = [key for key, _ in after.made]
    assert len(set(keys)) == len(keys), "a key was used twice"
    for key, what in after.made:
        assert made_before.get(key, what) == what, f"{key} was {made_before[key]!r} before"


def check_end(handler: str, played: Played) -> None:
    """What is on record gives the same end again, without a call and without a new record."""
    again = play(handler, unended(played.journal), "again")
    assert again.outcome == played.outcome
    assert again.made == []
    assert again.essential == played.essential


def cancel_everywhere(handler: str, seed: int) -> int:
    whole = play(handler, [], seed)
    deliveries = sum(kind_of(body) in DELIVERIES for body in whole.journal)
    restarts = 0
    for at in range(seed % STRIDE, deliveries, STRIDE):
        cancelled = play(handler, [], seed, at)
        check([], cancelled, {})
        check_end(handler, cancelled)
        kinds = [kind_of(body) for body in cancelled.journal]
        made = dict(cancelled.made)
        rest = range(kinds.index("cancel") + 1, len(unended(cancelled.journal)) + 1)
        for length in rest[seed % 3 :: 3]:
            before = cancelled.journal[:length]
            second = play(handler, before, f"{seed} {at} {length}")
            check(before, second, asked_in(before, made))
            check_end(handler, second)
            restarts += 1
    return restarts


def asked_in(journal: list[bytes], made: dict[str, str]) -> dict[str, str]:
    """What was made, of the calls that are on record."""
    asked = {body.split(b'"')[3].decode() for body in journal if kind_of(body) == "call"}
    return {key: what for key, what in made.items() if key.partition("-")[2] in asked}


@pytest.mark.parametrize("handler", EVERY_CANCELLED)
def test_r20_a_cancellation_at_any_delivery_is_replayed_to_the_same_end(handler, record_property):
    logger = logging.getLogger("agentctl")
    logger.setLevel("CRITICAL")  # of clean-up that fails it says so, each time
    try:
        restarts = sum(cancel_everywhere(handler, seed) for seed in range(SEEDS))
    finally:
        logger.setLevel("NOTSET")
    record_property("restarts", restarts)
    assert restarts >= SEEDS // 2


@pytest.mark.parametrize("handler", EVERY_CANCELLED)
def test_r20_a_cancellation_left_where_nobody_runs_it_is_delivered_at_the_next_start(handler):
    """On record behind any record of an event that executed, without its code having heard it."""
    logger = logging.getLogger("agentctl")
    logger.setLevel("CRITICAL")
    try:
        for seed in range(0, SEEDS, 10):
            whole = play(handler, [], seed)
            records = unended(whole.journal)
            for length in range(2 + seed // 10 % 2, len(records) + 1, 2):
                before = [*records[:length], cancel_behind(records[:length])]
                after = play(handler, before, f"{seed} {length}")
                check(before, after, asked_in(records[:length], dict(whole.made)))
                check_end(handler, after)
    finally:
        logger.setLevel("NOTSET")


def cancel_behind(records: list[bytes]) -> bytes:
    from agentctl.record_moves import CancelRecord
    from agentctl.records import encode

    from .stage import read

    return encode(CancelRecord(1, at=read(records).latest_us))
