"""How agents stand, and whether that is well: what `status` tells.

Invariant: a damaged journal is never well. Takes no lock and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentctl.engines.changes import State
from agentctl.engines.port import Desk
from agentctl.engines.views import MANY_RECORDS, CountView
from agentctl.ops.view_documents import AgentStatus, EventCounts, StatusDocument
from agentctl.ops.views import moment, seen_holder
from agentctl.times import SECOND_US, to_rfc3339

FAILS: Final = ("late", "stuck", "set-aside")
"""What is not well, unless less is asked for."""

LATE_FROM_S: Final = 60.0
"""An event may wait so long for others under suspicion (R10); beyond that it is late."""

_SAID: Final = 5


@dataclass(frozen=True)
class Wrong:
    """What isn't well with an agent.

    Attributes:
        what: a word of `FAILS`, or `damaged`.
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
    return StatusDocument(not wrong, tuple(_status(one, start_of) for one in counted)), wrong


def _status(count: CountView, start_of: Callable[[str], str]) -> AgentStatus:
    counts = {str(state): number for state, number in count.counts.items()}
    return AgentStatus(
        count.agent,
        seen_holder(count.holder),
        EventCounts(**counts),
        count.set_aside,
        moment(count.next_due_us),
        count.journal_bytes,
        count.late_us / SECOND_US,
        (*_warnings(count, start_of(count.agent)), *_said(count)),
    )


def _warnings(count: CountView, start: str) -> Iterator[str]:
    if count.damaged is not None:
        line, reason = count.damaged
        yield f"the journal is damaged at line {line}: {reason}"
    open_events = sum(count.counts.values())
    if open_events and count.holder is None:
        yield f"no program runs it, and {_events(open_events)} open: {start}"
    if count.cancelling:
        shown = ", ".join(map(str, count.cancelling[:_SAID]))
        more = f" and {len(count.cancelling) - _SAID} more" if count.cancelling[_SAID:] else ""
        yield f"cancelled, and not at an end yet: {shown}{more}"
    for event in count.long:
        yield f"{event} has more than {MANY_RECORDS} records: it is slow to start again"


def _said(count: CountView) -> Iterator[str]:
    """What the program itself warned of: a handler that blocks its turn, say."""
    for at_us, text in () if count.inside is None else count.inside.warnings[-_SAID:]:
        yield f"{text} ({to_rfc3339(at_us)})"


def _wrong(count: CountView, fail_on: frozenset[str]) -> Iterator[Wrong]:
    agent = count.agent
    if count.damaged is not None:
        yield Wrong(agent, "damaged", f"the journal is damaged at line {count.damaged[0]}")
    stuck = count.counts.get(State.STUCK, 0)
    if stuck and "stuck" in fail_on:
        yield Wrong(agent, "stuck", f"{_events(stuck)} stuck")
    if count.set_aside and "set-aside" in fail_on:
        yield Wrong(agent, "set-aside", f"{_events(count.set_aside)} set aside")
    late_s = count.late_us / SECOND_US
    if late_s > LATE_FROM_S and "late" in fail_on:
        yield Wrong(agent, "late", f"an event is {late_s:.0f} s late")


def _events(number: int) -> str:
    return "1 event is" if number == 1 else f"{number} events are"
