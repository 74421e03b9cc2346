"""Errors of calls: written as type, arguments and text, and made again from them.

An error comes back as its own type only if that type is already loaded, and only if building it
from the recorded arguments gives the same error again; else as `CallFailed`. Nothing is imported,
and nothing but the constructor of an `Exception` runs. No `Secret` gets into a text.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any, Final

import msgspec

from agentctl.errors import CallFailed, NotRecordable
from agentctl.secrets import MASK, Secret
from agentctl.value_shapes import Misfit, Shape, cannot_read, cannot_write, check_plain

_UNREADABLE: Final = "(its text can't be read)"
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[Any]).decode


class RecordedError(msgspec.Struct, frozen=True):
    """An error of a call, as it is recorded.

    Attributes:
        type: `module.QualifiedName`.
        args: a JSON array as bytes; None if the arguments aren't plain JSON.
        text: what `str` gave; `***` if there is a secret among the arguments.
    """

    type: str
    args: bytes | None
    text: str


class ErrorTypeShape(Shape):
    """A type of errors, written by its name; it comes back only if the project has loaded it."""

    def __init__(self, name: str, base: type[Exception]) -> None:
        super().__init__(name, {str}, (type,))
        self._base = base

    def write(self, value: Any, depth: int) -> Any:
        """Refuse what couldn't be found again by its name."""
        if not (isinstance(value, type) and issubclass(value, self._base)):
            raise cannot_write(value, self.name)
        name = type_name(value)
        if _find(name) is not value:
            raise Misfit(f"{name} can't be recorded: it isn't at the top of a module")
        return name

    def read(self, plain: Any, depth: int) -> Any:
        """Find it by its name; nothing is imported."""
        found = _find(plain) if type(plain) is str else None
        if found is None or not issubclass(found, self._base):
            raise cannot_read(plain, self.name)
        return found


def encode_error(error: BaseException) -> RecordedError:
    """Describe an error for the record; never fails."""
    name = type_name(type(error))
    try:
        args = _args_of(error)
    except Exception:  # noqa: BLE001 - a user's class may make anything of `args`
        return RecordedError(name, None, _text_of(error))
    if _holds_secret(args):
        return RecordedError(name, None, MASK)
    return RecordedError(name, _plain_args(args), _text_of(error))


def decode_error(recorded: RecordedError) -> Exception:
    """Make the error again, as `CallFailed` if its type isn't loaded or can't be built so."""
    cls = _find(recorded.type)
    if cls is not None and recorded.args is not None:
        built = _build(cls, recorded)
        if built is not None:
            return built
    return CallFailed(recorded.type, recorded.text)


def type_name(cls: type) -> str:
    """Write a type as the record has it."""
    return clean(f"{cls.__module__}.{cls.__qualname__}")


def _args_of(error: BaseException) -> list[Any]:
    """List the arguments that make the error again, where `args` isn't all of them."""
    if isinstance(error, CallFailed):
        return [error.type_name, error.text]
    if type(error) is NotRecordable:
        return [error.message, error.path]
    args = list(error.args)
    if isinstance(error, OSError) and len(args) == 2 and error.filename is not None:
        second = error.filename2
        names = [error.filename] if second is None else [error.filename, None, second]
        args += [os.fspath(n) if isinstance(n, os.PathLike) else n for n in names]
    return args


def _plain_args(args: list[Any]) -> bytes | None:
    try:
        check_plain(args, 0)
        return _encode(args)
    except (Misfit, RecursionError):
        return None


def _text_of(error: BaseException) -> str:
    try:
        return clean(str(error))
    except Exception:  # noqa: BLE001 - a user's __str__; the record needs some text
        return _UNREADABLE


def clean(text: str) -> str:
    """Return a plain str that UTF-8 can hold."""
    return str.encode(text, "utf-8", "backslashreplace").decode()


def _holds_secret(args: list[Any]) -> bool:
    """Look for a Secret in the arguments and what they are made of; in doubt, there is one."""
    seen: set[int] = set()
    pending = list(args)
    try:
        while pending:
            value = pending.pop()
            if type(value) is Secret:
                return True
            if id(value) not in seen and not isinstance(value, type):
                seen.add(id(value))
                pending += _parts(value)
    except Exception:  # noqa: BLE001 - a user's container; better no text than a secret in it
        return True
    return False


def _parts(value: Any) -> list[Any]:
    if isinstance(value, str | bytes | int | float | ModuleType | None):
        return []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    else:
        parts = list(value.args) if isinstance(value, BaseException) else []
        names = getattr(type(value), "__struct_fields__", ())
        names = (*names, *getattr(type(value), "__dataclass_fields__", ()))
        parts += [getattr(value, name, None) for name in names]
    return [*parts, *getattr(value, "__dict__", {}).values()]


def _find(name: str) -> type[Exception] | None:
    """Find a loaded exception type; looks into namespaces only, so that no `__getattr__` runs."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if isinstance(module, ModuleType):
            found: Any = module
            for part in parts[cut:]:
                found = _look_up(found, part)
            if _is_exception(found) and type_name(found) == name:
                return found  # type: ignore[no-any-return]
    return None


def _look_up(holder: Any, name: str) -> Any:
    if issubclass(type(holder), ModuleType):
        return object.__getattribute__(holder, "__dict__").get(name)
    if issubclass(type(holder), type):
        return type.__getattribute__(holder, "__dict__").get(name)
    return None


def _is_exception(found: Any) -> bool:
    return issubclass(type(found), type) and Exception in type.__getattribute__(found, "__mro__")


def _build(cls: type[Exception], recorded: RecordedError) -> Exception | None:
    """Build the error; None unless the result is what was recorded."""
    assert recorded.args is not None
    try:
        args = _decode(recorded.args)
        built = NotRecordable(args[0], path=args[1]) if cls is NotRecordable else cls(*args)
        again = encode_error(built)
    except Exception:  # noqa: BLE001 - a user's constructor; CallFailed stands in
        return None
    return built if type(built) is cls and again == recorded else None
