"""Adds an agent from a template to a project that is there.

Invariant: no file is overwritten, and `kavach.toml` keeps every byte that it has: the agent's
tables are appended, last of all. Never runs code, neither the template's nor the project's.

The agent's code comes into the project's package, into modules that are named after the agent: what
the template has in `shop/bot.py` and `shop/world.py` is `shop/clerk.py` and `shop/clerk_world.py`
for an agent Clerk. So several agents of one template go side by side.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentctl.errors import AgentctlError, Conflict
from agentctl.names import check_agent_name
from agentctl.project.model import Project
from agentctl.project.scaffold import package_name
from agentctl.project.templates import (
    DEFAULT_TEMPLATE,
    Template,
    find_template,
    list_sources,
    list_templates,
    module_name,
    plan_words,
    rename,
)
from agentctl.project.toml_file import MAX_BYTES
from agentctl.project.writing import append, check_free, create_file, create_folder, writing

_ADDED: Final = ("agents", "schedules")
_OTHER_NAME: Final = "name the agent otherwise, or move what is there away"


@dataclass(frozen=True)
class Addition:
    """An agent that is to be added, with all that is to be written.

    Attributes:
        files: what is created, relative to the project's folder.
        tables: appended to `kavach.toml`.
        next_commands: what to try then.
    """

    project: Project
    agent: str
    files: Mapping[Path, str]
    tables: str
    next_commands: tuple[str, ...]

    @property
    def agent_folder(self) -> Path:
        """Where the agent's journal will be."""
        return self.project.root / "agents" / self.agent


def plan_addition(
    project: Project,
    agent: str,
    template: str = DEFAULT_TEMPLATE,
    *,
    templates: Path | None = None,
) -> Addition:
    """Plan what is to be written; nothing is yet.

    Raises:
        NotFound: there is no such template.
        UsageError: the agent's name can't be used.
        Conflict: the project has the agent, a schedule or a file of that name.
        ProjectError: `kavach.toml` can't be appended to.
    """
    chosen = find_template(template, list_templates(templates))
    package = _package_of(project)
    sources = list_sources(chosen.folder)
    words = plan_words(chosen, package, check_agent_name(agent), sources)
    _check_new(project, agent)
    names = _Names(chosen, package, words, sources)
    files = {
        names.path_of(path): names.in_text(path.read_text(encoding="utf-8"))
        for path in sources
        if names.belongs_to_agent(path)
    }
    if not (project.folder / names.folder / "__init__.py").exists():
        files[names.folder / "__init__.py"] = ""
    tables = _tables(names.in_text((chosen.folder / "kavach.toml").read_text(encoding="utf-8")))
    _check_new_schedules(project, tomllib.loads(tables).get("schedules", {}))
    addition = Addition(
        project,
        agent,
        dict(sorted(files.items())),
        tables,
        tuple(rename(each, words) for each in chosen.next),
    )
    paths = [project.folder / path for path in files]
    check_free(project.folder, paths, addition.agent_folder, hint=_OTHER_NAME)
    _appended(addition)
    return addition


def write_addition(addition: Addition) -> None:
    """Write it, `kavach.toml` last.

    Raises:
        Conflict: something appeared or changed meanwhile; nothing was written.
        DiskTrouble: a file couldn't be written; what was written is taken back.
    """
    folder = addition.project.folder
    before, more = _appended(addition)
    with writing(folder) as undo:
        for path, text in addition.files.items():
            create_folder((folder / path).parent, undo)
            create_file(folder / path, text, undo)
        create_folder(addition.agent_folder, undo, 0o700)
        append(addition.project.file.path, before, more, undo)


class _Names:
    """How a template's names and paths become those of an agent in a package."""

    def __init__(
        self, template: Template, package: str, words: Mapping[str, str], sources: Sequence[Path]
    ) -> None:
        self._template = template
        self._package = package
        self._words = words
        self.folder = Path(*package.split("."))
        self._inside = template.folder / template.package
        others = [
            path.stem
            for path in sources
            if path.parent == self._inside and path.stem not in ("__init__", template.module)
        ]
        self._others = {stem: f"{words[template.module]}_{stem}" for stem in others}
        alternatives = "|".join(map(re.escape, others)) or "(?!)"
        self._module = re.compile(rf"\b{re.escape(template.package)}\.({alternatives})\b")

    def belongs_to_agent(self, path: Path) -> bool:
        """Whether a source is the agent's code or its tests, not the project's."""
        is_code = path.parent == self._inside and path.name != "__init__.py"
        return is_code or path.parent == self._template.folder / "tests"

    def path_of(self, path: Path) -> Path:
        """Where a source of the agent's goes, relative to the project's folder."""
        if path.parent == self._inside:
            stem = self._others.get(path.stem) or rename(path.stem, self._words)
            return self.folder / f"{stem}{path.suffix}"
        return Path("tests", rename(path.name, self._words))

    def in_text(self, text: str) -> str:
        """Write a source's text for the agent."""
        told = self._module.sub(lambda found: f"{self._package}.{self._others[found[1]]}", text)
        return rename(told, self._words)


def _package_of(project: Project) -> str:
    """The package of the agents that are there; where there is none, one named like the folder."""
    for config in project.agents.values():
        package = config.cls.partition(":")[0].rpartition(".")[0]
        if package and project.folder.joinpath(*package.split(".")).is_dir():
            return package
    return package_name(project.folder.name)[0]


def _check_new(project: Project, agent: str) -> None:
    for name in project.agents:
        if name.lower() == agent.lower():
            raise Conflict(
                f"the project has an agent {name} already: "
                f"{project.file.source_of(('agents', name))}",
                hint=_OTHER_NAME,
            )
    for name, config in project.agents.items():
        taken = config.cls.partition(":")[0].rpartition(".")[2]
        if taken == module_name(agent):
            raise Conflict(f"the module of {name} has that name: {config.cls}", hint=_OTHER_NAME)


def _check_new_schedules(project: Project, names: Iterable[str]) -> None:
    for name in names:
        if name in project.schedule_tables:
            raise Conflict(
                f"the project has a schedule {name} already: "
                f"{project.file.source_of(('schedules', name))}",
                hint=_OTHER_NAME,
            )


def _tables(toml: str) -> str:
    import tomli_w

    values = tomllib.loads(toml)
    return tomli_w.dumps({key: values[key] for key in _ADDED if key in values})


def _appended(addition: Addition) -> tuple[bytes, bytes]:
    """What `kavach.toml` holds, and what comes behind it.

    Raises:
        ProjectError: it isn't written so that a table can come behind it.
    """
    file = addition.project.file.file
    before = file.path.read_bytes()
    line_end = "\r\n" if b"\r\n" in before else "\n"
    ends = not before or before.endswith(b"\n")
    text = ("" if ends else "\n") + ("\n" if before.strip() else "") + addition.tables
    more = text.replace("\n", line_end).encode()
    try:
        values = tomllib.loads((before + more).decode().replace("\r\n", "\n"))
    except ValueError:
        values = {}
    together: dict[str, Any] = dict(file.values)
    for key, added in tomllib.loads(addition.tables).items():
        there = file.values.get(key, {})
        together[key] = {**there, **added} if isinstance(there, dict) else added
    if values != together or len(before + more) > MAX_BYTES:
        raise _cannot_append(addition)
    return before, more


def _cannot_append(addition: Addition) -> AgentctlError:
    file = addition.project.file.file
    return file.error(
        ("agents",),
        f"[agents.{addition.agent}] can't be put behind what is there",
        hint="write each agent and schedule as a table of its own: [agents.NAME]",
    )
