"""An invocation that is its own program: nobody runs the agent, so the command does.

It recovers what is unfinished, runs its event, and ends when that and the events of those that
joined it have ended. Never returns: the process ends with the answer's exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agentctl.cli.failures import Failure, write_failure
from agentctl.cli.output import Output
from agentctl.cli.stopping import StopSignals
from agentctl.cli.telling import Teller
from agentctl.engines.port import Ended, InvokeRequest
from agentctl.errors import AgentctlError, DiskTrouble, Locked
from agentctl.hosting import Host
from agentctl.ops import running


@dataclass(frozen=True)
class Telling:
    """How the command tells what came of its event.

    Attributes:
        ended: writes an end, and answers the exit code.
        read: writes what a query said.
    """

    ended: Callable[[Ended], int]
    read: Callable[[bytes], int]


_STAYING: Final = (
    "that event is over; others have joined this program meanwhile, which ends when they have "
    "their answers. Ctrl-C ends it before: theirs go on at the next start"
)


async def invoke_alone(
    signals: StopSignals,
    *,
    asked: InvokeRequest,
    query: bool,
    timeout_s: float | None,
    program: Host,
    teller: Teller,
    output: Output,
    telling: Telling,
) -> int:
    """Run the event in this process, and answer the exit code.

    Raises:
        Locked: another program runs the agent by now.
    """
    import asyncio

    stop_asked = asyncio.Event()
    codes: list[int] = []
    signals.serve(program.begin_stop, stop_asked, program.grace, break_off=program.break_off)

    def answered(answer: running.Answer) -> None:
        if answer.ended is not None:
            codes.append(telling.ended(answer.ended))
            output.flush()

    answer, read = None, b""
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
                        answered=answered,
                        staying=lambda: output.note(_STAYING),
                    )
    except AgentctlError as error:
        if not signals.number or isinstance(error, DiskTrouble | Locked):
            raise
        write_failure(_unasked(signals), output)
        return signals.code
    if answer is None:
        return telling.read(read)
    if codes:
        return codes[0]
    signals.gave_up = True
    failure = _unanswered(answer, timeout_s, signals)
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
