"""A command's own flags: from words to its request, by typer; and the help that shows them.

Invariant: whatever the words are, the answer is the request that `parse` makes, or a UsageError.
Every option also has an environment variable, AGENTCTL_ and its name. Never runs a command.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import typer
from typer.exceptions import TyperException

from agentctl.cli.layout import pair, usage
from agentctl.cli.options import GLOBAL_FLAGS
from agentctl.cli.table import Command
from agentctl.errors import UsageError
from agentctl.names import is_utf8


def parse(module: Any, words: Sequence[str], command: Command) -> Any:
    """Read a command's words as its module's `parse` declares them.

    `VALUE_IF_BARE` in the module gives options that may stand without a value the one they mean;
    `TAKES_PATHS` says that words may be paths, which stay as the system has them.

    Raises:
        UsageError: they don't fit.
    """
    made = typer_command(module.parse)
    given = _filled_in(words, getattr(module, "VALUE_IF_BARE", {}))
    if not getattr(module, "TAKES_PATHS", False):
        given = [_as_text(word) for word in given]
    try:
        return made.main(args=given, prog_name=f"agentctl {command.name}", standalone_mode=False)
    except TyperException as error:
        raise _usage_error(error, words, command) from None


def _filled_in(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    end = words.index("--") if "--" in words else len(words)
    filled = [f"{word}={values[word]}" if word in values else word for word in words[:end]]
    return [*filled, *words[end:]]


def _as_text(word: str) -> str:
    """Read a word as UTF-8, whatever the locale made of it; the name of a file stays as it is."""
    if is_utf8(word) or word.removeprefix("--args=").startswith("@"):
        return word
    try:
        return os.fsencode(word).decode()
    except UnicodeError:
        raise UsageError(f"{word[:80]!r} isn't UTF-8", hint="write it as UTF-8") from None


def typer_command(function: Callable[..., Any]) -> Any:
    """Make typer's command of a `parse` function."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(add_help_option=False)(function)
    made = typer.main.get_command(app)
    for option in options_of(made):
        longest = max(option.opts, key=len)
        option.envvar = f"AGENTCTL_{longest.lstrip('-').upper().replace('-', '_')}"
    return made


def options_of(made: Any) -> list[Any]:
    """The options among a command's parameters."""
    return [param for param in made.params if param.param_type_name == "option"]


def _usage_error(error: TyperException, words: Sequence[str], command: Command) -> UsageError:
    message = error.format_message().rstrip(".")
    hint = f"agentctl {command.name} {command.usage}".rstrip()
    option = getattr(error, "option_name", "")
    if "--" not in words and option[1:2].isdigit():
        hint = f"what begins with a dash comes behind --: agentctl {command.name} … -- {option}"
    elif near := get_close_matches(option, _flags_near(error), n=1, cutoff=0.6):
        hint = f"did you mean {near[0]}? agentctl {command.name} --help lists them"
    else:
        hint = f"write: {hint}; agentctl {command.name} --help says more"
    return UsageError(message[:1].lower() + message[1:], hint=hint)


def _flags_near(error: TyperException) -> list[str]:
    """The flags that could be meant: the command's own that come near, and the global ones."""
    return [*(getattr(error, "possibilities", None) or ()), *GLOBAL_FLAGS]


def help_lines(module: Any, command: Command, width: int) -> Iterator[str]:
    """Write a command's help: examples first."""
    yield "Examples:"
    for example, meaning in module.EXAMPLES:
        yield from pair(example, meaning, width)
    yield ""
    yield from usage(f"{command.name} {command.usage}".rstrip(), width)
    yield ""
    yield from textwrap.wrap(" ".join((module.parse.__doc__ or "").split()), width)
    made = typer_command(module.parse)
    arguments = [param for param in made.params if param.param_type_name == "argument"]
    if arguments:
        yield from ("", "Arguments:")
        for param in arguments:
            yield from pair(param.make_metavar(typer.Context(made)), param.help or "", width)
    yield from ("", "Options:")
    for param in options_of(made):
        yield from pair(_declaration(param), param.help or "", width)
    yield from pair("-h, --help", "this text; global flags: agentctl help flags", width)


def _declaration(param: Any) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {param.metavar or 'TEXT'}"
