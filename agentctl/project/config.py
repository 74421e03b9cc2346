"""Finds and loads `kavach.toml`.

Precedence: flag, environment, file, default. Invariant: what this version doesn't act on is
refused, never ignored. Never reads the process's environment or arguments (they come in as
parameters) and never imports the project's code.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentctl.errors import NotFound, ProjectError
from agentctl.project.model import Project
from agentctl.project.reading import PROJECT_KEYS, read_agents, read_top, read_tz
from agentctl.project.toml_file import TomlFile

FILE_NAME: Final = "kavach.toml"
LOCAL_FILE_NAME: Final = "kavach.local.toml"


@dataclass(frozen=True, kw_only=True)
class Flags:
    """What the command line says about the project: `-C` and `--root`."""

    project: Path | None = None
    root: Path | None = None


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
    """
    flags, environ = flags or Flags(), environ or {}
    start, found_by = working_folder, "working folder"
    if flags.project is not None:
        start, found_by = working_folder / flags.project, "-C"
    elif environ.get("AGENTCTL_PROJECT"):
        start, found_by = working_folder / environ["AGENTCTL_PROJECT"], "AGENTCTL_PROJECT"
    path = find_file(start)
    if (local := path.with_name(LOCAL_FILE_NAME)).exists():
        raise ProjectError(
            f"{local}:1: this version of agentctl doesn't read {LOCAL_FILE_NAME} yet",
            hint=f"move what it says into {FILE_NAME}",
        )
    file = TomlFile.read(path)
    top = read_top(file)
    project = top.table("project")
    project.check_keys(PROJECT_KEYS)
    root, root_source = path.parent / (project.text("root") or "."), None
    if flags.root is not None:
        root, root_source = working_folder / flags.root, "--root"
    elif environ.get("AGENTCTL_ROOT"):
        root, root_source = working_folder / environ["AGENTCTL_ROOT"], "AGENTCTL_ROOT"
    return Project(
        name=project.text("name") or path.parent.name,
        folder=path.parent,
        root=Path(os.path.normpath(root.absolute())),
        tz=read_tz(project),
        agents=read_agents(top.table("agents")),
        file=file,
        found_by=found_by,
        root_source=root_source,
    )
