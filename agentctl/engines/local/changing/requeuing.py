"""Putting set-aside events back, and dropping them (R10).

One batch in the journal decides; the file `set-aside` follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from msgspec import UNSET, Raw

from agentctl.core import set_aside
from agentctl.core.finding import find
from agentctl.core.history import JournalHistory
from agentctl.core.set_aside import SetAsideEvent
from agentctl.engines.changes import (
    Change,
    Dropped,
    DropRequest,
    Requeued,
    RequeuedAll,
    RequeueRequest,
    State,
)
from agentctl.engines.local.changing.ground import Ground, Standing
from agentctl.engines.local.options import random_part
from agentctl.errors import NotFound, UsageError
from agentctl.names import Address
from agentctl.record_moves import AsideRecord, DropRecord
from agentctl.records import Record, decode
from agentctl.value_errors import clean

Answered: TypeAlias = Callable[[Ground, Change, Any], Sequence[Record]]


def requeue(ground: Ground, request: RequeueRequest, answered: Answered) -> RequeuedAll:
    """Put set-aside events back.

    Raises:
        NotFound: there is none, or not this one.
        UsageError: several, and none was named; edited arguments without `fresh`.
    """
    instead = functools.partial(_instead, ground)
    chosen = _choose(ground, request.events, instead, every=request.every)
    if not request.fresh:
        for event in chosen:
            _refuse_edited(event, ground.history)
    done, bodies, numbers = _plan(ground, chosen, request)
    answer = RequeuedAll(tuple(done))
    if request.dry_run:
        return answer
    records = [*map(decode, bodies), *answered(ground, request, answer)]
    ground.commit(records)
    # Crash here: the journal has it; the next start takes the lines out of `set-aside`.
    for event in chosen:
        ground.history.asides.pop(event.number, None)
    _take_out(ground, frozenset(event.number for event in chosen))
    ground.queue_again(numbers)
    return answer


def drop(ground: Ground, request: DropRequest, answered: Answered) -> Dropped:
    """Remove a set-aside event for good.

    Raises:
        NotFound: it isn't set aside.
    """
    _choose(ground, (request.event,), lambda _: None, every=False)
    of = ground.history.asides[request.event].of
    record = DropRecord(request.event, clean(request.reason), of, at=ground.now_us())
    answer = Dropped(str(Address(ground.agent, of, request.event)))
    ground.commit([record, *answered(ground, request, answer)])
    # Crash here: the journal has it; the next start takes the lines out of `set-aside`.
    ground.history.asides.pop(request.event, None)
    _take_out(ground, frozenset([request.event]))
    return answer


def _take_out(ground: Ground, gone: frozenset[int]) -> None:
    # Lines go only once the journal durably says so: else a power cut takes both.
    ground.settle()
    rest = [event for event in _lying(ground) if event.number not in gone]
    ground.store.write_set_aside(set_aside.render(rest))


def _lying(ground: Ground) -> list[SetAsideEvent]:
    return set_aside.parse(ground.store.read_set_aside(), f"{ground.store.path}/set-aside")


def _choose(
    ground: Ground,
    events: Sequence[int],
    instead: Callable[[int], str | None],
    *,
    every: bool,
) -> Sequence[SetAsideEvent]:
    there = {one.number: one for one in _lying(ground) if one.number in ground.history.asides}
    agent = ground.agent
    if not there:
        what = ", ".join(f"{agent}#{number}" for number in events)
        nothing = f"see where its events stand: agentctl invocation list {agent}"
        raise NotFound(
            f"{what} isn't set aside; nothing of {agent} is"
            if what
            else f"nothing of {agent} is set aside",
            hint=next(filter(None, map(instead, events)), nothing),
        )
    known = ", ".join(f"{agent}#{number}" for number in there)
    for number in events:
        if number not in there:
            hint = instead(number) or f"set aside are: {known}"
            raise NotFound(f"{agent}#{number} isn't set aside", hint=hint)
    if events:
        return [there[number] for number in dict.fromkeys(events)]
    if len(there) > 1 and not every:
        raise UsageError(f"several events are set aside: {known}", hint="name one, or give --all")
    return list(there.values())


def _instead(ground: Ground, number: int) -> str | None:
    """What runs an event again that isn't set aside, if anything does."""
    found = find(ground.history, (), event=number, key=None)
    if found is None or found.event is None:
        return None
    idle = found.open and ground.standing(found.event) is Standing.IDLE
    stuck = idle and ground.whole(number).bug is not None
    if not stuck and found.over != State.FAILED:
        return None
    which = Address(ground.agent, found.of, number)
    state = "it is stuck" if stuck else "it failed"
    return f"{state}; run it again with: agentctl invocation retry {which}"


def _plan(
    ground: Ground, chosen: Sequence[SetAsideEvent], request: RequeueRequest
) -> tuple[list[Requeued], list[bytes], list[int]]:
    done: list[Requeued] = []
    bodies: list[bytes] = []
    numbers: list[int] = []
    now_us, fresh_number = ground.now_us(), ground.history.next_event
    for lying in chosen:
        event = lying
        aside = ground.history.asides[event.number]
        was = str(Address(ground.agent, event.of, event.number))
        if request.fresh:
            event = _with_args(event, request.args)
            ground.check_arguments(event.handler, event.args, event.kwargs or UNSET)
            run, nonce = aside if aside.once else None, random_part()
            bodies += set_aside.fresh_bodies(
                event, fresh_number, nonce, now_us, lane=aside.lane, run=run
            )
            done.append(_as_fresh(ground.agent, event, fresh_number, aside))
            numbers.append(fresh_number)
            fresh_number += 1
        else:
            bodies += set_aside.requeue_bodies(event, aside, now_us)
            done.append(Requeued(was, None, ()))
            numbers.append(event.number)
    return done, bodies, numbers


def _with_args(event: SetAsideEvent, args: str | None) -> SetAsideEvent:
    return event if args is None else replace(event, args=Raw(args.encode()), kwargs=None)


def _as_fresh(agent: str, event: SetAsideEvent, number: int, aside: AsideRecord) -> Requeued:
    was = Address(agent, event.of, event.number)
    twice = (*event.finished_calls, *set_aside.calls_under_way(event, aside))
    return Requeued(str(replace(was, event=number)), str(was), twice)


def _refuse_edited(event: SetAsideEvent, history: JournalHistory) -> None:
    gone = sorted(history.asides[event.number].times.keys() - event.outcomes)
    if gone:
        raise UsageError(
            f"the outcomes of {', '.join(gone)} were taken out of set-aside: "
            "what was done would be done again",
            hint="put the lines back; or requeue it as a new event: --fresh",
        )
    if event.edited(history.asides[event.number]):
        raise UsageError(
            f"the line of event {event.number} in set-aside was edited: "
            "its recorded calls belong to what it was before",
            hint="requeue it as a new event: --fresh",
        )
