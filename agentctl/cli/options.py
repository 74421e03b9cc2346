"""Global flags: taken out of the arguments wherever they stand, before the command's own parser.

Invariant: a flag wins over its environment variable; nothing behind `--` is touched, nor the
value of a command's own option. Never knows what a command does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agentctl.errors import UsageError

FORMATS: Final = ("text", "json", "jsonl")
COLORS: Final = ("auto", "always", "never")

# Options of commands that take a value; a test holds the list against the commands.
TAKES_VALUE: Final = frozenset(
    [
        *("--template", "--agent", "--grace", "--concurrency", "--lock-wait", "--log-format"),
        *("--args", "--timeout", "--event", "--kind", "--grep", "--since", "--until", "--reason"),
        *("-n", "--number", "--status", "--fail-on"),
        *("-i", "--idempotency-key", "--if-full", "--for", "--at", "--schedule-at", "--in", "--tz"),
        *("--name", "--every", "--first", "--cron", "--missed", "--overlap", "--jitter"),
        *("--max-late", "--from", "--priority", "--input", "--as", "--note"),
    ]
)
_SHORT_FLAGS: Final = re.compile(r"-[qvyh]+")
_VERBOSE: Final = {"2": 2, "3": 3}
_YES: Final = frozenset({"1", "true", "yes", "on"})
_NO: Final = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, kw_only=True)
class GlobalOptions:
    """What holds for every command.

    Attributes:
        settings: each `--set`, as `KEY=VALUE`.
        yes: every question is answered beforehand.
    """

    project: Path | None = None
    root: Path | None = None
    settings: tuple[str, ...] = ()
    format: str = "text"
    color: str = "auto"
    quiet: bool = False
    verbose: int = 0
    yes: bool = False
    help: bool = False
    version: bool = False

    @property
    def json(self) -> bool:
        """Whether output is for programs."""
        return self.format != "text"


def hoist(
    arguments: Sequence[str], environ: Mapping[str, str]
) -> tuple[GlobalOptions, Sequence[str]]:
    """Take the global flags out of the arguments, wherever they stand.

    Returns:
        The flags, and what is left for the command.

    Raises:
        UsageError: a flag without its value, or with one that it doesn't know.
    """
    options = _from_environment(environ)
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return options, [*rest, word, *words]
        if word in TAKES_VALUE:
            rest += [word, *_next(words)]
            continue
        taken = _take(options, word, words)
        if taken is None:
            rest.append(word)
        else:
            options = taken
    return options, rest


def _next(words: Iterator[str]) -> Sequence[str]:
    for word in words:
        return [word]
    return []


def _take(options: GlobalOptions, word: str, words: Iterator[str]) -> GlobalOptions | None:
    """Apply one flag, reading its value from `words`; None if it isn't a global one."""
    if _SHORT_FLAGS.fullmatch(word):
        return replace(
            options,
            quiet=options.quiet or "q" in word,
            verbose=options.verbose + word.count("v"),
            yes=options.yes or "y" in word,
            help=options.help or "h" in word,
        )
    if word.startswith("-C") and word[2:3] not in ("", "="):
        word = f"-C={word[2:]}"
    name, equals, value = word.partition("=")
    if name in _VALUED:
        if not equals:
            value = "".join(_next(words)) or _no_value(name)
        return _set_value(options, name, value)
    if word in _FLAGS:
        return _FLAGS[word](options)
    return None


_VALUED: Final = frozenset({"-C", "--project", "--root", "--set", "--format", "--color"})
_FLAGS: Final[Mapping[str, Callable[[GlobalOptions], GlobalOptions]]] = {
    "--json": lambda options: replace(options, format="json"),
    "--quiet": lambda options: replace(options, quiet=True),
    "--verbose": lambda options: replace(options, verbose=options.verbose + 1),
    "--yes": lambda options: replace(options, yes=True),
    "--help": lambda options: replace(options, help=True),
    "--version": lambda options: replace(options, version=True),
}

GLOBAL_FLAGS: Final = tuple(sorted({*_VALUED, *_FLAGS} - {"-C"}))


def _no_value(name: str) -> str:
    raise UsageError(f"{name} needs a value", hint="agentctl help flags lists what each takes")


def _set_value(options: GlobalOptions, name: str, value: str) -> GlobalOptions:
    if name in ("-C", "--project"):
        return replace(options, project=Path(value))
    if name == "--root":
        return replace(options, root=Path(value))
    if name == "--set":
        return replace(options, settings=(*options.settings, value))
    if name == "--format":
        return replace(options, format=_one_of(name, value, FORMATS))
    return replace(options, color=_one_of(name, value, COLORS))


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UsageError(f"{name} can't be {value!r}", hint=f"it is one of: {', '.join(known)}")
    return value


def _from_environment(environ: Mapping[str, str]) -> GlobalOptions:
    """Read the variables; those of PROJECT, ROOT and SET are read with the project."""
    output = "json" if _truth(environ, "AGENTCTL_JSON") else "text"
    if environ.get("AGENTCTL_FORMAT"):
        output = _one_of("AGENTCTL_FORMAT", environ["AGENTCTL_FORMAT"], FORMATS)
    verbose = _VERBOSE.get(environ.get("AGENTCTL_VERBOSE", ""))
    return GlobalOptions(
        format=output,
        color=_one_of("AGENTCTL_COLOR", environ.get("AGENTCTL_COLOR") or "auto", COLORS),
        quiet=_truth(environ, "AGENTCTL_QUIET"),
        yes=_truth(environ, "AGENTCTL_YES"),
        verbose=int(_truth(environ, "AGENTCTL_VERBOSE")) if verbose is None else verbose,
    )


def _truth(environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "").strip().lower()
    if value in _YES:
        return True
    if value in _NO:
        return False
    raise UsageError(f"{name} can't be {value!r}", hint="it is 1 or 0")
