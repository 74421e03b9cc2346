"""A program that the command itself is: signals, logging, its end.

Invariant: once agents run, the process ends by `os._exit` after the last sync, with the exit code
of the answer or of the error. Never decides what the program does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeAlias

from agentctl.cli.failures import failure_of, unexpected, write_failure
from agentctl.cli.output import Output
from agentctl.cli.stopping import StopSignals, end_now
from agentctl.errors import AgentctlError, Locked

Work: TypeAlias = Callable[["StopSignals"], Awaitable[int]]
"""Runs the agents to the end, and answers the exit code."""


def run_program(work: Work, output: Output, *, passing_on_locked: bool = False) -> NoReturn:
    """Run agents, and end the process with the answer's exit code.

    Args:
        passing_on_locked: that another program runs them is for the caller to make good.

    Raises:
        Locked: another program runs them; only if the caller wants to know.
    """
    import asyncio

    signals = StopSignals()
    signals.install()
    asyncio.run(_to_the_end(work, signals, output, passing_on_locked=passing_on_locked))
    raise AssertionError("the process ends before this")


async def _to_the_end(
    work: Work, signals: StopSignals, output: Output, *, passing_on_locked: bool
) -> None:
    try:
        code = await work(signals)
    except AgentctlError as error:
        if passing_on_locked and isinstance(error, Locked):
            raise
        code = _report(error, output)
    except BrokenPipeError:
        output.abandon()
        code = 0
    except Exception as error:  # noqa: BLE001 - the outermost place
        failure = unexpected(error)
        write_failure(failure, output, error)
        code = failure.code
    signals.end_children()
    end_now(code)


def _report(error: AgentctlError, output: Output) -> int:
    failure = failure_of(error)
    write_failure(failure, output, error)
    return failure.code
