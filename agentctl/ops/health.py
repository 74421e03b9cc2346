"""How agents stand, and whether that is well: what `status` tells.

Invariant: a damaged journal is never well. Takes no lock and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentctl.engines.changes import State
from agentctl.engines.desk import Desk
from agentctl.engines.views import MANY_RECORDS, CountView
from agentctl.ops.instants import moment
from agentctl.ops.view_documents import AgentStatus, EventCounts, StatusDocument
from agentctl.ops.views import seen_holder
from agentctl.times import SECOND_US, to_rfc3339

FAILS: Final = ("late", "stuck", "set-aside")
"""What is not well, unless less is asked for."""

OVERDUE: Final = "overdue"
"""Of what is late: a schedule that should have fired."""

LATE_FROM_S: Final = 60.0
"""An event may wait so long for others under suspicion (R10); beyond that it is late."""

_SAID: Final = 5
_FIRST_NAME: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class Wrong:
    """What isn't well with an agent.

    Attributes:
        what: a word of `FAILS`, or `damaged`, or `OVERDUE`.
    """

    agent: str
    what: str
    text: str


def status_of(
    desk: Desk, agents: Sequence[str], fail_on: frozenset[str], start_of: Callable[[str], str]
) -> tuple[StatusDocument, Sequence[Wrong]]:
    """Tell how agents stand.

    Args:
        start_of: says how a program is started that runs an agent.

    Returns:
        The document, and what isn't well.

    Raises:
        FormatTooNew: a later version wrote a journal.
    """
    counted = [desk.count(agent) for agent in agents]
    wrong = [line for one in counted for line in _wrong(one, fail_on)]
    said = _said(counted)
    agents_stand = [_status(one, start_of(one.agent), said[one.agent]) for one in counted]
    return StatusDocument(not wrong, tuple(agents_stand)), wrong


def _status(count: CountView, start: str, said: Sequence[str]) -> AgentStatus:
    counts = {str(state): number for state, number in count.counts.items()}
    return AgentStatus(
        count.agent,
        seen_holder(count.holder),
        EventCounts(**counts),
        count.set_aside,
        moment(count.next_due_us),
        count.journal_bytes,
        count.late_us / SECOND_US,
        (*_warnings(count, start), *said),
        count.longest_wait_us / SECOND_US,
        count.waits_longest,
    )


def _warnings(count: CountView, start: str) -> Iterator[str]:
    if count.damaged is not None:
        line, reason = count.damaged
        yield f"the journal is damaged at line {line}: {reason}"
    open_events = sum(count.counts.values())
    if (open_events or count.schedules) and count.holder is None:
        waits = [f"{_events(open_events)} open"] if open_events else []
        if count.schedules:
            waits.append(_schedules(count.schedules))
        yield f"no program runs it, and {' and '.join(waits)}: {start}"
    if count.cancelling:
        shown = ", ".join(map(str, count.cancelling[:_SAID]))
        more = f" and {len(count.cancelling) - _SAID} more" if count.cancelling[_SAID:] else ""
        yield f"cancelled, and not at an end yet: {shown}{more}"
    for event in count.long:
        yield f"{event} has more than {MANY_RECORDS} records: it is slow to start again"


def _said(counted: Sequence[CountView]) -> Mapping[str, Sequence[str]]:
    """What the programs themselves warned of: a handler that blocks its turn, say.

    A program says the same of each of its agents, and it is told once: of the agent that it
    begins with, or else of the first.
    """
    said: dict[str, list[str]] = {one.agent: [] for one in counted}
    heard: set[tuple[int, str]] = set()
    for one in counted:
        for at_us, text in () if one.inside is None else one.inside.warnings[-_SAID:]:
            if (at_us, text) not in heard:
                heard.add((at_us, text))
                named = _FIRST_NAME.match(text)
                owner = named[0] if named is not None and named[0] in said else one.agent
                said[owner].append(f"{text} ({to_rfc3339(at_us)})")
    return said


def _wrong(count: CountView, fail_on: frozenset[str]) -> Iterator[Wrong]:
    agent = count.agent
    if count.damaged is not None:
        yield Wrong(agent, "damaged", f"the journal is damaged at line {count.damaged[0]}")
    stuck = count.counts.get(State.STUCK, 0)
    if stuck and "stuck" in fail_on:
        yield Wrong(agent, "stuck", f"{_events(stuck)} stuck")
    if count.set_aside and "set-aside" in fail_on:
        yield Wrong(agent, "set-aside", f"{_events(count.set_aside)} set aside")
    if "late" in fail_on:
        yield from _late(count)


def _late(count: CountView) -> Iterator[Wrong]:
    """What is due first stands for the rest: it is told of an event only if that is it."""
    late_s, schedules_late_s = count.late_us / SECOND_US, count.schedules_late_us / SECOND_US
    if schedules_late_s > LATE_FROM_S:
        yield Wrong(count.agent, OVERDUE, f"a schedule is {schedules_late_s:.0f} s overdue")
    if late_s > LATE_FROM_S and late_s > schedules_late_s:
        yield Wrong(count.agent, "late", f"an event is {late_s:.0f} s late")


def _schedules(number: int) -> str:
    return "1 schedule is set" if number == 1 else f"{number} schedules are set"


def _events(number: int) -> str:
    return "1 event is" if number == 1 else f"{number} events are"
