"""Templates: projects to start from, and how the words in them are replaced.

A template is a working project. `template.toml` in it, which isn't copied, names the words that
stand for the new project's own: its package, its agent, and the module with the agent. They are
replaced as whole words, in contents and in names of files. Never runs the template's code.
"""

from __future__ import annotations

import keyword
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from token import NAME
from tokenize import tokenize
from typing import Final

from agentctl.errors import NotFound, UsageError
from agentctl.names import check_agent_name
from agentctl.nearest import nearest_hint

DEFAULT_TEMPLATE: Final = "refund"
_ABOUT_FILE: Final = "template.toml"
_NOT_COPIED: Final = frozenset([_ABOUT_FILE, "agents", "__pycache__", ".venv", "uv.lock"])
_NOT_COPIED_CACHES: Final = re.compile(r"\.\w+_cache|.*\.pyc|\.hypothesis|\.coverage.*")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Template:
    """A project to start from, and the words in it that stand for the new one's."""

    name: str
    folder: Path
    about: str
    package: str
    agent: str
    module: str
    next: tuple[str, ...]


def list_templates(folder: Path | None = None) -> list[Template]:
    """List the templates in `folder`, the default one first; those that agentctl comes with."""
    folder = folder or templates_folder()
    found = [_read_template(path.parent) for path in sorted(folder.glob(f"*/{_ABOUT_FILE}"))]
    return sorted(found, key=lambda one: one.name != DEFAULT_TEMPLATE)


def templates_folder() -> Path:
    """Return where the templates lie: in the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def find_template(name: str, known: list[Template]) -> Template:
    """Find a template by its name.

    Raises:
        NotFound: there is none; names the nearest.
    """
    for template in known:
        if template.name == name:
            return template
    raise NotFound(
        f"there is no template {name!r}",
        hint=nearest_hint(name, [each.name for each in known], "templates"),
    )


def _read_template(folder: Path) -> Template:
    values = tomllib.loads((folder / _ABOUT_FILE).read_text(encoding="utf-8"))
    return Template(folder.name, folder, **{**values, "next": tuple(values["next"])})


def list_sources(folder: Path) -> list[Path]:
    """List the files of a template that are copied."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(
            part in _NOT_COPIED or _NOT_COPIED_CACHES.fullmatch(part)
            for part in path.relative_to(folder).parts
        )
    )


def plan_words(
    template: Template, package: str, agent: str | None, sources: list[Path]
) -> Mapping[str, str]:
    """Plan what stands for the template's own words.

    Raises:
        UsageError: the agent's name can't be one, or means something else in the code.
    """
    agent = check_agent_name(agent or template.agent)
    module = module_name(agent)
    words = {
        template.package: package,
        template.agent: agent,
        template.module: module,
        f"test_{template.module}": f"test_{module}",
    }
    if agent == template.agent:
        return words
    taken = {path.stem for path in sources}
    for path in sources:
        if path.suffix == ".py":
            taken.update(_names_in(path))
    taken -= words.keys()
    for name in (agent, module):
        if name in taken or name == package or keyword.iskeyword(name):
            raise UsageError(
                f"the agent can't be named {agent}: {name} means something else in its code",
                hint="choose another name",
            )
    return words


def module_name(agent: str) -> str:
    """The module of an agent: `OrderRefunder` is in `order_refunder`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", agent).lower()


def _names_in(path: Path) -> set[str]:
    with path.open("rb") as stream:
        return {each.string for each in tokenize(stream.readline) if each.type == NAME}


def rename(text: str, words: Mapping[str, str]) -> str:
    """Replace whole words."""
    return _WORD.sub(lambda found: words.get(found[0], found[0]), text)
