"""`agentctl invoke`: run one handler and print its result."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Literal, NoReturn

import msgspec
import typer
from msgspec import UNSET, UnsetType

from agentctl.cli.commands.invoking import (
    ArgsOption,
    AtOption,
    FullOption,
    InOption,
    KeyOption,
    LockWaitOption,
    PriorityOption,
    TimeoutOption,
    TriggerOption,
    ZoneOption,
    due_us,
    priority_named,
)
from agentctl.cli.failures import Failure, failure_of_end, users_traceback, write_failure
from agentctl.cli.inputs import duration, lock_wait_s, read_arguments
from agentctl.cli.output import Output
from agentctl.cli.place import find_project, open_desk
from agentctl.cli.telling import Teller, level_of, set_up_logging
from agentctl.engines.desk import Desk
from agentctl.engines.port import Ended, InvokeRequest
from agentctl.errors import UsageError
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.asking import new_id
from agentctl.ops.invoking import Outcome, invoke, trigger
from agentctl.project.model import Project
from agentctl.times import SystemClock, to_rfc3339

EXAMPLES = (
    ("agentctl invoke Bot request 7", "run request(7) of Bot, and print its result"),
    ("agentctl invoke Bot echo text=hello", "an argument by its name"),
    ("agentctl invoke Bot shift -- -5", "an argument that begins with a dash"),
    ("agentctl invoke Bot request --args @arguments.json", "arguments from a file"),
    ("agentctl invoke Bot request 7 --json", "the result with its event, for a program"),
    ("agentctl invoke -i order-7 Bot request 7", "once, however often this is said"),
    ("agentctl invoke -t Bot request 7", "print the event's address, and don't wait for it"),
    ("agentctl invoke -t --in 1h Bot request 7", "the same, to begin in an hour"),
    ("agentctl invoke --priority high Bot request 7", "in front of what queues"),
    ("agentctl invoke -t --at 2099-03-15T10:30:00Z Bot request 7", "to begin then"),
)


@dataclass(frozen=True)
class Request:
    """What to run, and how long to wait.

    Attributes:
        made_key: the idempotency key is one that was made here.
        trigger: don't wait for the end.
    """

    asked: InvokeRequest
    made_key: bool
    trigger: bool
    timeout_s: float | None
    lock_wait_s: float


def parse(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help='Bot, or Poller("my-poller")')],
    handler: Annotated[str, typer.Argument(metavar="HANDLER", help="its method")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARG]...", help="text for a str, else JSON; or name=value"),
    ] = None,
    args: ArgsOption = None,
    key: KeyOption = None,
    trigger_it: TriggerOption = False,
    at: AtOption = None,
    after: InOption = None,
    tz: ZoneOption = None,
    priority: PriorityOption = None,
    if_full: FullOption = "wait",
    timeout: TimeoutOption = None,
    lock_wait: LockWaitOption = "5s",
) -> Request:
    """Run one handler, and print its result as JSON on stdout; a query is read the same way.

    A program that runs the agent runs it; without one the command does, and unfinished events of
    the agent go on meanwhile. What handlers print goes to stderr. See agentctl help arguments.
    """
    if args is not None and words:
        raise UsageError("--args and arguments don't go together", hint="leave one of them out")
    if trigger_it and timeout is not None:
        raise UsageError("--trigger doesn't wait, so it needs no --timeout", hint="leave one out")
    due = due_us(at, after, tz, SystemClock())
    if due is not None and not trigger_it:
        raise UsageError("what begins later isn't waited for", hint="add --trigger")
    address = _instance(agent, handler)
    asked = InvokeRequest(
        address.agent,
        address.identity,
        handler,
        words=() if args is None and words is None else words,
        text=None if args is None else read_arguments(args, objects=True).decode(),
        key=new_id() if key == "-" else key,
        due_us=due,
        priority=priority_named(priority),
        if_full=_if_full(if_full),
        id=new_id(),
    )
    return Request(
        asked,
        key == "-",
        trigger_it,
        None if timeout is None else duration("--timeout", timeout).total_seconds(),
        lock_wait_s(lock_wait),
    )


def _instance(agent: str, handler: str) -> Address:
    address = Address.parse(agent)
    if address.event is not None:
        raise UsageError(
            f"{agent!r} is an event, and an agent is needed",
            hint=f"write: agentctl invoke {Address(address.agent, address.identity)} {handler}",
        )
    return address


def _if_full(text: str) -> Literal["wait", "refuse"]:
    if text == "refuse":
        return "refuse"
    if text == "wait":
        return "wait"
    raise UsageError(f"--if-full can't be {text!r}", hint="it is wait or refuse")


def execute(request: Request, output: Output) -> int:
    """Run it."""
    project = find_project(output)
    project.agent(request.asked.agent)
    desk = open_desk(places.Place(project.root, project), output)
    set_up_logging(output, as_json=output.options.json, level=level_of(output))
    if request.made_key:
        output.trouble(f"idempotency key: {request.asked.key}")
    if request.trigger:
        with output.users_code():
            outcome = trigger(desk, project, request.asked, wait_s=request.lock_wait_s)
    else:
        try:
            outcome = _run(request, project, desk, output)
        except KeyboardInterrupt:
            write_failure(_interrupted(request.asked), output)
            return 130
    return _tell(request, outcome, output)


def _interrupted(asked: InvokeRequest) -> Failure:
    return Failure(
        130,
        "interrupted",
        "Ctrl-C came before the answer; if the event was accepted, the program goes on with it",
        f"see it with: agentctl invocation list {asked.agent}",
    )


def _run(request: Request, project: Project, desk: Desk, output: Output) -> Outcome:
    def alone() -> NoReturn:
        _be_the_program(request, project, output)

    return invoke(
        desk,
        request.asked,
        alone,
        clock=SystemClock(),
        wait_s=request.lock_wait_s,
        timeout_s=request.timeout_s,
    )


def _be_the_program(request: Request, project: Project, output: Output) -> NoReturn:
    from agentctl.cli.alone import Telling, invoke_alone
    from agentctl.cli.programs import run_program
    from agentctl.engines.local.asking.checking import arguments_of
    from agentctl.engines.local.asking.words import handler_signature, is_query
    from agentctl.ops.programs import load_agents, make_program

    asked = request.asked
    with output.users_code():
        agents = load_agents(project, [asked.agent])
        # Before any folder is opened: what can't be accepted leaves nothing behind.
        arguments_of(handler_signature(agents[0].cls, asked.handler), asked)
        teller = Teller(quietly=True)
        program = make_program(
            project,
            agents,
            teller,
            command="agentctl invoke",
            lock_wait_s=0.0,
            schedules=False,  # they would make it go on for ever
        )
    telling = Telling(
        ended=lambda end: _tell_end(request, end, output),
        read=lambda result: _write(request, None, result, output),
    )
    work = functools.partial(
        invoke_alone,
        asked=asked,
        query=is_query(agents[0].cls, asked.handler),
        timeout_s=request.timeout_s,
        program=program,
        teller=teller,
        output=output,
        telling=telling,
    )
    run_program(work, output, passing_on_locked=True)


def _tell(request: Request, outcome: Outcome, output: Output) -> int:
    if outcome.how == "read":
        return _write(request, None, outcome.result or b"null", output)
    if outcome.how == "accepted":
        return _tell_accepted(request, outcome, output)
    if outcome.ended is not None:
        return _tell_end(request, outcome.ended, output, beside=outcome.beside)
    failure = _late(request, outcome)
    write_failure(failure, output)
    return failure.code


def _late(request: Request, outcome: Outcome) -> Failure:
    passed = f"--timeout passed ({request.timeout_s:g} s)"
    if outcome.event is None:
        asked = request.asked
        return Failure(
            124,
            f"the program that runs {asked.agent} doesn't answer",
            f"{passed}; it may accept the event yet",
            "look whether it did before you ask again without an idempotency key: "
            f"agentctl invocation list {asked.agent}",
        )
    event = str(outcome.event)
    return Failure(
        124,
        f"{event} hasn't ended yet",
        f"{passed}; the program that runs it goes on with it",
        f"wait for it with: agentctl invocation wait {event}",
        event,
        "running",
    )


def _tell_accepted(request: Request, outcome: Outcome, output: Output) -> int:
    event = str(outcome.event)
    if output.options.json:
        asked = request.asked
        status, due = _standing(asked.due_us)
        document = documents.InvokeDocument(event, asked.handler, asked.key, status, due=due)
        output.document(documents.encode(document))
    else:
        output.line(event)
    if _is_past(request.asked):
        output.note("its time has passed: it begins at once")
    if not outcome.beside:
        output.note(f"it runs with the next start: agentctl run {request.asked.agent}")
    return 0


def _standing(due: int | None) -> tuple[str, str | UnsetType]:
    """Where an event that was just accepted stands, and when it is due."""
    if due is None or due <= SystemClock().now_us():
        return "queued", UNSET
    return "scheduled", to_rfc3339(due)


def _is_past(asked: InvokeRequest) -> bool:
    """Whether the moment that was asked for is over."""
    return asked.due_us is not None and asked.due_us <= SystemClock().now_us()


def _write(request: Request, event: str | None, result: bytes, output: Output) -> int:
    if output.options.json:
        asked = request.asked
        document = documents.InvokeDocument(
            event, asked.handler, asked.key, "completed", msgspec.Raw(result)
        )
        result = documents.encode(document)
    output.document(result)
    return 0


def _tell_end(request: Request, end: Ended, output: Output, *, beside: bool = False) -> int:
    if end.status == "completed":
        return _write(request, str(end.event), end.result or b"null", output)
    if end.error is not None and end.status == "stuck" and not end.divergence:
        for line in () if output.options.json else users_traceback(end.error):
            output.trouble(line)
    failure = failure_of_end(end, beside=beside)
    write_failure(failure, output)
    return failure.code
