"""The JSON documents of commands that look at agents and their events.

Invariant: as in `documents`. Times are RFC 3339, UTC, and null where there is none; states are
the words of R8, with underscores.
"""

from __future__ import annotations

from msgspec import Raw, Struct

from agentctl.ops.schedule_documents import KeptSchedule
from agentctl.ops.step_documents import SeenAttempt, SeenStep


class SeenHolder(Struct, frozen=True):
    """The program that holds an agent's folder."""

    pid: int
    host: str
    command: str
    since: str


class EventCounts(Struct, frozen=True):
    """How many open events stand where."""

    scheduled: int = 0
    queued: int = 0
    running: int = 0
    sleeping: int = 0
    waiting: int = 0
    stuck: int = 0


class AgentStatus(Struct, frozen=True):
    """How one agent stands.

    Attributes:
        late_s: how long the event or schedule that is most overdue has been due.
        longest_wait_s: of the waiting events: how long the one waits that waits longest.
        waits_longest: the key of the call that it waits for.
    """

    agent: str
    holder: SeenHolder | None
    events: EventCounts
    set_aside: int
    next_due: str | None
    journal_bytes: int
    late_s: float
    warnings: tuple[str, ...]
    longest_wait_s: float
    waits_longest: str | None


class StatusDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.status/1"):
    """How some agents stand."""

    healthy: bool
    agents: tuple[AgentStatus, ...]


class SeenInvocation(Struct, frozen=True):
    """One event in short.

    Attributes:
        next: when it goes on by itself.
        waits_for: the event or instance that it waits for, or the call that needs an input.
        text: why it is stuck, failed or was cancelled.
        cancelling: a cancel is on record, and it hasn't ended yet.
        schedule: the name of the one that made it.
        due: when it was due, of one that a schedule made, or that was itself scheduled.
        attempt: of one that backs off: the attempt that begins next.
        asks: what it asks a person for.
    """

    event: str
    status: str
    handler: str
    key: str | None
    accepted: str | None
    ended: str | None
    next: str | None
    waits_for: str | None
    text: str | None
    cancelling: bool
    schedule: str | None
    due: str | None
    attempt: int | None
    asks: str | None


class InvocationsDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.invocations/1"):
    """Events of some agents, the newest last."""

    invocations: tuple[SeenInvocation, ...]


class SeenCall(Struct, frozen=True):
    """One call of an event.

    Attributes:
        state: `open`, `ok`, `error`, `fired`, `answered` or `dropped`.
        outcome: of `ok` and `answered` the value as JSON, of `error` its type and text; as text.
        until: of a timer or a question: its end.
        where: of one that is being made: file and line at which its code stands.
        about: of one that concerns another event: the handler that is asked or scheduled,
            `Stock/eu.reserve`, or the event or schedule that is cancelled or waited for; what is
            asked, of one that needs an input.
        by: who answered.
        attempts: of a step, and of a call that was tried again.
        next: of one that backs off: when the next attempt begins.
    """

    key: str
    fn: str
    state: str
    args: Raw | None
    outcome: str | None
    at: str | None
    ended: str | None
    until: str | None
    where: str | None
    about: str | None
    by: str | None
    attempts: tuple[SeenAttempt, ...]
    next: str | None
    kwargs: Raw | None


class InvocationDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.invocation/1"):
    """One event with all that is on record of it.

    Attributes:
        asked_by: the call key of the event that asked for it.
        starts: starts without a new result.
        line: of a stuck one: where the bug is.
        type: of a failed one: the error's type.
        records: how many lines of the journal it has.
        cancelling: a cancel is on record, and it hasn't ended yet.
        schedule: the name of the one that made it.
        due: when it was due, of one that a schedule made, or that was itself scheduled.
        steps: those that were begun.
    """

    event: str
    status: str
    handler: str
    key: str | None
    args: Raw
    kwargs: Raw | None
    accepted: str | None
    started: str | None
    ended: str | None
    next: str | None
    waits_for: str | None
    asked_by: str | None
    starts: int
    result: Raw | None
    type: str | None
    text: str | None
    line: str | None
    records: int
    calls: tuple[SeenCall, ...]
    cancelling: bool
    schedule: str | None
    due: str | None
    priority: str
    steps: tuple[SeenStep, ...]


class SeenInstance(Struct, frozen=True):
    """One instance in short."""

    instance: str
    state_bytes: int
    open: int
    next_due: str | None


class InstancesOfAgent(Struct, frozen=True):
    """The instances of one agent."""

    agent: str
    instances: tuple[SeenInstance, ...]


class AgentsDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.agents/1"):
    """The instances of some agents."""

    agents: tuple[InstancesOfAgent, ...]


class SeenKey(Struct, frozen=True):
    """An idempotency key that is remembered; `status` is its event's."""

    key: str
    event: str
    status: str


class InstanceDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.instance/1"):
    """One instance: its state, null if it has none, its keys, open events and schedules."""

    instance: str
    state: Raw | None
    keys: tuple[SeenKey, ...]
    events: tuple[SeenInvocation, ...]
    schedules: tuple[KeptSchedule, ...] = ()


class SeenLock(Struct, frozen=True):
    """One agent's lock.

    Attributes:
        held: a program holds it just now.
        note: what the file says; it counts only if the lock is held.
    """

    agent: str
    path: str
    held: bool
    note: SeenHolder | None


class LockDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.lock/1"):
    """The locks of some agents."""

    agents: tuple[SeenLock, ...]
