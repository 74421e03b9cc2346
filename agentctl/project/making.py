"""Makes the implementation that a capability is bound to, with the arguments of its table.

What the environment and files hold is read here, when a program loads its agents, and not before.
Invariant: nothing read from there is shown, neither by an error of ours nor by one of the user's.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from agentctl.errors import AgentctlError, NotRecordable
from agentctl.nearest import nearest_hint
from agentctl.project.importing import guard, import_class
from agentctl.project.model import FromEnvironment, FromFile, Project
from agentctl.project.toml_file import describe
from agentctl.project.toml_lines import KeyPath
from agentctl.secrets import SECRET_KEY

_MOST_BYTES: Final = 1024 * 1024
_VARIABLE: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def make_capability(project: Project, key: KeyPath, kind: type) -> object:
    """Make what `agents.NAME.capabilities.FIELD` names; it must implement `kind`.

    Raises:
        ProjectError: it doesn't, it takes other arguments, or a value isn't where it should be.
    """
    config = project.agents[key[1]].capabilities[key[-1]]
    cls = import_class(project, key, config.use)
    _check_class(project, key, cls, kind)
    parameters = _parameters(cls)
    if parameters is not None:
        _check_arguments(project, key, parameters, config.arguments)
    read: dict[str, str] = {}
    given: dict[str, object] = {}
    for name, value in config.arguments.items():
        at = (*key, "with", name)
        if isinstance(value, FromEnvironment | FromFile):
            read[name] = value = _read(project, at, value)  # noqa: PLW2901 - what it stands for
        annotation = _annotation(cls, name, parameters)
        given[name] = _Argument(project, at, annotation).convert(value, was_read=name in read)
    what = f"{config.use} can't be made"
    return guard(project, key, what, lambda: cls(**given), hidden=read.values())


def _check_class(project: Project, key: KeyPath, cls: type, kind: type) -> None:
    reference = project.agents[key[1]].capabilities[key[-1]].use
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


def _parameters(cls: type) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(cls).parameters
    except (TypeError, ValueError):  # a class that doesn't tell
        return None


def _check_arguments(
    project: Project,
    key: KeyPath,
    parameters: Mapping[str, inspect.Parameter],
    given: Mapping[str, object],
) -> None:
    reference = project.agents[key[1]].capabilities[key[-1]].use
    known = [name for name, each in parameters.items() if each.kind in _BY_NAME]
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    for name in given:
        if name not in known and not takes_any:
            raise project.file.error(
                (*key, "with", name),
                f"{reference} takes no argument {name}",
                hint=nearest_hint(name, known, "arguments"),
            )
    needed = [
        name
        for name, each in parameters.items()
        if each.default is each.empty and each.kind not in _VARIABLE and name not in given
    ]
    if needed:
        raise project.file.error(
            (*key, "with") if given else key,
            f"{reference} can't be made without arguments: {', '.join(needed)}",
            hint=f"give them by name: {key[-1]} = {{ use = …, with = {{ {needed[0]} = … }} }}; "
            "or give them defaults in the code",
        )


def _read(project: Project, key: KeyPath, origin: FromEnvironment | FromFile) -> str:
    if isinstance(origin, FromEnvironment):
        if origin.name not in project.environ:
            raise project.file.error(
                key,
                f"the environment variable {origin.name} isn't set",
                hint=f"set {origin.name} where the program is started",
            )
        return project.environ[origin.name]
    try:
        with (project.folder / origin.path).open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise _unreadable(project, key, origin, "it is longer than 1 MiB")
        text = data.decode()
    except OSError as error:
        raise _unreadable(project, key, origin, error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise _unreadable(project, key, origin, "it isn't UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _unreadable(project: Project, key: KeyPath, origin: FromFile, why: str) -> AgentctlError:
    return project.file.error(
        key,
        f"the file {origin.path} can't be read: {why}",
        hint=f"it is looked for from {project.folder}",
    )


def _annotation(cls: type, name: str, parameters: Mapping[str, inspect.Parameter] | None) -> object:
    """What the constructor says of an argument; `empty` where nothing can be known."""
    from agentctl.sdk.signature import resolve

    parameter = (parameters or {}).get(name)
    if parameter is None or parameter.kind not in _BY_NAME:
        return inspect.Parameter.empty
    owner = next((base for base in cls.__mro__ if "__init__" in vars(base)), cls)
    names = getattr(owner, "__agentctl_names__", {})
    try:
        return resolve(parameter.annotation, owner, names, name)
    except AgentctlError:  # imported for type checkers only
        return inspect.Parameter.empty


class _Argument:
    """One argument of a constructor, and where it stands."""

    def __init__(self, project: Project, key: KeyPath, annotation: object) -> None:
        self._project = project
        self._key = key
        self._annotation = annotation

    def convert(self, value: object, *, was_read: bool) -> object:
        """Turn a value into what the annotation says, if it says something that can be read."""
        from agentctl.values import codec

        if self._annotation is inspect.Parameter.empty or type(value) is self._annotation:
            return value
        try:
            taken = codec(self._annotation)
        except TypeError:  # nothing that has a form in text
            return value
        for candidate in _candidates(value, was_read=was_read):
            try:
                return taken.decode(msgspec.json.encode(candidate))
            except NotRecordable:
                continue
        raise self._misfit(taken.name, value, was_read=was_read)

    def _misfit(self, wanted: str, value: object, *, was_read: bool) -> AgentctlError:
        told = "what is there" if was_read or "Secret" in wanted else describe(value)
        return self._project.file.error(
            self._key,
            f"expected {wanted}, not {told}",
            hint="the annotation of the constructor's argument says what it takes",
        )


def _candidates(value: object, *, was_read: bool) -> Iterator[Any]:
    """What a value may mean: itself, and if it was read as text, what it says as JSON."""
    meanings = [value]
    if was_read:
        with suppress(ValueError, RecursionError):
            meanings.append(msgspec.json.decode(str(value)))
    yield from meanings
    yield from ({SECRET_KEY: each} for each in meanings)
