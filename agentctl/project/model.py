"""What a project says, as frozen data.

Invariant: these hold only values that were checked (`reading.py`). Never touches the disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from agentctl.core.retry import RetryPolicy
from agentctl.core.timing import Timing
from agentctl.errors import NotFound
from agentctl.names import Identity
from agentctl.nearest import nearest_hint
from agentctl.project.layers import Layers


@dataclass(frozen=True)
class FromEnvironment:
    """A value that an environment variable holds."""

    name: str

    def __str__(self) -> str:
        return f"env {self.name}"


@dataclass(frozen=True)
class FromFile:
    """A value that a file holds; `path` is relative to the project's folder."""

    path: str

    def __str__(self) -> str:
        return f"file {self.path}"


@dataclass(frozen=True)
class CapabilityConfig:
    """What a capability is bound to, and how it is called.

    Attributes:
        use: `module:Class`.
        arguments: of its constructor, by name: values, or where they come from.
        timeout: of each attempt of a call; `limit`: calls at once.
        retry: what is done about a failed attempt.
    """

    use: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    timeout: timedelta | None = None
    limit: int | None = None
    retry: RetryPolicy | None = None


@dataclass(frozen=True)
class AgentConfig:
    """One `[agents.NAME]`.

    Attributes:
        cls: `module:Class`.
        settings: only those that the file sets; `deny` maps `capability.method` to a reason.
    """

    name: str
    cls: str
    capabilities: Mapping[str, CapabilityConfig] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    deny: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ScheduleConfig:
    """One `[schedules.NAME]`.

    Attributes:
        instances: whose handler it runs; one without identity, for an agent that has none.
        args, kwargs: of the handler, as plain JSON values.
        enabled: false: it is as if the table weren't there.
    """

    name: str
    agent: str
    handler: str
    timing: Timing
    instances: tuple[Identity, ...] = ((),)
    args: Sequence[object] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)
    enabled: bool = True


@dataclass(frozen=True)
class FileSchedule:
    """A schedule of one instance that the project asks for, under the name of its timing.

    Attributes:
        args, kwargs: of the handler, as plain JSON values; checked once its code is loaded.
    """

    agent: str
    identity: Identity
    handler: str
    args: Sequence[object]
    kwargs: Mapping[str, object]
    timing: Timing


@dataclass(frozen=True)
class Project:
    """A loaded `kavach.toml`.

    Attributes:
        folder: where the file lies; code is imported from there.
        root: where `agents/` lies.
        schedule_tables: every `[schedules.NAME]`, also those that aren't enabled.
        file: all that was read, for lines in messages.
        environ: the environment, for values that come from there.
        found_by: what led to the file, and `root_source` to the root, if it wasn't the file.
    """

    name: str
    folder: Path
    root: Path
    tz: str | None
    agents: Mapping[str, AgentConfig]
    file: Layers = field(repr=False, compare=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    found_by: str = "working folder"
    root_source: str | None = None
    schedule_tables: Mapping[str, ScheduleConfig] = field(default_factory=dict)

    def schedules(self) -> Sequence[FileSchedule]:
        """List what is to be scheduled, one for each instance, in the order of the file."""
        return [
            FileSchedule(one.agent, identity, one.handler, one.args, one.kwargs, one.timing)
            for one in self.schedule_tables.values()
            if one.enabled
            for identity in one.instances
        ]

    def agent(self, name: str) -> AgentConfig:
        """Return the agent's table.

        Raises:
            NotFound: there is none; names the nearest.
        """
        try:
            return self.agents[name]
        except KeyError:
            raise NotFound(
                f"{self.file.path} has no agent {name!r}",
                hint=nearest_hint(name, self.agents, "agents"),
            ) from None
