"""Where to look: the project, or only a folder that has `agents/` in it.

Invariant: reading needs no more than a root; what runs code needs a project. Never imports code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentctl.errors import NotFound
from agentctl.names import Address
from agentctl.nearest import nearest_hint
from agentctl.project.config import Flags, load_project
from agentctl.project.model import Project

if TYPE_CHECKING:
    from agentctl.engines.desk import Desk, Unanswered


@dataclass(frozen=True)
class Place:
    """A root, and the project that it belongs to, if there is one."""

    root: Path
    project: Project | None

    def start_of(self, agent: str) -> str:
        """Say how a program is started that runs this agent."""
        if self.project is not None and agent in self.project.agents:
            return f"agentctl run {agent}"
        return "start your program again"


def find_project(flags: Flags, environ: Mapping[str, str]) -> Project:
    """Find and load the project.

    Raises:
        NotFound: there is none.
        ProjectError: its `kavach.toml` can't be loaded.
    """
    return load_project(_working_folder(), flags=flags, environ=environ)


def find_place(flags: Flags, environ: Mapping[str, str]) -> Place:
    """Find where the agents' folders lie; with a root given, a project isn't needed.

    Raises:
        NotFound: there is neither.
        ProjectError: there is a `kavach.toml`, and it can't be loaded.
    """
    root = flags.root or (Path(environ["AGENTCTL_ROOT"]) if environ.get("AGENTCTL_ROOT") else None)
    try:
        project = find_project(flags, environ)
    except NotFound:
        if root is None or flags.settings:  # nothing would act on them
            raise
        return Place(_working_folder() / root, None)
    return Place(project.root, project)


def open_desk(place: Place, unanswered: Callable[[Unanswered], None] | None = None) -> Desk:
    """Open what can be asked of the agents' folders.

    Args:
        unanswered: hears that a program hasn't answered yet; what was asked goes on waiting.
    """
    from agentctl.engines.local.desk import FilesDesk

    return FilesDesk(place.root, unanswered=unanswered)


def choose_agents(place: Place, desk: Desk, agent: str | None) -> Sequence[tuple[str, Address]]:
    """Choose whom to read: the one that an address names, or all.

    Returns:
        Names, each with the address that narrows what is shown.

    Raises:
        NotFound: nobody has this name; with the nearest.
        UsageError: it is no address.
    """
    if agent is None:
        return [(name, Address(name)) for name in sorted(known_agents(place, desk))]
    address = Address.parse(agent)
    check_known(place, desk, address.agent)
    return [(address.agent, address)]


def known_agents(place: Place, desk: Desk) -> set[str]:
    """The agents that have a folder, and those that the project has."""
    return {*desk.agents(), *(place.project.agents if place.project else ())}


def check_known(place: Place, desk: Desk, agent: str) -> None:
    """Refuse an agent that nobody knows.

    Raises:
        NotFound: with the nearest names.
    """
    known = known_agents(place, desk)
    if agent not in known:
        raise NotFound(
            f"there is no agent {agent!r} here", hint=nearest_hint(agent, known, "agents")
        )


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise NotFound(
            f"the working folder can't be looked at: {error.strerror or error}",
            hint="change into a project's folder, or name one with -C DIR",
        ) from None
