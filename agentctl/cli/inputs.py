"""Values of flags that several commands read alike: durations, arguments as JSON.

Invariant: what doesn't fit is a UsageError that names the flag.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from agentctl.errors import BadArguments, UsageError
from agentctl.times import parse_duration

if TYPE_CHECKING:
    from agentctl.engines.changes import State


def duration(flag: str, text: str) -> timedelta:
    """Read a flag's duration.

    Raises:
        UsageError: it is none.
    """
    try:
        return parse_duration(text)
    except UsageError as error:
        raise UsageError(f"{flag}: {error.message}", hint=error.hint) from None


def lock_wait_s(text: str) -> float:
    """Read `--lock-wait`."""
    return duration("--lock-wait", text).total_seconds()


def states(flag: str, text: str) -> frozenset[State]:
    """Read a flag's states, parted by commas.

    Raises:
        UsageError: one is none; with the nearest.
    """
    from agentctl.engines.changes import State

    known = {str(state).replace("_", "-"): state for state in State}
    words = [word.strip().replace("_", "-") for word in text.split(",")]
    for word in words:
        if word not in known:
            from agentctl.nearest import nearest_hint

            raise UsageError(
                f"{flag}: there is no state {word!r}", hint=nearest_hint(word, known, "states")
            )
    return frozenset(known[word] for word in words)


def read_text(value: str) -> str:
    """Read what `--args` names: the text itself, a file, or stdin.

    Raises:
        UsageError: the file can't be read.
    """
    try:
        if value == "-":
            return sys.stdin.read()
        if value.startswith("@"):
            return Path(value[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"--args: {value} can't be read: {reason}", hint="name a file that is there: @FILE"
        ) from None
    return value


def read_answer(value: str) -> str:
    """Read what `--input` names: the text itself, or stdin without its last line break.

    Raises:
        UsageError: stdin can't be read.
    """
    if value != "-":
        return value
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as error:
        raise UsageError(f"--input: stdin can't be read: {error}", hint="write UTF-8") from None


def read_arguments(value: str, *, objects: bool) -> bytes:
    """Read `--args` as the bytes of a JSON list, or of an object where those are taken.

    Raises:
        UsageError: it is something else.
    """
    import msgspec

    from agentctl.json_text import read_json

    try:
        found = read_json(read_text(value))
    except BadArguments as error:
        hint = "write --args '[7]', @FILE, or - for stdin"
        raise BadArguments(f"--args: {error.message}", hint=hint) from None
    if isinstance(found, list) or (objects and isinstance(found, dict)):
        return msgspec.json.encode(found)
    if objects:
        hint = """write --args '[7]' or --args '{"order_id": 7}'"""
        raise UsageError("--args is neither a JSON list nor an object", hint=hint)
    raise UsageError("--args is no JSON list", hint="write --args '[7]'")
