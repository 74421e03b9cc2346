"""What `kavach.toml` schedules and no program has set yet, and what the next one that starts drops.

Invariant: reads the project's tables, never its code: identities are compared as they are written,
but for leading zeros. Takes no lock and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from agentctl.names import Address, Identity, format_instance
from agentctl.ops.schedule_documents import SeenSchedule
from agentctl.project.model import Project

_NUMBER: Final = re.compile(r"(-?)0*([0-9]+)")

_At: TypeAlias = tuple[str, Identity, str]
"""Agent, identity and name, in a form in which 07 and 7 are one."""


@dataclass(frozen=True)
class Filed:
    """How `kavach.toml` and the journals differ.

    Attributes:
        unset: names of schedules that only the file has; the next start sets them.
        gone: names of those that were the file's and aren't any more; the next start cancels them.
    """

    unset: Sequence[str] = ()
    gone: Sequence[str] = ()


def compare(
    project: Project | None,
    chosen: Sequence[tuple[str, Address]],
    there: Sequence[SeenSchedule],
    *,
    now_us: int,
) -> Filed:
    """Compare what the file says of some agents with what of theirs is on record."""
    if project is None:
        return Filed()
    addresses = dict(chosen)
    asked = {
        _at(one.agent, one.identity, name): _shown(one.agent, one.identity, name)
        for one in project.schedules()
        if (name := one.timing.name) is not None
        and (one.timing.recurs or one.timing.due_us is None or one.timing.due_us > now_us)
        and one.agent in addresses
        and _is_named(one.identity, addresses[one.agent])
    }
    filed = {_at(one.agent, one.identity, one.timing.name or "") for one in project.schedules()}
    known = {
        _at(one.agent, Address.parse(one.instance).identity, one.name): one
        for one in there
        if one.name is not None
    }
    return Filed(
        [shown for at, shown in asked.items() if at not in known],
        [
            _shown(one.agent, Address.parse(one.instance).identity, one.name or "")
            for at, one in known.items()
            if one.source == "file" and at not in filed and one.agent in project.agents
        ],
    )


def is_filed(project: Project | None, instance: Address, name: str) -> bool:
    """Whether the file has a schedule of this name for this instance."""
    wanted = _at(instance.agent, instance.identity, name)
    return project is not None and any(
        _at(one.agent, one.identity, one.timing.name or "") == wanted for one in project.schedules()
    )


def _at(agent: str, identity: Identity, name: str) -> _At:
    return agent, tuple(map(_bare, identity)), name


def _bare(part: str) -> str:
    """Drop a number's leading zeros: only the code knows whether it is one."""
    found = _NUMBER.fullmatch(part)
    return part if found is None else f"{found[1]}{found[2]}"


def _shown(agent: str, identity: Identity, name: str) -> str:
    return f"{format_instance(agent, identity)} {name}" if identity else name


def _is_named(identity: Identity, address: Address) -> bool:
    same = not address.identity or tuple(map(_bare, address.identity)) == tuple(
        map(_bare, identity)
    )
    return same and address.event is None
