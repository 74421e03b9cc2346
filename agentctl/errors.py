"""The tree of errors; every error that a person can meet is one of these.

AgentctlError                    the root; carries exit_code and hint
├── UsageError            2      a flag, an argument, a time
│   ├── BadArguments             arguments that don't fit the handler (also a TypeError)
│   └── BadAgentClass            a class that can't be an agent (also a TypeError)
├── NotFound              3      no such project, agent, handler, event
├── Conflict              4      the thing is in another state than the request needs
│   ├── KeyReused, LaneFull
├── Locked                5      another program holds the agent's folder
├── Damaged               6      what is on disk can't be trusted or understood
│   ├── JournalDamaged, FormatTooNew, SetAsideDamaged
│   └── Divergence               the program asks for another call than the one on record
├── ProjectError          7      kavach.toml or the code can't be loaded
├── DiskTrouble           74     a record couldn't be written or synced
├── Interrupted           143    the program stopped before the outcome was known
├── NotInThisVersion      2      a promised part that this version doesn't have yet
└── EventError            1      how an event or a call of it ended
    ├── CallFailed               a call's error whose type can't be rebuilt
    ├── NotRecordable            a value that can't be written down
    ├── QueryFailed               a query's own code raised
    ├── UnknownOutcome, Denied, WouldDeadlock, StepFailed
    ├── Stuck, Cancelled, MissedRun, OutcomeGone
    └── SetAside          4
AgentError                       users derive theirs from it; callers are meant to see it
└── NonRetryable
ControlFlow (BaseException)      what user code must not swallow
└── Dropped                      a handler of a program that stopped was resumed
"""

from __future__ import annotations

from typing import ClassVar


class AgentError(Exception):
    """An error that the caller is meant to see; users derive theirs from it."""


class NonRetryable(AgentError):
    """Fails the step at once, whatever attempts are left."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class AgentctlError(Exception):
    """Root of agentctl's own errors: what happened, and how to go on.

    Attributes:
        event: the address of the event that it is about, where there is one.
    """

    exit_code: ClassVar[int] = 70
    title: ClassVar[str] = "agentctl failed"

    def __init__(self, message: str, *, hint: str | None = None, event: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.event = event
        if hint:
            self.add_note(f"hint: {hint}")  # a traceback shows it, too


class UsageError(AgentctlError):
    """A flag, an argument or a time doesn't make sense."""

    exit_code = 2
    title = "this can't be understood"


class BadArguments(UsageError, TypeError):
    """The arguments don't fit the handler; nothing was accepted."""

    title = "the arguments don't fit"


class BadAgentClass(UsageError, TypeError):
    """A class that can't be an agent; raised where it is defined."""

    title = "this class can't be used"


class NotInThisVersion(UsageError):
    """A part of the design that this version doesn't have yet."""

    title = "not in this version"


class NotFound(AgentctlError):
    """There is no such project, agent, handler or event."""

    exit_code = 3
    title = "not found"


class Conflict(AgentctlError):
    """The thing exists, in another state than the request needs."""

    exit_code = 4
    title = "conflict"


class KeyReused(Conflict):
    """The idempotency key stands for another handler or other arguments."""

    title = "this idempotency key is taken"


class LaneFull(Conflict):
    """The lane has no room for another event."""

    title = "the lane is full"


class Locked(AgentctlError):
    """Another program holds the agent's folder."""

    exit_code = 5
    title = "the agent already runs in another program"


class Damaged(AgentctlError):
    """What is on disk can't be trusted or understood; nothing was changed."""

    exit_code = 6
    title = "damaged"


class JournalDamaged(Damaged):
    """A record below what was durable is broken.

    Attributes:
        path: the journal's full path.
        line: the first bad line, counted from 1.
        reason: what is wrong with it.
    """

    title = "the journal is damaged"

    def __init__(self, path: str, line: int, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{path}, line {line}: {reason}", hint=hint)
        self.path = path
        self.line = line
        self.reason = reason


class SetAsideDamaged(Damaged):
    """The file `set-aside` has a line that can't be read."""

    title = "the file set-aside can't be read"


class FormatTooNew(Damaged):
    """The file was written by a later version of agentctl."""

    title = "written by a newer agentctl"


class Divergence(Damaged):
    """Replay asked for another call than the one on record; the event is stuck, alone."""

    title = "the handler no longer does what is on record"


class ProjectError(AgentctlError):
    """`kavach.toml` or the project's code can't be loaded."""

    exit_code = 7
    title = "the project can't be loaded"


class DiskTrouble(AgentctlError):
    """A record couldn't be written or synced; nothing goes on."""

    exit_code = 74
    title = "the disk failed"


class Interrupted(AgentctlError):
    """The program stopped before the event's outcome was known; it resumes at the next start."""

    exit_code = 143
    title = "interrupted"


class EventError(AgentctlError):
    """How an event, or a call of it, ended."""

    exit_code = 1
    title = "the event failed"


class CallFailed(EventError):
    """An error on record whose type can't be rebuilt.

    Attributes:
        type_name: the recorded type, `module.Class`.
        text: the recorded text.
    """

    title = "the call failed"

    def __init__(self, type_name: str, text: str, *, hint: str | None = None) -> None:
        super().__init__(f"{type_name}: {text}" if text else type_name, hint=hint)
        self.type_name = type_name
        self.text = text


class NotRecordable(EventError):
    """A value can't be written down as its annotation says.

    Attributes:
        path: where in the value, `items[3].client`; empty for the value itself.
    """

    title = "the value can't be recorded"

    def __init__(self, message: str, *, path: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path


class UnknownOutcome(EventError):
    """The call was cut off by a crash and isn't repeated: it may or may not have happened."""

    title = "it is unknown whether the call happened"


class Denied(EventError):
    """The call is forbidden, by `uses(…)` or by `[agents.NAME.deny]`."""

    title = "denied"

    def __init__(self, reason: str, *, hint: str | None = None) -> None:
        super().__init__(reason, hint=hint)
        self.reason = reason


class WouldDeadlock(EventError):
    """The wait would close a cycle of events that wait for each other."""

    title = "it would deadlock"


class StepFailed(EventError):
    """A step is out of attempts."""

    title = "the step failed"


class QueryFailed(EventError):
    """A query's own code raised; what it raised is the `__cause__`. Nothing was changed."""

    title = "the query failed"


class Stuck(EventError):
    """The event stopped at a bug; it runs again at the next start."""

    title = "the event is stuck"


class Cancelled(EventError):
    """The event was cancelled."""

    title = "cancelled"


class MissedRun(EventError):
    """The event came too late to be run."""

    title = "missed"


class SetAside(EventError):
    """The event was taken out of service after too many starts."""

    exit_code = 4
    title = "set aside"


class OutcomeGone(EventError):
    """The event's outcome is no longer kept."""

    title = "the outcome is no longer kept"


class ControlFlow(BaseException):
    """What user code must not swallow; never an `Exception`."""


class Dropped(ControlFlow):
    """A handler was resumed although its program has let go of it."""
