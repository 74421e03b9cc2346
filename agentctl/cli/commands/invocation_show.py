"""`agentctl invocation show`: one event, with its calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec
import typer

from agentctl.cli.commands.asking import SecretsOption
from agentctl.cli.events_text import name_of_next, what_next
from agentctl.cli.failures import error_text
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output, columns
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_pairs, write_rows
from agentctl.cli.schedule_records import asked
from agentctl.cli.steps_text import attempts_of_call
from agentctl.engines.views import CallView, EventView
from agentctl.errors import UsageError
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.hidden import hide
from agentctl.ops.views import find_event, in_full
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl invocation show Bot#1", "event 1 of Bot, with its calls"),
    ("agentctl invocation show Bot order-7", "the event that was invoked with this key"),
    ("agentctl invocation show Bot#1 --json", "the same for a program"),
)


@dataclass(frozen=True)
class Request:
    """Which event."""

    address: Address
    key: str | None
    show_secrets: bool


def parse(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Bot#7; or an agent, with a KEY")],
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="the invocation's idempotency key")
    ] = None,
    show_secrets: SecretsOption = False,
) -> Request:
    """Show one event: where it stands, what it was asked, what it called and what came of that.

    An open call has its time: one that hangs is seen by it.
    """
    address = Address.parse(agent)
    if (address.event is None) is (key is None):
        raise UsageError(
            f"{agent!r} names no event" if key is None else f"{agent!r} is an event already",
            hint="name an event, like Bot#7; or an agent and an idempotency key",
        )
    return Request(address, key, show_secrets)


def execute(request: Request, output: Output) -> int:
    """Show it."""
    place = find_place(output)
    desk = places.open_desk(place)
    places.check_known(place, desk, request.address.agent)
    event, view = find_event(desk, request.address, request.key)
    if output.options.json:
        output.document(documents.encode(in_full(event, show_secrets=request.show_secrets)))
        return 0
    moments = Moments(SystemClock().now_us(), relative=output.is_terminal)
    told = Told(moments, show_secrets=request.show_secrets)
    start = None if view.holder is not None else place.start_of(event.event.agent)
    write_pairs(list(told.about(event, start=start)), output)
    if not event.calls:
        return 0
    rows = [told.call(call) for call in event.calls]
    if output.is_terminal:
        output.line("")
        write_rows(("call", "what", "state", "called", "outcome"), rows, output)
    else:
        for row in rows:
            output.line(columns(("call", *row)))
    return 0


@dataclass(frozen=True)
class Told:
    """An event in words."""

    moments: Moments
    show_secrets: bool

    def about(self, event: EventView, *, start: str | None) -> Iterator[tuple[str, str]]:
        """What there is to say of it, each with its name."""
        yield "event", str(event.event)
        yield "state", str(event.state)
        yield "handler", event.handler
        yield "arguments", self._shown(event.args)
        if event.kwargs is not None:
            yield "by name", self._shown(event.kwargs)
        if event.key is not None:
            yield "key", event.key
        if event.priority != "medium":
            yield "priority", event.priority
        if event.schedule is not None:
            due = f"due {self.moments(event.due_us)}" if event.due_us else "triggered"
            yield "schedule", f"{event.schedule}, {due}"
        if event.from_ is not None:
            yield "asked by", event.from_
        for name, instant_us in (
            ("accepted", event.accepted_us),
            ("started", event.started_us),
            ("ended", event.ended_us),
        ):
            if instant_us:
                yield name, self.moments(instant_us)
        if event.starts > 1:
            yield "starts", f"{event.starts} without a new result"
        if event.value is not None:
            yield "result", self._shown(event.value)
        else:
            yield name_of_next(event), what_next(event, self.moments, start=start)
        if event.line is not None:
            yield "line", event.line

    def call(self, call: CallView) -> tuple[str, str, str, str, str]:
        """One call: its key, what was called, how it stands, when, and what came of it."""
        args = self._asked(call)
        what = " ".join(part for part in (call.fn, call.about, args) if part)
        if call.about and call.fn.startswith("step "):
            what = " ".join(part for part in (call.fn, args) if part) + f": {call.about}"
        if call.until_us is not None:
            what = f"{what} until {self.moments(call.until_us)}"
        outcome = call.outcome or ("-" if call.where is None else f"stands at {call.where}")
        if call.state in ("ok", "answered"):
            outcome = self._shown(outcome.encode()) + (f" (by {call.by})" if call.by else "")
        elif call.state == "error":
            outcome = error_text(outcome, "")
        tried = attempts_of_call(call, self.moments)
        outcome = "; ".join(part for part in (tried, outcome) if part and part != "-") or "-"
        return call.key, what, call.state, self.moments(call.at_us), outcome

    def _asked(self, call: CallView) -> str:
        """The arguments of a call: `[7] note="x"`."""
        given = (("args", call.args), ("kwargs", call.kwargs))
        fields = {name: self._shown(json) for name, json in given if json is not None}
        try:
            return asked({name: msgspec.json.decode(json) for name, json in fields.items()})
        except (ValueError, AttributeError, RecursionError):  # too deep, or all of it a secret
            return " ".join(fields.values())

    def _shown(self, json: bytes) -> str:
        return hide(json, show_secrets=self.show_secrets).decode()
