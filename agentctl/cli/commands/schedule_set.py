"""`agentctl schedule set`: run a handler at a time, or again and again, under a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from msgspec import structs

from agentctl.cli.commands.invoking import (
    ArgsOption,
    LockWaitOption,
    PriorityOption,
    priority_named,
)
from agentctl.cli.commands.schedule_options import (
    CronOption,
    EventKeyOption,
    EveryOption,
    FirstOption,
    ForceOption,
    InstanceArgument,
    JitterOption,
    LateOption,
    MissedOption,
    NameOption,
    OnceAtOption,
    OnceInOption,
    OverlapOption,
    ZoneOption,
)
from agentctl.cli.commands.scheduling import Policies, When, timing_of, zone_or_projects
from agentctl.cli.inputs import lock_wait_s, read_arguments
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output
from agentctl.cli.place import find_project, open_desk
from agentctl.cli.schedules_text import wall_time
from agentctl.cli.telling import level_of, set_up_logging
from agentctl.core.timing import check
from agentctl.engines.schedules import SetRequest
from agentctl.errors import UsageError
from agentctl.names import shell_words
from agentctl.ops import documents, places
from agentctl.ops.asking import asker, new_id
from agentctl.ops.schedules import instance_of
from agentctl.ops.scheduling import Outcome, set_schedule
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl schedule set Bot request 7 --name daily --every 1d", "each day, from tomorrow on"),
    (
        "agentctl schedule set Bot request 7 --name report --cron '0 9 * * 1-5' --tz Europe/Berlin",
        "at nine in Berlin, Monday to Friday",
    ),
    (
        "agentctl schedule set Bot request 7 --name spring --at 2099-03-15T10:30:00Z",
        "once, under a name",
    ),
    (
        "agentctl schedule set Bot request 7 --name beat --every 10s --missed skip --max-late 5s",
        "every ten seconds; what was missed is skipped",
    ),
)


@dataclass(frozen=True)
class Request:
    """What to set.

    Attributes:
        made_key: the idempotency key is one that was made here.
    """

    asked: SetRequest
    made_key: bool
    lock_wait_s: float


def parse(
    *,
    agent: InstanceArgument,
    handler: Annotated[str, typer.Argument(metavar="HANDLER", help="its method")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARG]...", help="text for a str, else JSON; or name=value"),
    ] = None,
    name: NameOption,
    args: ArgsOption = None,
    at: OnceAtOption = None,
    after: OnceInOption = None,
    every: EveryOption = None,
    first: FirstOption = None,
    cron: CronOption = None,
    tz: ZoneOption = None,
    missed: MissedOption = None,
    overlap: OverlapOption = None,
    jitter: JitterOption = None,
    max_late: LateOption = None,
    priority: PriorityOption = None,
    key: EventKeyOption = None,
    force: ForceOption = False,
    lock_wait: LockWaitOption = "5s",
) -> Request:
    """Run a handler at a time, or again and again, under a name.

    A name is one schedule of one instance: setting it again replaces it, and the same again changes
    nothing. It fires while a program runs the agent, on the grid of its first time; a time that has
    passed runs at once. Without --tz a cron expression is in the project's tz. See agentctl help
    schedules.
    """
    if args is not None and words:
        raise UsageError("--args and arguments don't go together", hint="leave one of them out")
    made = new_id() if key == "-" else key
    timing = timing_of(
        name,
        When(at=at, after=after, every=every, first=first, cron=cron, tz=tz),
        Policies(missed=missed, overlap=overlap, jitter=jitter, late=max_late, key=made),
        SystemClock(),
    )
    timing = structs.replace(timing, priority=priority_named(priority))
    instance = instance_of(agent)
    asked = SetRequest(
        instance.agent,
        new_id(),
        handler,
        timing,
        instance.identity,
        words=() if args is None and words is None else words,
        text=None if args is None else read_arguments(args, objects=True).decode(),
        force=force,
    )
    return Request(asked, key == "-", lock_wait_s(lock_wait))


def execute(request: Request, output: Output) -> int:
    """Set it."""
    project = find_project(output)
    asked, timing = request.asked, request.asked.timing
    project.agent(asked.agent)
    if timing.cron is not None:
        timing = structs.replace(timing, tz=zone_or_projects(timing.tz, output))
    check(timing)
    asked = structs.replace(asked, timing=timing, by=asker(output.environ))
    desk = open_desk(places.Place(project.root, project), output)
    set_up_logging(output, as_json=output.options.json, level=level_of(output))
    if request.made_key:
        output.trouble(f"idempotency key: {timing.key}")
    with output.users_code():
        outcome = set_schedule(desk, project, asked, wait_s=request.lock_wait_s)
    _tell(asked, outcome, output)
    return 0


def _tell(asked: SetRequest, outcome: Outcome, output: Output) -> None:
    done, now_us = outcome.scheduled, SystemClock().now_us()
    if output.options.json:
        output.document(documents.encode(outcome.document))
    else:
        due = Moments(now_us, relative=output.is_terminal)(done.due_us)
        output.line(f"{done.instance} {done.name} due {due}")
        if (tz := asked.timing.tz) is not None:
            output.note(f"that is {wall_time(done.due_us, tz)}")
    if not done.changed:
        output.note("nothing changed: it was set just so")
    elif done.replaced:
        output.note("it takes the place of the one that had this name")
    if done.paused:
        again = f"agentctl schedule unpause {shell_words(done.instance, done.name)}"
        output.note(f"it is paused, and doesn't fire until: {again}")
    elif done.changed and not asked.timing.recurs and done.due_us <= now_us:
        output.note(_passed(now_us - done.due_us, asked.timing.late_us))
    if not outcome.beside:
        output.note(f"it fires while a program runs: agentctl run {asked.agent}")


def _passed(late_us: int, at_most_us: int | None) -> str:
    if at_most_us is not None and late_us > at_most_us:
        return "its time has passed by more than --max-late: it is missed"
    return "its time has passed: it begins at once"
