"""`agentctl invoke`: run one handler and print its result."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import typer

from agentctl.cli.failures import Failure, failure_of_end, users_traceback, write_failure
from agentctl.cli.inputs import duration, lock_wait_s, read_arguments
from agentctl.cli.output import Output
from agentctl.cli.place import find_project
from agentctl.cli.programs import run_program
from agentctl.cli.stopping import StopSignals
from agentctl.cli.telling import Teller, level_of, set_up_logging
from agentctl.engines.port import Ended, InvokeRequest
from agentctl.errors import AgentctlError, DiskTrouble, UsageError
from agentctl.hosting import Host
from agentctl.names import Address
from agentctl.ops import arguments, documents, running
from agentctl.ops.programs import load_agents, make_program

EXAMPLES = (
    ("agentctl invoke Bot request 7", "run request(7) of Bot, and print its result"),
    ("agentctl invoke Bot echo text=hello", "an argument by its name"),
    ("agentctl invoke Bot shift -- -5", "an argument that begins with a dash"),
    ("agentctl invoke Bot request --args @arguments.json", "arguments from a file"),
    ("agentctl invoke Bot request 7 --json", "the result with its event, for a program"),
)


@dataclass(frozen=True)
class Request:
    """What to run, and how long to wait."""

    address: Address
    handler: str
    words: Sequence[str]
    args: bytes | None
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
    args: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON|@FILE|-", help="all arguments at once"),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="DURATION", help="wait no longer; exit code 124"),
    ] = None,
    lock_wait: Annotated[
        str, typer.Option("--lock-wait", metavar="DURATION", help="wait for another program (5s)")
    ] = "5s",
) -> Request:
    """Run one handler, and print its result as JSON on stdout.

    What handlers print goes to stderr. Unfinished events of the agent go on meanwhile. See
    agentctl help arguments.
    """
    if args is not None and words:
        raise UsageError("--args and arguments don't go together", hint="leave one of them out")
    address = Address.parse(agent)
    if address.event is not None:
        raise UsageError(
            f"{agent!r} is an event, and an agent is needed",
            hint=f"write: agentctl invoke {Address(address.agent, address.identity)} {handler}",
        )
    return Request(
        address,
        handler,
        words or (),
        None if args is None else read_arguments(args, objects=True),
        None if timeout is None else duration("--timeout", timeout).total_seconds(),
        lock_wait_s(lock_wait),
    )


def execute(request: Request, output: Output) -> int:
    """Run it."""
    project = find_project(output)
    project.agent(request.address.agent)
    set_up_logging(output, as_json=output.options.json, level=level_of(output))
    with output.users_code():
        agents = load_agents(project, [request.address.agent])
        signature = arguments.handler_signature(agents[0].cls, request.handler)
        given = (
            arguments.from_words(signature, request.words)
            if request.args is None
            else arguments.from_json(signature, request.args.decode())
        )
        asked = InvokeRequest(
            request.address.agent,
            request.address.identity,
            request.handler,
            given.args,
            given.kwargs or None,
        )
        teller = Teller(quietly=True)
        program = make_program(
            project, agents, teller, command="agentctl invoke", lock_wait_s=request.lock_wait_s
        )
    work = functools.partial(
        _invoke,
        asked=asked,
        query=arguments.is_query(agents[0].cls, request.handler),
        timeout_s=request.timeout_s,
        program=program,
        teller=teller,
        output=output,
    )
    return run_program(work, output)


async def _invoke(
    signals: StopSignals,
    *,
    asked: InvokeRequest,
    query: bool,
    timeout_s: float | None,
    program: Host,
    teller: Teller,
    output: Output,
) -> int:
    import asyncio

    stop_asked = asyncio.Event()
    answer, read = None, b""
    signals.serve(program.begin_stop, stop_asked, program.grace)
    try:
        with output.users_code():
            async with program as engine:
                if query:
                    read = await engine.query(asked)
                else:
                    answer = await running.invoke(
                        engine,
                        asked,
                        stop_asked=stop_asked,
                        timeout_s=timeout_s,
                        accepted=teller.own,
                    )
    except AgentctlError as error:
        if not signals.number or isinstance(error, DiskTrouble):
            raise
        write_failure(_unasked(signals), output)
        return signals.code
    if answer is None:
        return _write(None, asked.handler, read, shown_on=output)
    if answer.ended is not None:
        return _tell(answer.ended, output)
    signals.gave_up = True
    failure = _unanswered(answer, timeout_s, signals)
    write_failure(failure, output)
    return failure.code


def _write(event: str | None, handler: str, result: bytes, *, shown_on: Output) -> int:
    if shown_on.options.json:
        document = documents.InvokeDocument(event, handler, None, "completed", msgspec.Raw(result))
        result = documents.encode(document)
    shown_on.document(result)
    return 0


def _tell(end: Ended, output: Output) -> int:
    if end.status == "completed":
        return _write(str(end.event), end.handler, end.result or b"null", shown_on=output)
    if end.error is not None and end.status == "stuck" and not end.divergence:
        for line in () if output.options.json else users_traceback(end.error):
            output.trouble(line)
    failure = failure_of_end(end)
    write_failure(failure, output)
    return failure.code


def _unasked(signals: StopSignals) -> Failure:
    return Failure(
        signals.code,
        "interrupted",
        "the command was interrupted before its event was accepted; nothing of it is on record",
        "run it again",
    )


def _unanswered(answer: running.Answer, timeout_s: float | None, signals: StopSignals) -> Failure:
    event = str(answer.event)
    hint = f"what was finished is on record; go on with: agentctl run {answer.event.agent}"
    if answer.how == "timeout":
        why = f"--timeout passed ({timeout_s:g} s); it goes on at the next start"
        return Failure(124, f"{event} hasn't ended yet", why, hint, event, "running")
    why = f"the command was interrupted before {event} ended; it goes on at the next start"
    return Failure(signals.code, "interrupted", why, hint, event, "running")
