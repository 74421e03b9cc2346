"""Loads a project's agents and makes the program that runs them.

Invariant: all code that a command needs is loaded before any folder is opened, so that a mistake
in it changes nothing. Never runs a handler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from msgspec import UNSET, UnsetType

from agentctl import hosting
from agentctl.engines.local.running.binding import check_denied, make_binding
from agentctl.engines.port import Listener
from agentctl.errors import NotFound, UsageError
from agentctl.ops.filed import filed
from agentctl.project.loading import LoadedAgent, load_agent
from agentctl.project.model import Project
from agentctl.sdk.agent import spec_of
from agentctl.sdk.settings import AgentSettings


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Settings that the command line puts in the place of the project's.

    Attributes:
        grace: None waits for running calls.
        counts: starts again are counted; not those that a save caused.
    """

    grace: timedelta | UnsetType | None = UNSET
    concurrency: int | None = None
    counts: bool = True

    def on(self, settings: AgentSettings) -> AgentSettings:
        """Apply them."""
        if not isinstance(self.grace, UnsetType):
            settings = replace(settings, grace=self.grace)
        if self.concurrency is not None:
            settings = replace(settings, concurrency=self.concurrency)
        return settings


def load_agents(project: Project, names: Sequence[str]) -> Sequence[LoadedAgent]:
    """Load these agents, or all that the project has.

    Raises:
        NotFound: there is no such agent, or none at all.
        ProjectError: the code of one can't be loaded, or lacks a call that is denied.
    """
    if not names and not project.agents:
        raise NotFound(
            f"{project.file.path} has no agents",
            hint='add one: [agents.Bot] with class = "module:Bot"',
        )
    for name in names:
        project.agent(name)
    wanted = dict.fromkeys(names) if names else project.agents
    loaded = [load_agent(project, name) for name in wanted]
    for one in loaded:
        _check_denied(project, one)
    return loaded


def _check_denied(project: Project, agent: LoadedAgent) -> None:
    spec = spec_of(agent.cls)
    for call in agent.deny:
        try:
            check_denied(spec, call)
        except UsageError as error:
            key = ("agents", spec.name, "deny", call)
            raise project.file.error(key, error.message, hint=error.hint) from None


def make_program(
    project: Project,
    agents: Sequence[LoadedAgent],
    listener: Listener,
    *,
    command: str,
    lock_wait_s: float,
    overrides: Overrides | None = None,
    schedules: bool = True,
) -> hosting.Host:
    """Make the program that runs these agents; entering it recovers them.

    Args:
        schedules: they fire, and those of the file are set; else they only lie on record.
    """
    chosen = overrides or Overrides()
    of_file = filed(project, agents) if schedules else None
    bindings = [
        make_binding(
            one.cls, one.capabilities, chosen.on(one.settings), one.deny, options=one.options
        )
        for one in agents
    ]
    return hosting.Host(
        *bindings,
        root=project.root,
        listener=listener,
        command=command,
        lock_wait_s=lock_wait_s,
        options=lambda base: replace(
            base, counts=chosen.counts, watches=True, schedules=schedules, filed=of_file
        ),
    )
