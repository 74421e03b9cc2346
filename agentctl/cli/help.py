"""Help: of everything, of a group, of a command, of a topic.

Invariant: everything but a command's own help is written without typer, so that it is quick, and
from the one table of commands, so that it can't differ. Says nothing that isn't built.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Final

from agentctl.cli import table
from agentctl.cli.layout import narrowed, pair, usage
from agentctl.cli.output import Output
from agentctl.cli.topics import TOPICS
from agentctl.errors import UsageError

_EXAMPLES: Final = (
    ("agentctl new shop", "make a project that runs"),
    ("agentctl invoke Bot request 7", "run one handler, and print its result"),
    ("agentctl run", "finish what was cut off, then serve until stopped"),
    ("agentctl inspect journal Bot", "see what happened"),
)


def write_help(words: Sequence[str], output: Output) -> None:
    """Write the help that the words ask for.

    Raises:
        UsageError: there is no such command or topic.
    """
    lines = _lines(words, output.width)
    if output.options.json:
        from agentctl.ops import documents

        text = "".join(f"{line}\n" for line in lines)
        output.document(documents.encode(documents.HelpDocument(" ".join(words), text)))
        return
    for line in lines:
        output.line(line)


def _lines(words: Sequence[str], width: int) -> Iterator[str]:
    if not words:
        return _everything(width)
    if words[0] in TOPICS:
        return narrowed(TOPICS[words[0]].text, width)
    group = table.group_of(words[0])
    if group and len(words) == 1 and len(group[0].words) > 1:
        return _group(words[0], group, width)
    from agentctl.cli.parsing import help_lines

    if not group:
        raise _unknown(words[0])
    command, _ = table.find(words)
    module = import_module(command.module)
    return help_lines(module, command, width)


def _unknown(word: str) -> UsageError:
    known = {*TOPICS, *(command.words[0] for command in table.COMMANDS)}
    error = table.unknown(f"there is no topic or command {word!r}", word, known)
    near = "" if table.is_list(error.hint) else f"{error.hint} "
    error.hint = f"{near}the topics are: {', '.join(TOPICS)}; agentctl help lists the commands, too"
    return error


def _everything(width: int) -> Iterator[str]:
    yield "Examples:"
    for example, meaning in _EXAMPLES:
        yield from pair(example, meaning, width)
    yield ""
    yield from usage("COMMAND [ARGUMENT]...", width)
    yield from ("", "Commands:")
    for command in (*table.COMMANDS, table.HELP):
        yield from pair(f"{command.name} {command.usage}", command.summary, width)
    yield from ("", "Topics (agentctl help TOPIC):")
    for name, topic in TOPICS.items():
        yield from pair(name, topic.summary, width)
    yield ""
    yield from textwrap.wrap("Global flags: -C DIR, --json, -q, -v, -h; all: help flags", width)


def _group(first: str, group: Sequence[table.Command], width: int) -> Iterator[str]:
    yield "Examples:"
    for command in group:
        module = import_module(command.module)
        example, meaning = module.EXAMPLES[0]
        yield from pair(example, meaning, width)
    yield ""
    yield from usage(f"{first} COMMAND [ARGUMENT]...", width)
    yield from ("", "Commands:")
    for command in group:
        yield from pair(f"{command.name} {command.usage}", command.summary, width)
