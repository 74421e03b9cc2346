"""Imports a project's code and makes what its agents are bound to.

Invariant: whatever the user's code does, loading gives a `LoadedAgent` or one `ProjectError` that
names the line of `kavach.toml` it comes from; if the user's own code raised, that error is its
`__cause__`, with the user's frames alone. Puts the project's folder first on `sys.path` and leaves
it there. Never runs a handler and never opens an agent's folder.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, TypeVar

from agentctl.errors import AgentctlError, ProjectError
from agentctl.frames import is_users
from agentctl.nearest import nearest_hint
from agentctl.project.model import Project
from agentctl.project.toml_lines import KeyPath

if TYPE_CHECKING:
    from agentctl.sdk.agent import Agent
    from agentctl.sdk.settings import AgentSettings

T = TypeVar("T")


@dataclass(frozen=True)
class LoadedAgent:
    """An agent's class with everything that it needs to run.

    Attributes:
        capabilities: field names to made implementations; one for each capability field.
        settings: what the class carries, overridden by `kavach.toml`.
        deny: `capability.method` to the reason.
    """

    cls: type[Agent]
    capabilities: Mapping[str, object]
    settings: AgentSettings
    deny: Mapping[str, str]


def load_agent(project: Project, name: str) -> LoadedAgent:
    """Import the agent's class and make its capabilities.

    Raises:
        NotFound: the project has no such agent.
        ProjectError: its code can't be loaded, or doesn't fit what `kavach.toml` says.
    """
    config = project.agent(name)
    cls = load_class(project, name)
    fields = _capability_types(cls)
    where: KeyPath = ("agents", name, "capabilities")
    for field in config.capabilities:
        if field not in fields:
            raise project.file.error(
                (*where, field),
                f"the class {cls.__name__} has no capability {field}",
                hint=nearest_hint(field, fields, "capabilities"),
            )
    for field, kind in fields.items():
        if field not in config.capabilities:
            raise project.file.error(
                (*where, field),
                f"the key is missing: {cls.__name__}.{field} needs a {kind.__name__}",
                hint=f'name its implementation: {field} = "module:Class"',
            )
    made = {field: _make(project, (*where, field), fields[field]) for field in fields}
    return LoadedAgent(cls, made, replace(_carried(project, cls), **config.settings), config.deny)


def load_class(project: Project, name: str) -> type[Agent]:
    """Import only the agent's class, for commands that need no capabilities.

    Raises:
        NotFound: the project has no such agent.
        ProjectError: it can't be imported, isn't an `Agent`, or has another name.
    """
    from agentctl.sdk.agent import Agent

    reference, key = project.agent(name).cls, ("agents", name, "class")
    cls = _import_class(project, key, reference)
    if not issubclass(cls, Agent) or cls is Agent:
        raise project.file.error(
            key,
            f"{reference} isn't an agent",
            hint=f"derive it from agentctl.Agent: class {cls.__name__}(Agent)",
        )
    if cls.__name__ != name:
        raise project.file.error(
            key,
            f"the class is named {cls.__name__}, its table {name}",
            hint=f"an agent's name is its class's name: write [agents.{cls.__name__}]",
        )
    return cls


def _carried(project: Project, cls: type[Agent]) -> AgentSettings:
    from agentctl.sdk.settings import AgentSettings

    carried: object = cls.settings
    if not isinstance(carried, AgentSettings):
        raise project.file.error(
            ("agents", cls.__name__, "class"),
            f"{cls.__name__}.settings is a {type(carried).__name__}, not an AgentSettings",
            hint="write it as settings = AgentSettings(…), or as [agents.NAME.settings] here",
        )
    return carried


def _capability_types(cls: type[Agent]) -> dict[str, type]:
    from agentctl.sdk.agent import spec_of

    return {name: field.type for name, field in spec_of(cls).capabilities.items()}


def _make(project: Project, key: KeyPath, kind: type) -> object:
    reference = project.agents[key[1]].capabilities[key[-1]].use
    cls = _import_class(project, key, reference)
    if not issubclass(cls, kind):
        raise project.file.error(
            key,
            f"{reference} isn't a {kind.__name__}",
            hint=f"derive it from {kind.__name__}: class {cls.__name__}({kind.__name__})",
        )
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(getattr(cls, "__abstractmethods__", ())))
        raise project.file.error(
            key,
            f"{reference} lacks methods of {kind.__name__}: {missing}",
            hint=f"write them in {cls.__name__}, or name a class that has them",
        )
    if needed := _required_arguments(cls):
        raise project.file.error(
            key,
            f"{reference} can't be made without arguments: {', '.join(needed)}",
            hint="give them defaults, or read them from the environment in __init__",
        )
    return _guard(project, key, f"{reference} can't be made", cls)


def _required_arguments(cls: type) -> list[str]:
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):  # a class that doesn't tell
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        each.name
        for each in parameters
        if each.default is inspect.Parameter.empty and each.kind not in variable
    ]


def _import_class(project: Project, key: KeyPath, reference: str) -> type:
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

    return _guard(project, key, f"the module {name} can't be imported", load)


def _no_module(project: Project, key: KeyPath, name: str) -> ProjectError:
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


def _guard(project: Project, key: KeyPath, what: str, action: Callable[[], T]) -> T:
    """Run the user's code; turn what it raises into one `ProjectError`."""
    try:
        return action()
    except ProjectError:
        raise
    except AgentctlError as error:  # BadAgentClass and its kind say all that there is to say
        raise _refusal(project, key, what, error) from None
    except (Exception, SystemExit) as error:
        raise _refusal(project, key, what, error) from error


def _refusal(project: Project, key: KeyPath, what: str, error: BaseException) -> ProjectError:
    frames = _users_frames(error.__traceback__)
    place = _place_of(project, error, frames)
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    told = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, AgentctlError):
        return project.file.error(key, f"{what}: {place}{text}", hint=error.hint)
    error.__traceback__ = frames
    return project.file.error(
        key, f"{what}: {place}{told}", hint="the error is in the project's own code"
    )


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
