"""The command line as a whole: global flags, the one command that is meant, errors, exit code.

Invariant: whatever happens ends in an exit code of the table in `help exit-codes`, and in three
lines (or one JSON document) on stderr if it isn't 0. Imports only the command that is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from agentctl.cli import table
from agentctl.cli.failures import Failure, failure_of, unexpected, write_failure
from agentctl.cli.options import GlobalOptions, hoist
from agentctl.cli.output import Output
from agentctl.errors import AgentctlError


def main(
    arguments: Sequence[str],
    environ: Mapping[str, str] | None = None,
    *,
    loaded: Callable[[], None] = lambda: None,
) -> int:
    """Run one command and answer its exit code.

    Args:
        loaded: is told when the command's code is loaded, before it does anything.
    """
    environ = os.environ if environ is None else environ
    options = GlobalOptions(format="json" if "--json" in arguments else "text")
    output = Output(options, environ)
    try:
        options, rest = hoist(arguments, environ)
        output = Output(options, environ)
        code = _run(rest, output, loaded)
        output.flush()
    except BrokenPipeError:
        output.abandon()
        return 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost place
        return _end_with(error, output)
    return code


def _end_with(error: BaseException, output: Output) -> int:
    failure = _failure(error)
    try:
        write_failure(failure, output, error)
        output.flush()
    except OSError:  # nobody can be told any more
        output.abandon()
    return failure.code


def _failure(error: BaseException) -> Failure:
    if isinstance(error, AgentctlError):
        return failure_of(error)
    if isinstance(error, KeyboardInterrupt):
        return Failure(130, "interrupted", "Ctrl-C came before the answer was known", "try again")
    return unexpected(error)


def _run(words: Sequence[str], output: Output, loaded: Callable[[], None]) -> int:
    options = output.options
    if options.version:
        _tell_version(output)
        return 0
    if not words or words[0] == "help" or options.help:
        from agentctl.cli.help import write_help

        write_help([word for word in words if word != "help"], output)
        return 0
    command, rest = table.find(words)
    module = command_module(command)
    from agentctl.cli.parsing import parse

    request = parse(module, rest, command)
    loaded()
    code: int = module.execute(request, output)
    return code


def _tell_version(output: Output) -> None:
    from agentctl import __version__

    if not output.options.json:
        output.line(f"agentctl {__version__}")
        return
    from agentctl.ops import documents

    output.document(documents.encode(documents.VersionDocument(__version__)))


def command_module(command: table.Command) -> Any:
    """Import a command's module."""
    return import_module(command.module)
