"""What an invocation becomes: an event of its own, or one that is there already (R17).

Decides from what the journal says; `AgentRuntime` puts it on record.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from agentctl.core.history import JournalHistory
from agentctl.core.lanes import Priority, recorded
from agentctl.core.timetable import Run
from agentctl.engines.changes import Accepted
from agentctl.errors import KeyReused, SetAside, UsageError
from agentctl.names import Identity, format_instance
from agentctl.record_kept import OutcomeRecord
from agentctl.record_moves import AnsweredRecord
from agentctl.records import EventRecord
from agentctl.sdk.fields import HandlerSpec
from agentctl.values import digest


class Wanted(Struct, frozen=True, rename={"from_": "from"}):
    """An event that somebody wants, its arguments checked.

    Attributes:
        due_us: when it is to begin; None: as soon as it can.
        late_us: how long after its due time it may begin.
        priority: the lane in which it queues.
        schedule, occurrence: of one that a schedule makes, its name and what it stands for.
        beside: it was asked for beside the schedule, which it doesn't move.
        digest: of handler and arguments, where there is a key.
        from_, asker, behind: of one that another agent asks for (R16).
        request: the id that a command or another agent's call asks under, or "".
        owed: the answer to that is kept until the call is known to have it.
        once: a workflow's run: however it ended, it isn't run again.
    """

    identity: Identity
    handler: str
    args: bytes
    kwargs: bytes | None = None
    key: str | None = None
    due_us: int | None = None
    late_us: int | None = None
    priority: Priority = "medium"
    schedule: str | None = None
    occurrence: Run | None = None
    beside: bool = False
    digest: str | None = None
    from_: str | None = None
    asker: str | None = None
    behind: tuple[str, ...] = ()
    request: str = ""
    owed: bool = False
    once: bool = False

    def record(self, number: int, nonce: str, at_us: int) -> EventRecord:
        """The event's record."""
        kwargs: Raw | UnsetType = UNSET if self.kwargs is None else Raw(self.kwargs)
        fires = self.occurrence
        return EventRecord(
            number,
            self.handler,
            Raw(self.args),
            kwargs=kwargs,
            of=self.identity,
            key=self.key,
            due=self.due_us,
            lane=recorded(self.priority),
            digest=self.digest,
            from_=self.from_,
            asker=self.asker,
            behind=self.behind,
            late=self.late_us,
            schedule=self.schedule,
            occurrence=None if fires is None else fires.due_us,
            missed=0 if fires is None else fires.missed,
            next=None if fires is None else fires.next_us,
            beside=self.beside,
            note=None if fires is None else fires.note,
            once=self.once,
            nonce=nonce,
            at=at_us,
        )

    def answer(self, accepted: Accepted, at_us: int) -> AnsweredRecord:
        """The record of what is answered, so that who asks again changes nothing."""
        value = Raw(msgspec.json.encode(accepted))
        return AnsweredRecord(self.request, "invoke", value, owed=self.owed, at=at_us)


RUN_KEY: Final = "run"
"""Under this key a workflow's only run is known in its instance."""


def once(handler: HandlerSpec, wanted: Wanted) -> Wanted:
    """A workflow's run has the key that its instance gives it; anything else is as it is.

    Raises:
        UsageError: it came with a key of its own.
    """
    if not handler.once:
        return wanted
    if wanted.key not in (None, RUN_KEY):
        raise UsageError(
            f"{handler.signature.title} came with the key {wanted.key!r}",
            hint="leave it out: a workflow's instance runs once, and gives its outcome again",
        )
    digest = digest_of(handler, wanted.args, wanted.kwargs)
    return structs.replace(wanted, key=RUN_KEY, digest=digest, once=True)


def check_repeatable(handler: HandlerSpec) -> None:
    """Refuse a schedule of what runs once.

    Raises:
        UsageError: it is a workflow's run.
    """
    if handler.once:
        raise UsageError(
            f"{handler.signature.title} runs once, and can't be a schedule",
            hint="start it by trigger, after or at without a name; or schedule a handler that does",
        )


def digest_of(handler: HandlerSpec, args: bytes, kwargs: bytes | None) -> str:
    """The digest by which a key knows what it stands for."""
    return digest(handler.name.encode() + handler.signature.canonical(args, kwargs))


def find_same(agent: str, history: JournalHistory, wanted: Wanted) -> int | OutcomeRecord | None:
    """Find the event that a wanted one's key stands for: an open one, or how it ended.

    Raises:
        KeyReused: it stands for another handler, or other arguments.
        SetAside: its event is set aside.
    """
    if wanted.key is None:
        return None
    at = (wanted.identity, wanted.key)
    number = history.keys.get(at)
    if number is not None:
        accepted = history.open[number].accepted
        _check_same(agent, wanted, (number, accepted.handler, accepted.digest))
        return number
    outcome = history.outcomes.get(at)
    if outcome is not None and (wanted.once or outcome.status != "cancelled"):
        _check_same(agent, wanted, (outcome.outcome, outcome.handler, outcome.digest))
        return outcome
    for number, aside in history.asides.items():
        if (aside.of, aside.key) == at:
            _check_same(agent, wanted, (number, aside.handler, aside.digest))
            where = f"{format_instance(agent, wanted.identity)}#{number}"
            raise SetAside(
                f"the key {wanted.key!r} stands for {where}, which is set aside",
                hint=f"put it back with: agentctl requeue set-aside {agent} {number}",
                event=where,
            )
    return None


def number_of(same: int | OutcomeRecord) -> int:
    """The number of an event that a key stands for."""
    return same if isinstance(same, int) else same.outcome


def _check_same(agent: str, wanted: Wanted, found: tuple[int, str, str | None]) -> None:
    number, handler, known = found
    if handler == wanted.handler and known == wanted.digest:
        return
    where = f"{format_instance(agent, wanted.identity)}#{number}"
    differs = f"the handler {wanted.handler}" if handler != wanted.handler else "other arguments"
    raise KeyReused(
        f"the key {wanted.key!r} stands for {where}, an event of {handler}; "
        f"now it came with {differs}",
        hint=f"take a new key; or see that event: agentctl invocation show {where}",
        event=where,
    )
