"""Answering what events wait for: which inputs are wanted, giving one, saying yes or no (R21).

Invariant: what these answer is durable, and was decided once; the second is told so. Loads none of
the user's code, and never prints and never asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Raw

from agentctl.core.input_words import outline
from agentctl.core.inputs import schema_of
from agentctl.engines.changes import Resumed, ResumeRequest
from agentctl.engines.desk import Desk
from agentctl.engines.inputs import InputView
from agentctl.engines.views import AgentView, EventView
from agentctl.errors import NotFound, UsageError
from agentctl.names import Address, parse_call_key
from agentctl.ops.approval_documents import (
    ApprovalDocument,
    ApprovalsDocument,
    ResumeDocument,
    SeenInput,
)
from agentctl.ops.asking import new_id
from agentctl.ops.instants import moment

_LISTED: Final = 10
_SHOWN: Final = 80


class NoYesOrNo(UsageError):
    """A question for something else was to be answered with yes or no.

    Attributes:
        call: its call key.
        takes: what its answer is like: `int`, `{"amount": int}`.
    """

    title = "this asks for more than yes or no"

    def __init__(self, asked: InputView) -> None:
        said = f"{asked.key} asks for {asked.type}, and not for yes or no: {_cut(asked.text)}"
        super().__init__(said)
        schema = schema_of(asked.type, asked.schema)
        self.call = asked.key
        self.takes = outline(schema, schema)


@dataclass(frozen=True)
class Meant:
    """What a person means: a call, or the only one of an event that waits.

    Attributes:
        key: the event's idempotency key, in place of its number.
        call: the call's path in its event.
    """

    address: Address
    key: str | None = None
    call: str | None = None


@dataclass(frozen=True)
class Given:
    """Who answers, and what that one says to it."""

    by: str
    note: str


@dataclass(frozen=True)
class Open:
    """Inputs that are wanted, what has waited longest first, and the agents that were read."""

    inputs: Sequence[tuple[EventView, InputView]]
    agents: Mapping[str, AgentView]

    def document(self) -> ApprovalsDocument:
        """It as a document."""
        return ApprovalsDocument(tuple(_seen(event, one) for event, one in self.inputs))


def meant(text: str, key: str | None = None) -> Meant:
    """Read which input is meant: `Bot-7-3`, `Bot#7`, or an instance and an idempotency key.

    Raises:
        UsageError: it is none of these.
    """
    if key is not None:
        address = Address.parse(text)
        if address.event is not None:
            raise UsageError(
                f"{text!r} names an event, and {key!r} would be another name for one",
                hint="leave one of them out",
            )
        return Meant(address, key)
    if (call := parse_call_key(text)) is not None:
        return Meant(call[0], None, call[1])
    address = Address.parse(text)
    if address.event is None:
        raise UsageError(
            f"{text!r} names neither a call nor an event",
            hint="write a call key like Bot-7-3, or an event like Bot#7; "
            "agentctl approval list shows what waits",
        )
    return Meant(address)


def open_inputs(desk: Desk, chosen: Sequence[tuple[str, Address]]) -> Open:
    """List what waits for a person or a webhook.

    Raises:
        FormatTooNew: a later version wrote a journal.
    """
    agents = {name: desk.look(name) for name, _ in chosen}
    inputs = [
        (event, one)
        for name, address in chosen
        for event in agents[name].events
        if address.event in (None, event.event.event)
        and (not address.identity or event.event.identity == address.identity)
        for one in event.inputs
    ]
    inputs.sort(key=lambda each: (each[1].since_us, each[1].key))
    return Open(inputs, agents)


def resume(desk: Desk, what: Meant, text: str, given: Given) -> ResumeDocument:
    """Give an event an input that it waits for, as a person types it.

    Raises:
        NotFound: there is no such event, or no such call of it.
        Conflict: it doesn't wait, or was decided before.
        UsageError: the input doesn't fit; or several are wanted, and none is named.
        Locked: a program holds the folder, and doesn't answer.
    """
    done = _carry_out(desk, what, given, text=text)
    return ResumeDocument(done.call, done.event, given.by, given.note)


def decide(desk: Desk, what: Meant, given: Given, *, approve: bool) -> ApprovalDocument:
    """Answer a question with yes or no.

    Raises:
        NotFound, Conflict, UsageError, Locked: as `resume`.
        NoYesOrNo: it is a question for something else.
    """
    address = what.address
    wanted = open_inputs(desk, [(address.agent, address)]).inputs
    for event, one in wanted:
        if _is_meant(event, one, what) and (one.type != "bool" or one.schema is not None):
            raise NoYesOrNo(one)
    done = _carry_out(desk, what, given, value=Raw(b"true" if approve else b"false"))
    return ApprovalDocument(done.call, done.event, approve, given.by, given.note)


def only_one(desk: Desk, chosen: Sequence[tuple[str, Address]]) -> Meant:
    """Find the one input that is wanted, where nobody said which is meant.

    Raises:
        NotFound: nothing waits.
        UsageError: several do; with a list.
    """
    wanted = open_inputs(desk, chosen).inputs
    if not wanted:
        raise NotFound(
            "nothing waits for a person", hint="see where events stand: agentctl invocation list"
        )
    if len(wanted) > 1:
        lines = [f"{one.key} ({one.type}): {_cut(one.text)}" for _, one in wanted[:_LISTED]]
        more = [f"and {len(wanted) - _LISTED} more"] if len(wanted) > _LISTED else []
        raise UsageError(
            "\n".join((f"{len(wanted)} questions wait, and none is named:", *lines, *more)),
            hint=f"name the one that is meant, as in: agentctl approval approve {wanted[0][1].key}",
        )
    return meant(wanted[0][1].key)


def _is_meant(event: EventView, one: InputView, what: Meant) -> bool:
    if what.key is not None:
        return event.key == what.key
    return what.call is None or parse_call_key(one.key) == (what.address, what.call)


def _carry_out(
    desk: Desk, what: Meant, given: Given, *, text: str | None = None, value: Raw | None = None
) -> Resumed:
    address = what.address
    request = ResumeRequest(
        address.agent,
        new_id(),
        address.identity,
        address.event,
        what.key,
        what.call,
        text=text,
        by=given.by,
        note=given.note,
    )
    if value is not None:
        from msgspec import structs

        request = structs.replace(request, value=value)
    answer = desk.carry_out(request)
    assert isinstance(answer, Resumed)
    return answer


def _seen(event: EventView, one: InputView) -> SeenInput:
    return SeenInput(
        one.key,
        str(event.event),
        event.handler,
        one.step,
        one.text,
        one.type,
        None if one.schema is None else Raw(one.schema),
        moment(one.since_us),
        moment(one.until_us),
        str(event.state),
    )


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
