"""Killed after every record, under 200 seeds each, a handler goes on exactly where it stopped.

Every beginning of a journal is a death: after a kill it ends where the last write ended, after a
power cut somewhere before. From there the event is started anew, and everything that is still to
come then comes in another order and at other times.

To save time each seed dies at every sixth record, another one than the seed before it. Set
AGENTCTL_REPLAY_STRIDE=1 for every record of every seed, AGENTCTL_REPLAY_SEEDS for more seeds.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable

import pytest

from agentctl.records import BugRecord

from .bot import EVERY
from .orders import ALLOWS, heard_in
from .stage import Played, Stage, over_in, unended

Record = Callable[[str, object], None]
SEEDS = int(os.environ.get("AGENTCTL_REPLAY_SEEDS", "200"))
STRIDE = int(os.environ.get("AGENTCTL_REPLAY_STRIDE", "6"))
FAIL = ("h10_declared", "h10_key_error")


def check(handler: str, before: list[bytes], after: Played, made_before: dict[str, str]) -> None:
    """Hold one run, begun over the records `before`, against what was promised."""
    assert after.end is not None, "the handler waits for ever"
    record = after.end.record
    assert not (isinstance(record, BugRecord) and record.divergence), record.text
    over = over_in(before)
    again = [key for key, _ in after.made if key.removeprefix("Bot-1-") in over]
    assert not again, f"made again: {again}"
    keys = [key for key, _ in after.made]
    assert len(set(keys)) == len(keys), "a key was used twice"
    for key, what in after.made:
        assert made_before.get(key, what) == what, f"{key} was {made_before[key]!r} before"
    status, result = after.outcome
    if handler not in FAIL:
        assert status == "completed", result
        heard = heard_in(after.journal)
        assert ALLOWS.get(handler, _anything)(result, heard), f"{result} from {heard}"


def _anything(_result: object, _heard: list[str]) -> bool:
    return True


def check_end(handler: str, played: Played) -> None:
    """What is on record gives the same end again, without a call and without a new record."""
    again = Stage(handler, unended(played.journal)).play(random.Random(0))
    assert again.outcome == played.outcome
    assert again.made == []
    assert again.essential == played.essential


def restart_often(handler: str, seed: int) -> int:
    whole = Stage(handler).play(random.Random(seed))
    check(handler, [], whole, {})
    check_end(handler, whole)
    made = dict(whole.made)
    restarts = 0
    for length in range(1 + seed % STRIDE, len(unended(whole.journal)) + 1, STRIDE):
        before = whole.journal[:length]
        known = {key: what for key, what in made.items() if _is_asked(before, key)}
        chance = random.Random(f"{seed} {length}")
        second = Stage(handler, before).play(chance)
        check(handler, before, second, known)
        restarts += 1
        if chance.random() < 0.2:
            longer = second.journal[: chance.randint(length, len(unended(second.journal)))]
            third = Stage(handler, longer).play(chance)
            check(handler, longer, third, known)
            check_end(handler, third)
            restarts += 1
    return restarts


def _is_asked(journal: list[bytes], key: str) -> bool:
    begins = b'{"call":"%b"' % key.removeprefix("Bot-").encode()
    return any(body.startswith(begins) for body in journal)


def everywhere(handler: str, record: Record) -> None:
    logger = logging.getLogger("agentctl")
    logger.setLevel("ERROR")  # a task whose error nobody hears is warned of, each time
    try:
        restarts = sum(restart_often(handler, seed) for seed in range(SEEDS))
    finally:
        logger.setLevel("NOTSET")
    record("restarts", restarts)
    assert restarts >= SEEDS // 2


def those(case: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("handler", [one for one in EVERY if one.startswith(case + "_")])


@those("h1")
def test_h1_three_lines_in_gather_of_which_one_fails(handler: str, record_property: Record) -> None:
    everywhere(handler, record_property)


@those("h2")
def test_h2_the_first_of_a_race_stays_the_first_and_losers_make_no_call_again(
    handler: str, record_property: Record
) -> None:
    everywhere(handler, record_property)


@those("h3")
def test_h3_the_sets_that_wait_returns_iterate_alike(handler: str, record_property: Record) -> None:
    everywhere(handler, record_property)


@those("h4")
def test_h4_as_completed_gives_the_same_order_again(handler: str, record_property: Record) -> None:
    everywhere(handler, record_property)


@those("h5")
def test_h5_task_groups_fail_and_clean_up_alike(handler: str, record_property: Record) -> None:
    everywhere(handler, record_property)


@those("h6")
def test_h6_limits_of_time_nested_in_each_other_fire_alike(
    handler: str, record_property: Record
) -> None:
    everywhere(handler, record_property)


@those("h7")
def test_h7_queues_generators_and_lost_tasks_go_on_alike(
    handler: str, record_property: Record
) -> None:
    everywhere(handler, record_property)


@those("h10")
def test_h10_errors_in_a_task_group_end_the_event_alike(
    handler: str, record_property: Record
) -> None:
    everywhere(handler, record_property)
