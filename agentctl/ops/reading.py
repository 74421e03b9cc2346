"""Reads what else lies in agents' folders: audit log, set-aside, state.

Invariant: as `ops.journal`: takes no lock, changes nothing, hides secrets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Raw

from agentctl.engines.desk import Desk
from agentctl.errors import Damaged
from agentctl.names import Address
from agentctl.ops.documents import (
    SeenAudit,
    SeenSetAside,
    SeenState,
    SetAsideOfAgent,
    StateOfAgent,
)
from agentctl.ops.hidden import hide
from agentctl.ops.journal import JournalQuery
from agentctl.times import to_rfc3339


def read_audit(desk: Desk, agent: str, query: JournalQuery) -> SeenAudit:
    """Read one agent's audit log; of the query, its times, `grep`, `last` and `reverse` count."""
    since = None if query.since_us is None else to_rfc3339(query.since_us)
    until = None if query.until_us is None else to_rfc3339(query.until_us)
    about = None if query.event is None else re.compile(rf"event #{query.event}\b")
    lines = [
        line
        for line in desk.audit(agent)
        if (since is None or line.partition(" ")[0] >= since)
        and (until is None or line.partition(" ")[0] <= until)
        and (about is None or about.search(line))
        and (query.grep is None or query.grep.search(line))
    ]
    if query.last is not None and query.last < len(lines):
        lines = lines[len(lines) - query.last :]
    return SeenAudit(agent, tuple(reversed(lines) if query.reverse else lines))


def read_set_aside(desk: Desk, agent: str, *, show_secrets: bool = False) -> SetAsideOfAgent:
    """Read one agent's set-aside events.

    Raises:
        SetAsideDamaged: a line can't be read.
    """

    def shown(json: bytes) -> Raw:
        return Raw(hide(json, show_secrets=show_secrets))

    return SetAsideOfAgent(
        agent,
        tuple(
            SeenSetAside(
                str(view.event),
                view.handler,
                shown(view.args),
                view.starts,
                tuple(shown(record) for record in view.records),
            )
            for view in desk.set_aside(agent)
        ),
    )


def set_aside_lines(desk: Desk, agent: str, *, show_secrets: bool = False) -> Sequence[bytes]:
    """Read the lines of one agent's file `set-aside`, whatever they are."""
    text = desk.set_aside_text(agent)
    return [hide(line, show_secrets=show_secrets) for line in text.splitlines()]


def under_way(desk: Desk, agent: str) -> Sequence[tuple[Address, Sequence[str]]]:
    """The calls that a crash cut off, which the lines of `set-aside` don't show, by event."""
    try:
        return [(view.event, view.under_way) for view in desk.set_aside(agent) if view.under_way]
    except Damaged:
        return []  # the lines are shown as they stand; whoever requeues is told what is wrong


def read_states(
    desk: Desk, agent: str, address: Address, *, show_secrets: bool = False
) -> StateOfAgent:
    """Read the committed state of one agent's instances, or of the one that is named."""
    return StateOfAgent(
        agent,
        tuple(
            SeenState(str(instance), Raw(hide(state, show_secrets=show_secrets)))
            for instance, state in sorted(desk.states(agent).items())
            if not address.identity or instance.identity == address.identity
        ),
    )
