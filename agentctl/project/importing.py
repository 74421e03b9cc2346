"""Imports a project's classes and guards its code.

Invariant: whatever the user's code raises, the answer is one error that names the line it comes
from; if the user's own code raised, that error is its `__cause__`, with the user's frames alone.
Puts the project's folder first on `sys.path` and leaves it there. Never shows a hidden text.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Final, TypeVar

from agentctl.errors import AgentctlError, ProjectError
from agentctl.frames import is_users
from agentctl.nearest import nearest_hint
from agentctl.project.model import Project
from agentctl.project.toml_lines import KeyPath

T = TypeVar("T")

_IN_OWN_CODE: Final = "the error is in the project's own code"


def import_class(project: Project, key: KeyPath, reference: str) -> type:
    """Import the class that `module:Class` names.

    Raises:
        ProjectError: it isn't there, or its module can't be imported.
    """
    module_name, _, class_name = reference.partition(":")
    module = _import_module(project, key, module_name)
    found = getattr(module, class_name, None)
    if found is None:
        names = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise project.file.error(
            key,
            f"the module {module_name} has no class {class_name}",
            hint=nearest_hint(class_name, [n for n in names if not n.startswith("_")], "classes"),
        )
    if not isinstance(found, type):
        raise project.file.error(
            key,
            f"{reference} is no class",
            hint="name the class itself; agentctl makes the object",
        )
    return found


def _import_module(project: Project, key: KeyPath, name: str) -> ModuleType:
    folder = str(project.folder)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()

    def load() -> ModuleType:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            is_named_here = error.name is not None and f"{name}.".startswith(f"{error.name}.")
            if is_named_here and _users_frames(error.__traceback__) is None:
                raise _no_module(project, key, name) from None
            raise

    return guard(project, key, f"the module {name} can't be imported", load)


def _no_module(project: Project, key: KeyPath, name: str) -> AgentctlError:
    relative = name.replace(".", "/")
    near = sorted(
        path.relative_to(project.folder).with_suffix("").as_posix().replace("/", ".")
        for pattern in ("*.py", "*/*.py")
        for path in project.folder.glob(pattern)
        if path.stem.isidentifier() and path.stem != "__init__"
    )
    return project.file.error(
        key,
        f"there is no module {name}: expected {relative}.py in {project.folder}",
        hint=nearest_hint(name, near[:50], "modules"),
    )


def guard(
    project: Project,
    key: KeyPath,
    what: str,
    action: Callable[[], T],
    *,
    hidden: Collection[str] = (),
) -> T:
    """Run the user's code; turn what it raises into one error.

    Args:
        hidden: texts that no error may show.

    Raises:
        ProjectError: whatever the code raises.
    """
    try:
        return action()
    except ProjectError:
        raise
    except AgentctlError as error:  # BadAgentClass and its kind say all that there is to say
        if _shows(error, hidden):
            raise _silent(project, key, what, error) from None
        raise _refusal(project, key, what, error) from None
    except (Exception, SystemExit) as error:
        if _shows(error, hidden):
            raise _silent(project, key, what, error) from None
        raise _refusal(project, key, what, error) from error


def _silent(project: Project, key: KeyPath, what: str, error: BaseException) -> AgentctlError:
    told = f"{what}: {type(error).__name__}; its text holds what may not be shown"
    return project.file.error(key, told, hint=_IN_OWN_CODE)


def _refusal(project: Project, key: KeyPath, what: str, error: BaseException) -> AgentctlError:
    frames = _users_frames(error.__traceback__)
    place = _place_of(project, error, frames)
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    told = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, AgentctlError):
        return project.file.error(key, f"{what}: {place}{text}", hint=error.hint)
    error.__traceback__ = frames
    return project.file.error(key, f"{what}: {place}{told}", hint=_IN_OWN_CODE)


def _place_of(project: Project, error: BaseException, frames: TracebackType | None) -> str:
    """Say where the error comes from: the last line of the project's own code, if there is one."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 1}: "
    inside, last = "", ""
    while frames is not None:
        filename = frames.tb_frame.f_code.co_filename
        if is_users(filename):
            last = f"{filename}:{frames.tb_lineno}: "
            if Path(filename).is_relative_to(project.folder) and "site-packages" not in filename:
                inside = last
        frames = frames.tb_next
    return inside or last


def _users_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Drop the frames in front of the user's first one: ours, and those of the import system."""
    while traceback is not None and not is_users(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


def _shows(error: BaseException, hidden: Collection[str]) -> bool:
    """Whether an error, or one that led to it, holds one of these texts."""
    pending, seen = [error], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        told = f"{one} {one!r} {getattr(one, '__notes__', '')}"
        if any(text in told or repr(text)[1:-1] in told for text in hidden if text):
            return True
        pending += [each for each in (one.__cause__, one.__context__) if each is not None]
        pending += getattr(one, "exceptions", ())
    return False
