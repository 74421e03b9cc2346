"""Bringing schedules in line with `kavach.toml`: set, changed, and cancelled if gone from it (R18).

All of it is decided before the first is set: a name that another source has taken stops the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentctl.core.setting import Wish, decide, taken
from agentctl.engines.local.changing.live import LiveGround
from agentctl.engines.local.options import random_part
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.names import format_instance, shell_words
from agentctl.record_schedules import ScheduleRecord, UnscheduleRecord
from agentctl.times import to_rfc3339

FILE = "kavach.toml"


def bring_in_line(agents: Mapping[str, AgentRuntime], wishes: Mapping[str, Sequence[Wish]]) -> None:
    """Set what the file says, and cancel what it said before and says no longer, durably.

    Raises:
        Conflict: another source has set one of these names; nothing was changed.
    """
    changes = {
        name: _changes(LiveGround(runtime), wishes.get(name, ()))
        for name, runtime in agents.items()
    }
    for name, records in changes.items():
        if records:
            ground = LiveGround(agents[name])
            ground.commit(records)
            agents[name].durable_soon()
            # Crash here: any first part of them counts; the next start does the rest.
            for record in records:
                ground.take(record)
            # Else nothing asks for a sync before the first of them fires, which may be long.
            ground.settle()
            agents[name].durable_soon()  # which writes the audit lines


def _changes(
    ground: LiveGround, wishes: Sequence[Wish]
) -> Sequence[ScheduleRecord | UnscheduleRecord]:
    live, now_us = ground.history.schedules.live, ground.now_us()
    wanted = {(wish.identity, wish.timing.name or ""): wish for wish in wishes}
    over = {at for at, wish in wanted.items() if _is_over(wish, live.get(at), now_us)}
    changes: list[ScheduleRecord | UnscheduleRecord] = [
        UnscheduleRecord(known.schedule, known.of, known.due, FILE, at=now_us)
        for at, known in live.items()
        if known.source == "file" and (at not in wanted or at in over)
    ]
    for at, wish in wanted.items():
        if at in over:
            _warn_that_it_is_over(ground, wish)
            continue
        record, known = wish.record(random_part(), now_us), live.get(at)
        if known is not None and known.source == "shell":
            # A person's own doing, perhaps by force: it stands until a person takes it away.
            _warn_of_the_shells(ground, known)
            continue
        anchored = wish.timing.anchored
        decided = decide(ground.agent, known, record, anchored=anchored, force=False)
        if decided is not None:
            changes.append(decided)
    return changes


def _warn_of_the_shells(ground: LiveGround, known: ScheduleRecord) -> None:
    cancel = shell_words(format_instance(ground.agent, known.of), known.schedule)
    ground.warn(
        f"{taken(ground.agent, known, 'file').message}; that one goes on; to have the file's: "
        f"agentctl schedule cancel {cancel}, and start anew"
    )


def _is_over(wish: Wish, known: ScheduleRecord | None, now_us: int) -> bool:
    """Whether a single run's time was over before it was set; or after, and it ran then.

    One that is set for just then hasn't run: it was due while no program ran.
    """
    due_us = wish.timing.due_us
    if wish.timing.recurs or due_us is None or due_us > now_us:
        return False
    return known is None or known.due != due_us


def _warn_that_it_is_over(ground: LiveGround, wish: Wish) -> None:
    assert wish.timing.due_us is not None
    ground.warn(
        f"schedules.{wish.timing.name}: its time, {to_rfc3339(wish.timing.due_us)}, is over; it "
        "isn't set: take it out of kavach.toml"
    )
