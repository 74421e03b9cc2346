"""Finds and loads `kavach.toml`, with what goes over it.

Precedence: flag, environment, local file, file, default. Invariant: what this version doesn't act
on is refused, never ignored. Never reads the process's environment or arguments (they come in as
parameters) and never imports the project's code.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentctl.errors import NotFound
from agentctl.project.checks import read_tz
from agentctl.project.layers import GivenLayer, Layer, Layers
from agentctl.project.model import Project
from agentctl.project.reading import PROJECT_KEYS, read_agents, read_top
from agentctl.project.schedule_tables import read_schedules
from agentctl.project.toml_file import TomlFile

FILE_NAME: Final = "kavach.toml"
LOCAL_FILE_NAME: Final = "kavach.local.toml"


@dataclass(frozen=True, kw_only=True)
class Flags:
    """What the command line says about the project: `-C`, `--root`, each `--set`."""

    project: Path | None = None
    root: Path | None = None
    settings: Sequence[str] = ()


def find_file(start: Path) -> Path:
    """Find the nearest `kavach.toml`, from `start` upwards; `start` may be the file itself.

    Raises:
        NotFound: there is none.
    """
    try:
        folder = start.resolve()
        if folder.name == FILE_NAME and folder.is_file():
            return folder
        if not folder.is_dir():
            raise NotFound(f"there is no folder {start}", hint="give a project's folder")
        for candidate in (folder, *folder.parents):
            if (candidate / FILE_NAME).is_file():
                return candidate / FILE_NAME
    except (OSError, ValueError, RuntimeError) as error:  # no access, NUL, a loop of links
        raise NotFound(f"{start} can't be looked at: {error}", hint="give another folder") from None
    raise NotFound(
        f"there is no {FILE_NAME} in {folder} or above it",
        hint="make a project with: agentctl new DIR; or name one's folder with -C DIR",
    )


def load_project(
    working_folder: Path, *, flags: Flags | None = None, environ: Mapping[str, str] | None = None
) -> Project:
    """Find and load the project; paths in flags and environment are relative to `working_folder`.

    Raises:
        NotFound: there is no `kavach.toml`.
        ProjectError: it can't be loaded; names file, line, key and what was expected.
        UsageError: a `--set` isn't understood.
    """
    flags, environ = flags or Flags(), environ or {}
    start, found_by = working_folder, "working folder"
    if flags.project is not None:
        start, found_by = working_folder / flags.project, "-C"
    elif environ.get("AGENTCTL_PROJECT"):
        start, found_by = working_folder / environ["AGENTCTL_PROJECT"], "AGENTCTL_PROJECT"
    path = find_file(start)
    file = _read_layers(path, flags, environ)
    top = read_top(file)
    project = top.table("project")
    project.check_keys(PROJECT_KEYS)
    root, root_source = path.parent / (project.text("root") or "."), None
    if flags.root is not None:
        root, root_source = working_folder / flags.root, "--root"
    elif environ.get("AGENTCTL_ROOT") and not file.is_given(("project", "root")):
        root, root_source = working_folder / environ["AGENTCTL_ROOT"], "AGENTCTL_ROOT"
    tz, agents = read_tz(project), read_agents(top.table("agents"))
    return Project(
        name=project.text("name") or path.parent.name,
        folder=path.parent,
        root=Path(os.path.normpath(root.absolute())),
        tz=tz,
        agents=agents,
        file=file,
        environ=environ,
        found_by=found_by,
        root_source=root_source,
        schedule_tables=read_schedules(top.table("schedules"), agents, tz),
    )


def _read_layers(path: Path, flags: Flags, environ: Mapping[str, str]) -> Layers:
    above: list[Layer] = []
    if (local := path.with_name(LOCAL_FILE_NAME)).exists():
        above.append(TomlFile.read(local))
    if lines := [line for line in environ.get("AGENTCTL_SET", "").splitlines() if line.strip()]:
        above.append(GivenLayer.parse("AGENTCTL_SET", lines))
    if flags.settings:
        above.append(GivenLayer.parse("--set", flags.settings))
    return Layers(TomlFile.read(path), tuple(above))
