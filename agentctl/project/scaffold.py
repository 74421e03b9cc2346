"""Writes a new project from a template.

Invariant: `kavach.toml` comes last, so that what a power cut leaves half done isn't taken for a
project. Never runs the template's code.
"""

from __future__ import annotations

import keyword
import re
import shlex
import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentctl.project.templates import (
    DEFAULT_TEMPLATE,
    find_template,
    list_sources,
    list_templates,
    plan_words,
    rename,
)
from agentctl.project.writing import check_free, create_file, create_folder, writing

_LAST: Final = "kavach.toml"
# The project's folder comes first on sys.path: its package would hide these.
_HIDDEN_BY_PACKAGE: Final = sys.stdlib_module_names | {
    *("agentctl", "agents", "tests"),
    *("click", "filelock", "msgspec", "pygments", "rich", "tomli_w", "typer", "watchfiles"),
    *("_pytest", "pytest"),
}


@dataclass(frozen=True)
class ScaffoldResult:
    """What was written.

    Attributes:
        files: relative to `folder`, in alphabetical order.
        package: the new package; `note` says why, if it isn't the folder's name.
        next_commands: three commands to try.
    """

    folder: Path
    package: str
    agent: str
    files: tuple[Path, ...]
    next_commands: tuple[str, ...]
    note: str | None = None


def create(
    folder: Path,
    template: str = DEFAULT_TEMPLATE,
    *,
    agent: str | None = None,
    templates: Path | None = None,
) -> ScaffoldResult:
    """Write a new project into `folder`, which may exist as long as no file of the project does.

    Raises:
        Conflict: a file is there already; nothing was written.
        NotFound: there is no such template.
        UsageError: the agent's name can't be used.
        DiskTrouble: a file couldn't be written; what was written is taken back.
    """
    chosen = find_template(template, list_templates(templates))
    package, note = package_name(folder.resolve().name)
    sources = list_sources(chosen.folder)
    words = plan_words(chosen, package, agent, sources)
    contents = {
        Path(rename(path.relative_to(chosen.folder).as_posix(), words)): rename(
            path.read_text(encoding="utf-8"), words
        )
        for path in sources
    }
    agent_name = words[chosen.agent]
    agent_folder = folder / "agents" / agent_name
    files = [folder / path for path in contents]
    check_free(folder, files, agent_folder, hint="name a folder that is new or empty")
    with writing(folder) as undo:
        for path in sorted(contents, key=lambda path: (path.name == _LAST, path)):
            create_folder((folder / path).parent, undo)
            if path.name == _LAST:
                create_folder(agent_folder, undo, 0o700)
            create_file(folder / path, contents[path], undo)
    return ScaffoldResult(
        folder=folder,
        package=package,
        agent=agent_name,
        files=tuple(sorted(contents)),
        next_commands=_next_commands(folder, [rename(each, words) for each in chosen.next]),
        note=note,
    )


def package_name(folder_name: str) -> tuple[str, str | None]:
    """Turn a folder's name into a package's, and say why if they differ.

    Letters lose their accents and become small, anything else becomes `_`: `My-Shop` is `my_shop`,
    `2nd` is `project_2nd`. A name that would hide another module gets `_project` behind it.
    """
    plain = unicodedata.normalize("NFKD", folder_name).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    if not name or name[0].isdigit():
        name = f"project_{name}".rstrip("_")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return f"{name}_project", f"the package is named {name}_project: {name} is a Python keyword"
    if name in _HIDDEN_BY_PACKAGE:
        why = f"a package {name} would hide another module of that name"
        return f"{name}_project", f"the package is named {name}_project: {why}"
    if name != folder_name:
        return name, f"the package is named {name}: {folder_name!r} can't be imported"
    return name, None


def _next_commands(folder: Path, commands: list[str]) -> tuple[str, ...]:
    if folder == Path():
        return tuple(commands[:3])
    shown = f"./{folder}" if str(folder).startswith("-") else str(folder)
    return (f"cd {shlex.quote(shown)}", *commands[:2])
