"""Changing schedules: set, cancel, pause, resume, and fire once now.

Invariant: what these answer is durable; the same request is asked under one id, so that it is
carried out once. Loads the user's code only to set one where no program has it loaded. Never
prints and never asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.engines.changes import Accepted
from agentctl.engines.desk import Desk, Holder
from agentctl.engines.schedules import (
    FireRequest,
    Paused,
    PauseRequest,
    Scheduled,
    SetRequest,
    Unscheduled,
    UnscheduleRequest,
)
from agentctl.names import Address
from agentctl.ops.asking import new_id
from agentctl.ops.instants import moment
from agentctl.ops.schedule_documents import (
    ScheduleCancelDocument,
    SchedulePauseDocument,
    ScheduleSetDocument,
)
from agentctl.ops.schedules import find_schedule
from agentctl.project.model import Project


@dataclass(frozen=True)
class Outcome:
    """A schedule that is on record.

    Attributes:
        beside: a program runs its agent.
    """

    scheduled: Scheduled
    handler: str
    beside: bool

    @property
    def document(self) -> ScheduleSetDocument:
        """It as a document."""
        done = self.scheduled
        return ScheduleSetDocument(
            done.instance,
            done.name,
            self.handler,
            moment(done.due_us),
            changed=done.changed,
            replaced=done.replaced,
            paused=done.paused,
        )


def set_schedule(desk: Desk, project: Project, request: SetRequest, *, wait_s: float) -> Outcome:
    """Set a schedule.

    Raises:
        NotFound, BadArguments, UsageError, Conflict: nothing was set.
        Locked: a program holds the folder, and doesn't answer.
    """

    def alone() -> Outcome:
        from agentctl.project.loading import load_class

        done = desk.schedule(load_class(project, request.agent), request)
        return Outcome(done, request.handler, beside=False)

    def beside(holder: Holder) -> Outcome:
        return Outcome(holder.schedule(request), request.handler, beside=True)

    return desk.invoke(request.agent, alone, beside, wait_s)


def cancel_schedule(desk: Desk, instance: Address, name: str, *, by: str) -> ScheduleCancelDocument:
    """Cancel a schedule; what it has made already stays.

    Raises:
        NotFound: the agent never ran here.
        Locked: a program holds the folder, and doesn't answer.
    """
    answer = desk.carry_out(
        UnscheduleRequest(instance.agent, new_id(), name, instance.identity, by=by)
    )
    assert isinstance(answer, Unscheduled)
    return ScheduleCancelDocument(answer.answer.value, answer.instance, answer.name)


def pause_schedule(
    desk: Desk, instance: Address, name: str, *, pause: bool, by: str
) -> SchedulePauseDocument:
    """Pause a schedule, or let it fire again.

    Raises:
        NotFound: there is none of this name; with the nearest.
        Locked: a program holds the folder, and doesn't answer.
    """
    find_schedule(desk, instance, name)
    answer = desk.carry_out(
        PauseRequest(instance.agent, new_id(), name, instance.identity, pause=pause, by=by)
    )
    assert isinstance(answer, Paused)
    return SchedulePauseDocument(
        answer.instance,
        answer.name,
        answer.paused,
        answer.changed,
        None if answer.paused else moment(answer.due_us),
        answer.skipped,
    )


def fire_schedule(desk: Desk, instance: Address, name: str, *, by: str) -> tuple[str, str]:
    """Run a schedule's handler once now, beside its grid.

    Returns:
        The event's address, and its handler.

    Raises:
        NotFound: there is none of this name; with the nearest.
        Locked: a program holds the folder, and doesn't answer.
    """
    handler = find_schedule(desk, instance, name).handler
    answer = desk.carry_out(FireRequest(instance.agent, new_id(), name, instance.identity, by=by))
    assert isinstance(answer, Accepted)
    return answer.event, handler
