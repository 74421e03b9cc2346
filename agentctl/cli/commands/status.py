"""`agentctl status`: how each agent stands, and whether that is well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from agentctl.cli.commands.asking import AgentArgument
from agentctl.cli.failures import RESTORE, Failure, write_failure
from agentctl.cli.moments import Moments, size_of, span_of
from agentctl.cli.output import Output
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_rows
from agentctl.errors import UsageError
from agentctl.nearest import nearest_hint
from agentctl.ops import documents, places
from agentctl.ops.health import FAILS, OVERDUE, Wrong, status_of
from agentctl.ops.instants import parse_instant
from agentctl.ops.view_documents import AgentStatus, EventCounts
from agentctl.times import SECOND_US, SystemClock

EXAMPLES = (
    ("agentctl status", "each agent: who runs it, how many events stand where"),
    ("agentctl status --check", "the same for a health probe: exit code 1 if it isn't well"),
    ("agentctl status Bot --check --fail-on stuck", "only stuck events count"),
)
STATES: Final = EventCounts.__struct_fields__


@dataclass(frozen=True)
class Request:
    """Whom to tell of, and what isn't well."""

    agent: str | None
    check: bool
    fail_on: frozenset[str]


def parse(
    *,
    agent: AgentArgument = None,
    check: Annotated[
        bool, typer.Option("--check", help="exit code 1 if something isn't well")
    ] = False,
    fail_on: Annotated[
        str,
        typer.Option("--fail-on", metavar="WORD,...", help="what isn't well (all three)"),
    ] = ",".join(FAILS),
) -> Request:
    """Tell how each agent stands: who runs it, how many events stand where, what is due next.

    Of what waits for somebody it names the call that has waited longest. Not well are late events
    and schedules (over a minute), stuck and set-aside events: late, stuck, set-aside; and in any
    case a damaged journal.
    """
    words = frozenset(word.strip().replace("_", "-") for word in fail_on.split(",") if word.strip())
    for word in words - frozenset(FAILS):
        raise UsageError(
            f"--fail-on: {word!r} isn't known", hint=nearest_hint(word, FAILS, "words")
        )
    return Request(agent, check, words)


def execute(request: Request, output: Output) -> int:
    """Tell it."""
    place = find_place(output)
    desk = places.open_desk(place)
    agents = [name for name, _ in places.choose_agents(place, desk, request.agent)]
    document, wrong = status_of(desk, agents, request.fail_on, place.start_of)
    if output.options.json:
        output.document(documents.encode(document))
    else:
        _write(document.agents, output)
        for agent in document.agents:
            for warning in agent.warnings:
                output.note(f"{agent.agent}: {warning}")
    if not request.check or document.healthy:
        return 0
    detail = "\n".join(f"{one.agent}: {one.text}" for one in wrong)
    write_failure(Failure(1, "not all is well", detail, _hint(wrong)), output)
    return 1


def _hint(wrong: Sequence[Wrong]) -> str:
    """What shows each of these things."""
    damaged = [one.agent for one in wrong if one.what == "damaged"]
    looks = [f"agentctl inspect journal {agent}" for agent in damaged[:1]]
    states = [word for word in ("stuck", "set-aside") if any(one.what == word for one in wrong)]
    if states:
        looks.append(f"agentctl invocation list --status {','.join(states)}")
    if any(one.what == "late" for one in wrong):
        looks.append("agentctl invocation list --status scheduled,queued,sleeping")
    if any(one.what == OVERDUE for one in wrong):
        looks.append("agentctl schedule list")
    restore = f"; {RESTORE}" if damaged else ""
    return f"look closer: {'; '.join(looks)}{restore}"


def _write(agents: Sequence[AgentStatus], output: Output) -> None:
    moments = Moments(SystemClock().now_us(), relative=output.is_terminal)

    def due(agent: AgentStatus) -> str:
        return "-" if agent.next_due is None else moments(parse_instant(agent.next_due))

    if output.is_terminal:
        titles = ("agent", "run by", "next due", "journal", "events")
        rows = [
            (
                one.agent,
                _program(one, moments),
                due(one),
                size_of(one.journal_bytes),
                _events(one),
            )
            for one in agents
        ]
        write_rows(titles, rows, output)
        return
    plain_rows = [
        (
            one.agent,
            "-" if one.holder is None else f"{one.holder.pid} {one.holder.command}",
            *(str(getattr(one.events, state)) for state in STATES),
            str(one.set_aside),
            due(one),
            str(one.journal_bytes),
            f"{one.late_s:.3f}",
            f"{one.longest_wait_s:.3f}",
            one.waits_longest or "-",
        )
        for one in agents
    ]
    write_rows((), plain_rows, output)


def _program(one: AgentStatus, moments: Moments) -> str:
    if one.holder is None:
        return "-"
    since = f", {moments(parse_instant(one.holder.since))}" if one.holder.since else ""
    return f"{one.holder.command} (pid {one.holder.pid}{since})"


def _events(one: AgentStatus) -> str:
    """How many stand where, leaving out where none does."""
    counts = [(getattr(one.events, state), state) for state in STATES]
    told = [f"{number} {state}" for number, state in (*counts, (one.set_aside, "set aside"))]
    if one.waits_longest is not None:
        waiting, span = STATES.index("waiting"), span_of(round(one.longest_wait_s * SECOND_US))
        told[waiting] += f" (longest {one.waits_longest}, {span})"
    some = [text for text in told if not text.startswith("0 ")]
    late = [f"{one.late_s:.0f} s late"] if one.late_s >= 1 else []
    return ", ".join([*some, *late]) or "none open"
