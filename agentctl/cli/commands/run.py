"""`agentctl run`: finish what was cut off, then serve until stopped."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec import UNSET

from agentctl.cli.failures import Failure, write_failure
from agentctl.cli.inputs import duration, lock_wait_s
from agentctl.cli.output import Output
from agentctl.cli.place import find_project
from agentctl.cli.programs import run_program
from agentctl.cli.stopping import StopSignals
from agentctl.cli.telling import Teller, level_of, log, set_up_logging
from agentctl.cli.watched import Watched
from agentctl.errors import UsageError
from agentctl.hosting import Host
from agentctl.names import check_agent_name
from agentctl.ops import places, running
from agentctl.ops.programs import Overrides, load_agents, make_program
from agentctl.project.model import Project

EXAMPLES = (
    ("agentctl run", "run all agents of the project until Ctrl-C"),
    ("agentctl run Bot --grace none", "only Bot; when stopped, wait for its running calls"),
    ("agentctl run --until-idle", "finish what is unfinished, and end"),
    ("agentctl run --until-idle=10s", "the same, and wait for what is due within 10 seconds"),
    ("agentctl run --watch", "while you write: start anew with every save"),
)

# A flag's value belongs behind its `=`: `--until-idle Bot` runs Bot.
VALUE_IF_BARE = {"--until-idle": "0s"}

_TELL_AFTER_S: Final = 0.5
"""Who waits for another program's end for so long wants to know for which."""


@dataclass(frozen=True)
class Request:
    """Whom to run, how, and how long."""

    agents: Sequence[str]
    until_idle_s: float | None
    overrides: Overrides
    lock_wait_s: float
    log_format: str | None
    watch: bool


def parse(
    *,
    agents: Annotated[
        list[str] | None, typer.Argument(metavar="[AGENT]...", help="left out: all")
    ] = None,
    until_idle: Annotated[
        str | None,
        typer.Option(
            "--until-idle",
            metavar="[=DURATION]",
            help="end when nothing is queued, running, or due within DURATION (0s)",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="start anew with every save outside agents/")
    ] = False,
    grace: Annotated[
        str | None,
        typer.Option(
            "--grace", metavar="DURATION", help="what running calls get at the end (5s); or none"
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", min=1, metavar="N", help="events of an agent at once (64)"),
    ] = None,
    lock_wait: Annotated[
        str, typer.Option("--lock-wait", metavar="DURATION", help="wait for another program (5s)")
    ] = "5s",
    log_format: Annotated[
        str | None, typer.Option("--log-format", metavar="text|json", help="lines on stderr (text)")
    ] = None,
) -> Request:
    """Finish what was cut off, then serve events and schedules until stopped.

    Ctrl-C or SIGTERM stops gracefully: running calls get their grace, what is open goes on at the
    next start. A second one ends at once, which is safe. With --watch the program starts anew with
    every save, and calls get a second; what stops it then waits for the next save.
    """
    if log_format not in (None, "text", "json"):
        raise UsageError(f"--log-format can't be {log_format!r}", hint="it is text or json")
    return Request(
        agents=[check_agent_name(name) for name in agents or ()],
        until_idle_s=None
        if until_idle is None
        else duration("--until-idle", until_idle).total_seconds(),
        overrides=Overrides(
            grace=UNSET if grace is None else _grace(grace),
            concurrency=concurrency,
        ),
        lock_wait_s=lock_wait_s(lock_wait),
        log_format=log_format,
        watch=watch,
    )


def _grace(text: str) -> timedelta | None:
    return None if text.strip().lower() == "none" else duration("--grace", text)


def execute(request: Request, output: Output) -> int:
    """Run the agents."""
    project = find_project(output)
    as_json = (request.log_format or ("json" if output.options.json else "text")) == "json"
    set_up_logging(output, as_json=as_json, level=level_of(output))
    watched, teller = Watched.of(os.environ), Teller()
    if watched is not None:
        watched.listen(teller.save_cuts_short)
    elif request.watch:
        return _watch(project)
    program = make_program(
        project,
        load_agents(project, request.agents),
        teller,
        command="agentctl run",
        lock_wait_s=request.lock_wait_s,
        overrides=replace(request.overrides, counts=watched is None or not watched.by_save),
    )
    work = functools.partial(
        _serve,
        request=request,
        folder=project.root / "agents",
        program=program,
        at_most=_no_limit if watched is None else watched.at_most,
        held_up=_held_up(project, request) if output.notes_to_terminal else _no_limit,
        output=output,
    )
    return run_program(work, output)


def _watch(project: Project) -> int:
    from agentctl.cli.watching import watch

    left_out = [project.folder / "agents", project.root / "agents"]
    if project.root_source is not None:
        left_out.append(project.root)
    return watch(project.folder, left_out)


def _held_up(project: Project, request: Request) -> Callable[[], None]:
    """Say which program holds a folder that this one waits for."""

    def tell() -> None:
        desk = places.open_desk(places.Place(project.root, project))
        for agent in request.agents or sorted(project.agents):
            holder = desk.holder(agent)
            if holder is not None and holder.pid != os.getpid():
                wait = f"at most {request.lock_wait_s:g}s"
                log.info("waiting for pid %d (%s), %s", holder.pid, holder.command, wait)
                return

    return tell


def _no_limit() -> None:
    """Calls have the grace of their own."""


async def _serve(
    signals: StopSignals,
    *,
    request: Request,
    folder: Path,
    program: Host,
    at_most: Callable[[], timedelta | None],
    held_up: Callable[[], object],
    output: Output,
) -> int:
    import asyncio

    asked = asyncio.Event()
    signals.serve(
        lambda: program.begin_stop(at_most()), asked, program.grace, break_off=program.break_off
    )
    telling = asyncio.get_running_loop().call_later(_TELL_AFTER_S, held_up)
    async with program as engine:
        telling.cancel()
        if request.until_idle_s is None:
            log.info("serving %s; Ctrl-C stops", folder)
        served = await running.serve(engine, stop_asked=asked, idle_within_s=request.until_idle_s)
    return _tell_end(served, output)


def _tell_end(served: running.Served, output: Output) -> int:
    cut_off, left = served.stopped.cut_off, served.stopped.open
    calls = "1 call was" if cut_off == 1 else f"{cut_off} calls were"
    events = "1 event goes" if left == 1 else f"{left} events go"
    if cut_off or served.asked:
        log.info("stopped: %s cut off; %s on at the next start", calls, events)
    if not served.stuck:
        return 0
    stuck = ", ".join(str(event) for event in served.stuck[:20])
    one = len(served.stuck) == 1
    failure = Failure(
        1,
        f"{'an event is' if one else 'events are'} stuck",
        f"{stuck} stopped at a bug, or no longer does what is on record",
        f"mend the code, and start again; why: agentctl inspect journal {served.stuck[0].agent}",
    )
    write_failure(failure, output)
    return failure.code
