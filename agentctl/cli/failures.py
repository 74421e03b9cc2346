"""Errors as a person and as a program get them: what, why, how to go on; and the user's traceback.

Invariant: every failure has all three lines, and a traceback shows frames of the user's own files
only (all of them with `-vv`). Never decides what is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentctl.errors import (
    AgentctlError,
    DiskTrouble,
    Divergence,
    EventError,
    JournalDamaged,
    Locked,
    NotFound,
    ProjectError,
    QueryFailed,
    UsageError,
)
from agentctl.frames import is_users

if TYPE_CHECKING:
    from agentctl.cli.output import Output
    from agentctl.engines.port import Ended

_HINTS: Final = (
    (UsageError, "see the command's --help"),
    (NotFound, "agentctl help lists the commands; agentctl config show the project's agents"),
    (Locked, "stop that program, or wait longer with --lock-wait; reading needs no lock"),
    (Divergence, "take the change back, or accept it with a retry: agentctl help again"),
    (ProjectError, "correct it, and run the command again"),
    (DiskTrouble, "what was acknowledged is safe; make the folder writable, and start again"),
    (EventError, "agentctl inspect journal shows what happened"),
)
_OWN: Final = "builtins."
RESTORE: Final = (
    "keep a copy of the folder, and put a backup in its place: docs/how-to/backup.md, Restore"
)
_OTHER_HINT: Final = "nothing was changed; agentctl inspect journal shows what can be read"


@dataclass(frozen=True)
class Failure:
    """What an error says; the last three only where there is an event."""

    code: int
    error: str
    detail: str
    hint: str
    event: str | None = None
    status: str | None = None
    type: str | None = None


def failure_of(error: AgentctlError) -> Failure:
    """Make the three lines of an error."""
    hint = error.hint or next((h for kind, h in _HINTS if isinstance(error, kind)), _OTHER_HINT)
    if isinstance(error, JournalDamaged):
        where = (error.path, error.line, error.reason)
        return failure_of_damage(where, f"{hint}; {RESTORE}")
    return Failure(error.exit_code, _title(error), error.message, hint, error.event)


def failure_of_damage(where: tuple[str, int, str], hint: str) -> Failure:
    """Make the three lines of a damaged journal: its path, the line, what is wrong with that."""
    path, line, reason = where
    detail = (
        f"{path}, line {line}: it was changed after it was written, or is lost; from there on "
        f"nothing can be trusted ({reason})"
    )
    return Failure(6, JournalDamaged.title, detail, hint)


def _title(error: AgentctlError) -> str:
    # The message begins with what a title says, and names the agent.
    before, colon, _ = error.message.partition(":")
    if isinstance(error, Locked) and colon and before.startswith("the agent "):
        return before.removeprefix("the agent ")
    return error.title


def unexpected(error: BaseException) -> Failure:
    """Make the three lines of an error that nobody foresaw."""
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, OSError):
        return Failure(74, "the system refused", told, "check the path, its rights and the disk")
    return Failure(
        70,
        "this is a bug in agentctl",
        told,
        "your agents' journals are safe; run it again with -vv, and report what it shows",
    )


def failure_of_end(end: Ended, *, beside: bool = False) -> Failure:
    """Make the three lines of an event that didn't complete.

    Args:
        beside: another program runs the agent, and goes on.
    """
    event = str(end.event)
    if end.status == "stuck" and end.divergence:
        code, what, detail = 6, f"{event} is stuck: it diverged from what is on record", end.text
        hint = (
            "take the change back, and start again (if there was none, the handler used a clock or "
            "chance of its own); or give up the record from that call on: "
            f"agentctl invocation retry {event} --accept-divergence"
        )
    elif end.status == "stuck":
        code, what = 1, f"{event} is stuck"
        detail = f"{end.text} ({end.line})" if end.line else end.text
        then = (
            f"then start its program anew, or: agentctl invocation retry {event}"
            if beside
            else f"so don't invoke another: agentctl run {end.event.agent} --until-idle"
        )
        hint = "mend the code; the event runs again at the next start, with its recorded calls, "
        hint += then
    elif end.status == "cancelled":
        code, what, detail = 1, f"{event} was cancelled", "somebody cancelled it before it ended"
        hint = (
            "invoke it again if it is wanted after all; of a workflow, delete its instance before"
        )
    elif end.status == "missed":
        code, what, detail = 1, f"{event} was missed", f"{end.text}, and never began"
        hint = "invoke it again if it is wanted after all"
    else:
        code, what = 1, f"{event} failed"
        detail = error_text(end.type, end.text)
        hint = (
            "it doesn't run again by itself; unless its steps were undone, from the failing call: "
            f"agentctl invocation retry {event}"
        )
    return Failure(code, what, detail or what, hint, event, end.status, end.type)


def error_text(type_name: str | None, text: str) -> str:
    """Write an error as a traceback ends: Python's own types go without their module."""
    return ": ".join(each for each in ((type_name or "").removeprefix(_OWN), text) if each)


def write_failure(failure: Failure, output: Output, error: BaseException | None = None) -> None:
    """Write a failure to stderr, with the user's traceback in front if their code raised it."""
    if output.options.json:
        output.trouble_document(_document(failure))
        return
    if error is not None:
        for line in _traceback(error, everything=output.options.verbose > 1):
            output.trouble(line)
    output.trouble(output.folded(three_lines(failure)))


def tell_damage(damaged: Mapping[str, tuple[int, str] | None], output: Output) -> int:
    """Say which journals are damaged, each with line and reason; answer the exit code."""
    code = 0
    for agent, damage in damaged.items():
        if damage is None:
            continue
        code = 6
        hint = f"what stands before it is shown, and nothing was changed; {RESTORE}"
        write_failure(failure_of_damage((f"{agent}'s journal", *damage), hint), output)
    return code


def three_lines(failure: Failure) -> str:
    """Write what, why and how to go on, as people get them."""
    from agentctl.cli.output import plain

    detail = [f"  {plain(line)}" for line in failure.detail.splitlines() if line.strip()]
    return "\n".join(
        [f"error: {plain(failure.error)}", *(detail or ["  -"]), f"hint: {plain(failure.hint)}"]
    )


def _document(failure: Failure) -> bytes:
    from agentctl.ops import documents

    return documents.encode(documents.of_failure(**vars(failure)))


def _traceback(error: BaseException, *, everything: bool) -> list[str]:
    if everything:
        import traceback

        return "".join(traceback.format_exception(error)).splitlines()
    if isinstance(error, ProjectError | QueryFailed) and error.__cause__ is not None:
        return users_traceback(error.__cause__)
    return []


def users_traceback(error: BaseException) -> list[str]:
    """Write an error's traceback as Python does, with the frames of the user's files only."""
    import traceback

    seen: list[str] = []
    summary = traceback.TracebackException.from_exception(error, compact=True)
    pending = [summary]
    while pending:
        one = pending.pop()
        one.stack = traceback.StackSummary.from_list([f for f in one.stack if is_users(f.filename)])
        pending += [each for each in (one.__cause__, one.__context__) if each is not None]
        pending += one.exceptions or []
    for chunk in summary.format():
        seen += chunk.rstrip("\n").split("\n")
    if not summary.stack and not summary.exceptions and not summary.__cause__:
        return [line for line in seen if not line.startswith("Traceback (")]
    return seen
