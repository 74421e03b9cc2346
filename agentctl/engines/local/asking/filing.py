"""Bringing schedules in line with `kavach.toml`: set, changed, and cancelled if gone from it (R18).

All of it is decided before the first is set: a name that another source has taken stops the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentctl.core.setting import Wish, decide
from agentctl.engines.local.changing.live import LiveGround
from agentctl.engines.local.options import random_part
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.record_schedules import ScheduleRecord, UnscheduleRecord

FILE = "kavach.toml"


def bring_in_line(agents: Mapping[str, AgentRuntime], wishes: Mapping[str, Sequence[Wish]]) -> None:
    """Set what the file says, and cancel what it said before and says no longer.

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
            # Crash here: any first part of them counts; the next start does the rest.
            for record in records:
                ground.take(record)


def _changes(
    ground: LiveGround, wishes: Sequence[Wish]
) -> Sequence[ScheduleRecord | UnscheduleRecord]:
    live, now_us = ground.history.schedules.live, ground.now_us()
    wanted = {(wish.identity, wish.timing.name): wish for wish in wishes}
    changes: list[ScheduleRecord | UnscheduleRecord] = [
        UnscheduleRecord(known.schedule, known.of, known.due, FILE, at=now_us)
        for at, known in live.items()
        if known.source == "file" and at not in wanted
    ]
    for wish in wishes:
        record = wish.record(random_part(), now_us)
        known = live.get((record.of, record.schedule))
        anchored = wish.timing.anchored
        decided = decide(ground.agent, known, record, anchored=anchored, force=False)
        if decided is not None:
            changes.append(decided)
    return changes
