"""Writes a new project from a template.

Invariant: nothing that exists is ever overwritten (each file is created exclusively), and a
failure takes back what was written; `kavach.toml` comes last, so that what a power cut leaves
half done isn't taken for a project. Never runs the template's code.

A template is a working project. `template.toml` in it, which isn't copied, names the words that
stand for the new project's own: its package, its agent, and the module with the agent. They are
replaced as whole words, in contents and in names of files.
"""

from __future__ import annotations

import keyword
import re
import shlex
import sys
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from token import NAME
from tokenize import tokenize
from typing import Final

from agentctl.errors import Conflict, DiskTrouble, NotFound, UsageError
from agentctl.names import check_agent_name
from agentctl.nearest import nearest_hint

DEFAULT_TEMPLATE: Final = "refund"
_ABOUT_FILE: Final = "template.toml"
_LAST: Final = "kavach.toml"
_NOT_COPIED: Final = frozenset([_ABOUT_FILE, "agents", "__pycache__", ".venv", "uv.lock"])
_NOT_COPIED_CACHES: Final = re.compile(r"\.\w+_cache|.*\.pyc|\.hypothesis|\.coverage.*")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The project's folder comes first on sys.path: its package would hide these.
_HIDDEN_BY_PACKAGE: Final = sys.stdlib_module_names | {
    *("agentctl", "agents", "tests"),
    *("click", "filelock", "msgspec", "pygments", "rich", "tomli_w", "typer", "watchfiles"),
    *("_pytest", "pytest"),
}


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


def list_templates(folder: Path | None = None) -> list[Template]:
    """List the templates in `folder`, by name; by default those that agentctl comes with."""
    folder = folder or templates_folder()
    return [_read_template(path.parent) for path in sorted(folder.glob(f"*/{_ABOUT_FILE}"))]


def templates_folder() -> Path:
    """Return where the templates lie: in the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


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
    chosen = _find_template(template, list_templates(templates))
    package, note = package_name(folder.resolve().name)
    sources = _list_sources(chosen.folder)
    words = _plan_words(chosen, package, agent, sources)
    contents = {
        Path(_rename(path.relative_to(chosen.folder).as_posix(), words)): _rename(
            path.read_text(encoding="utf-8"), words
        )
        for path in sources
    }
    agent_name = words[chosen.agent]
    agent_folder = folder / "agents" / agent_name
    _check_free(folder, [folder / path for path in contents], agent_folder)
    _write(folder, contents, agent_folder)
    return ScaffoldResult(
        folder=folder,
        package=package,
        agent=agent_name,
        files=tuple(sorted(contents)),
        next_commands=_next_commands(folder, [_rename(each, words) for each in chosen.next]),
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


def _find_template(name: str, known: list[Template]) -> Template:
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


def _list_sources(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(
            part in _NOT_COPIED or _NOT_COPIED_CACHES.fullmatch(part)
            for part in path.relative_to(folder).parts
        )
    )


def _plan_words(
    template: Template, package: str, agent: str | None, sources: list[Path]
) -> Mapping[str, str]:
    agent = check_agent_name(agent or template.agent)
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", agent).lower()
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


def _names_in(path: Path) -> set[str]:
    with path.open("rb") as stream:
        return {each.string for each in tokenize(stream.readline) if each.type == NAME}


def _rename(text: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda found: words.get(found[0], found[0]), text)


def _check_free(folder: Path, files: list[Path], agent_folder: Path) -> None:
    try:
        if folder.exists() and not folder.is_dir():
            raise Conflict(f"{folder} is a file", hint="name a folder that is new or empty")
        there = [path for path in files if path.exists() or path.is_symlink()]
        if agent_folder.is_dir() and any(agent_folder.iterdir()):
            there.append(agent_folder)
    except OSError as error:
        raise _disk_trouble(folder, error) from None
    if there:
        listed = ", ".join(str(path) for path in there[:8]) + (", …" if len(there) > 8 else "")
        raise Conflict(
            f"{'this is' if len(there) == 1 else 'these are'} there already: {listed}",
            hint="nothing was written; name a folder that is new or empty",
        )


def _write(folder: Path, contents: Mapping[Path, str], agent_folder: Path) -> None:
    """Create everything, `kavach.toml` last; take all of it back if something fails."""
    with ExitStack() as undo:
        try:
            for path in sorted(contents, key=lambda path: (path.name == _LAST, path)):
                _create_folder((folder / path).parent, undo, 0o777)
                if path.name == _LAST:
                    _create_folder(agent_folder, undo, 0o700)
                with (folder / path).open("x", encoding="utf-8", newline="\n") as stream:
                    undo.callback(_take_back, (folder / path).unlink)
                    stream.write(contents[path])
                (folder / path).chmod(0o644)
        except FileExistsError as error:  # made by somebody else in this moment
            raise Conflict(
                f"this is there already: {error.filename}", hint="nothing was written"
            ) from None
        except OSError as error:
            raise _disk_trouble(folder, error) from None
        undo.pop_all()


def _create_folder(folder: Path, undo: ExitStack, mode: int) -> None:
    if folder.is_dir():
        return
    if folder.parent != folder:  # else the working folder was deleted
        _create_folder(folder.parent, undo, mode)
    folder.mkdir(mode)
    undo.callback(_take_back, folder.rmdir)


def _take_back(remove: Callable[[], None]) -> None:
    with suppress(OSError):  # what others have put there in the meantime stays
        remove()


def _disk_trouble(folder: Path, error: OSError) -> DiskTrouble:
    return DiskTrouble(
        f"the project can't be written to {folder}: {error.strerror or error}",
        hint="nothing was left behind; choose a folder that you may write to",
    )


def _next_commands(folder: Path, commands: list[str]) -> tuple[str, ...]:
    if folder == Path():
        return tuple(commands[:3])
    shown = f"./{folder}" if str(folder).startswith("-") else str(folder)
    return (f"cd {shlex.quote(shown)}", *commands[:2])
