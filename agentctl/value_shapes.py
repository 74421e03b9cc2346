"""Shapes of single values: how one type is written as JSON, and read back exactly.

A shape refuses (`Misfit`) every value that wouldn't come back as it was: another type, a subclass,
`NaN`, a lone surrogate. It never changes a value into another type, with one exception that type
checkers make too: an `int` where a `float` is expected is written as that float, if it is equal.
Shapes work on decoded JSON; bytes are made and parsed in `values`.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

MAX_DEPTH: Final = 100
_MAX_INT_BITS: Final = 14_000  # about 4200 digits; Python and msgspec read up to 4300

NoneType: Final[type] = type(None)
ALL_KINDS: Final[frozenset[type]] = frozenset({NoneType, bool, int, float, str, list, dict})
_LONGEST_PATH: Final = 20
_SHOWN: Final = 5
"""Parts of a longer path that are shown at each end."""
_KIND_NAMES: Final = {NoneType: "null", bool: "bool", list: "array", dict: "object"}


class Misfit(Exception):
    """A value that doesn't fit its shape; containers add where it stood, from the inside out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.parts: list[str] = []

    def inside(self, part: str) -> None:
        """Add one part of the path: `.name` or `[3]`."""
        self.parts.append(part)

    @property
    def path(self) -> str:
        """Where in the value, `items[3].client`; of a very long way both ends."""
        parts = self.parts[::-1]
        if len(parts) > _LONGEST_PATH:
            parts = [*parts[:_SHOWN], "...", *parts[-_SHOWN:]]
        return "".join(parts).removeprefix(".")


def key_part(key: object) -> str:
    """Write a key of a dict as a part of a path."""
    if type(key) is str and key.isidentifier() and len(key) <= 40:
        return f".{key}"
    shown = ascii(key) if type(key) in (str, int) else type(key).__name__
    return f"[{shown if len(shown) <= 60 else shown[:57] + '...'}]"


def cannot_write(value: object, name: str) -> Misfit:
    """Say that a value isn't of the type that its annotation names."""
    kind = type(value)
    got = f"{kind.__module__}.{kind.__qualname__}" if kind.__name__ == name else kind.__name__
    return Misfit(f"{got} can't be recorded as {name}")


def cannot_read(plain: object, name: str) -> Misfit:
    """Say that the recorded JSON isn't what the annotation expects."""
    got = _KIND_NAMES.get(type(plain), type(plain).__name__)
    return Misfit(f"expected {name}, got {got} from the record")


class Shape:
    """How one annotation is recorded.

    Attributes:
        name: the annotation in messages and tags.
        kinds: the JSON types that it is written as.
        accepts: the exact Python types that it takes; empty for any.
    """

    def __init__(self, name: str, kinds: Iterable[type], accepts: tuple[type, ...]) -> None:
        self.name = name
        self.kinds = frozenset(kinds)
        self.accepts = accepts

    def write(self, value: Any, depth: int) -> Any:
        """Return what msgspec writes; raise `Misfit`. `depth` counts nested recursive parts."""
        raise NotImplementedError

    def read(self, plain: Any, depth: int) -> Any:
        """Return the value that decoded JSON stands for; raise `Misfit`."""
        raise NotImplementedError


def check_text(text: str) -> str:
    """Return a text that UTF-8 can hold."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Misfit("a str with a lone surrogate can't be recorded: not UTF-8") from None
    return text


def _check_int(value: int) -> int:
    if value.bit_length() > _MAX_INT_BITS:
        raise Misfit(f"an int of more than {_MAX_INT_BITS} bits can't be recorded")
    return value


def _check_float(value: float) -> float:
    if not math.isfinite(value):
        raise Misfit(f"the float {value} can't be recorded: JSON has no such number")
    return value


class TextShape(Shape):
    """`str`."""

    def __init__(self) -> None:
        super().__init__("str", {str}, (str,))

    def write(self, value: Any, depth: int) -> Any:
        """Refuse subclasses and lone surrogates."""
        if type(value) is not str:
            raise cannot_write(value, "str")
        return value if value.isascii() else check_text(value)

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON string."""
        if type(plain) is not str:
            raise cannot_read(plain, "str")
        return plain


class IntShape(Shape):
    """`int`, of any size that Python reads back; no `bool`."""

    def __init__(self) -> None:
        super().__init__("int", {int}, (int,))

    def write(self, value: Any, depth: int) -> Any:
        """Refuse subclasses."""
        if type(value) is not int:
            raise cannot_write(value, "int")
        return _check_int(value)

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON number without a fraction."""
        if type(plain) is not int:
            raise cannot_read(plain, "int")
        return plain


class FloatShape(Shape):
    """`float`: finite; an equal int becomes that float, as type checkers allow."""

    def __init__(self) -> None:
        super().__init__("float", {float}, (float, int))

    def write(self, value: Any, depth: int) -> Any:
        """Refuse `NaN`, infinities, and ints that no float equals."""
        if type(value) is float:
            return _check_float(value)
        if type(value) is not int:
            raise cannot_write(value, "float")
        return self._exact(value, "recorded as")

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON number."""
        if type(plain) is float:
            return plain
        if type(plain) is not int:
            raise cannot_read(plain, "float")
        return self._exact(plain, "read as")

    @staticmethod
    def _exact(value: int, verb: str) -> float:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if number != value:
            raise Misfit(f"this int can't be {verb} float: no float equals it")
        return number


class ConstantShape(Shape):
    """A type with few values, each with its own plain JSON: `None`, `bool`, enums, `Literal`."""

    def __init__(self, name: str, plains: Iterable[tuple[Any, Any]]) -> None:
        pairs = list(plains)
        super().__init__(
            name, {type(p) for _, p in pairs}, tuple(dict.fromkeys(type(v) for v, _ in pairs))
        )
        self.plains = [plain for _, plain in pairs]
        self._plains = {(type(value), value): plain for value, plain in pairs}
        self._values = {(type(plain), plain): value for value, plain in pairs}

    def write(self, value: Any, depth: int) -> Any:
        """Take one of the values, of its exact type."""
        if type(value) in self.accepts:
            try:
                return self._plains[type(value), value]
            except KeyError:
                raise Misfit(f"this {type(value).__name__} is none of {self.name}") from None
        raise cannot_write(value, self.name)

    def read(self, plain: Any, depth: int) -> Any:
        """Take what one of the values is written as."""
        if type(plain) in self.kinds:
            try:
                return self._values[type(plain), plain]
            except KeyError:
                kind = _KIND_NAMES.get(type(plain), type(plain).__name__)
                raise Misfit(f"expected {self.name}, got another {kind} from the record") from None
        raise cannot_read(plain, self.name)


class FlagShape(Shape):
    """`enum.Flag`: written as its number, whatever flags are combined in it."""

    def __init__(self, name: str, cls: Any) -> None:
        super().__init__(name, {int}, (cls,))
        self._cls = cls

    def write(self, value: Any, depth: int) -> Any:
        """Write the combined number."""
        if type(value) is not self._cls:
            raise cannot_write(value, self.name)
        return _check_int(value.value)

    def read(self, plain: Any, depth: int) -> Any:
        """Take a number that is a combination of the flags there are."""
        if type(plain) is not int:
            raise cannot_read(plain, self.name)
        try:
            flags = self._cls(plain)
        except (ValueError, TypeError):
            flags = None
        if type(flags) is not self._cls or flags.value != plain:
            raise Misfit(f"expected {self.name}, got another int from the record")
        return flags


class WrittenShape(Shape):
    """A type that is written as text: dates, numbers, paths."""

    def __init__(
        self, cls: type, to_text: Callable[[Any], str], from_text: Callable[[str], Any]
    ) -> None:
        super().__init__(cls.__name__, {str}, (cls,))
        self._cls = cls
        self._to_text = to_text
        self._from_text = from_text

    def write(self, value: Any, depth: int) -> Any:
        """Write a value of exactly this type."""
        if type(value) is not self._cls:
            raise cannot_write(value, self.name)
        return self._to_text(value)

    def read(self, plain: Any, depth: int) -> Any:
        """Take a text in this type's form."""
        if type(plain) is not str:
            raise cannot_read(plain, self.name)
        try:
            return self._from_text(plain)
        except (ValueError, ArithmeticError, msgspec.MsgspecError):
            raise Misfit(f"expected {self.name}, got another str from the record") from None


def _datetime_text(value: Any) -> str:
    if value.utcoffset() is None:
        raise Misfit("a datetime without a timezone can't be recorded: which moment it is is open")
    text: str = value.isoformat()
    return text


def _time_text(value: Any) -> str:
    if value.tzinfo is not None and value.utcoffset() is None:
        raise Misfit("a time whose timezone has no fixed offset can't be recorded")
    text: str = value.isoformat()
    return text


def _decimal_text(value: Any) -> str:
    if not value.is_finite():
        raise Misfit(f"Decimal {value} can't be recorded: it isn't a number")
    return str(value)


def written_shapes() -> dict[type, Shape]:
    """Make the shapes of all types that are written as text."""
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from pathlib import Path, PurePath
    from uuid import UUID

    def aware(text: str) -> datetime:
        value = datetime.fromisoformat(text)
        if value.utcoffset() is None:
            raise ValueError(text)
        return value

    def finite(text: str) -> Decimal:
        value = Decimal(text)
        if not value.is_finite():
            raise ValueError(text)
        return value

    shapes: dict[type, Shape] = {
        datetime: WrittenShape(datetime, _datetime_text, aware),
        date: WrittenShape(date, date.isoformat, date.fromisoformat),
        time: WrittenShape(time, _time_text, time.fromisoformat),
        timedelta: WrittenShape(
            timedelta, msgspec.to_builtins, lambda text: msgspec.convert(text, timedelta)
        ),
        Decimal: WrittenShape(Decimal, _decimal_text, finite),
        UUID: WrittenShape(UUID, str, UUID),
        bytes: WrittenShape(
            bytes, lambda v: b64encode(v).decode(), lambda text: b64decode(text, validate=True)
        ),
    }
    for cls in (PurePath, Path):
        concrete = type(cls())
        shape = WrittenShape(concrete, lambda v: check_text(str(v)), concrete)
        shapes[cls] = shapes[concrete] = shape
    return shapes


class PlainShape(Shape):
    """No annotation: plain JSON types pass, everything else is refused."""

    def __init__(self) -> None:
        super().__init__("plain JSON", ALL_KINDS, ())

    def write(self, value: Any, depth: int) -> Any:
        """Return the value itself, checked through and through."""
        check_plain(value, depth)
        return value

    def read(self, plain: Any, depth: int) -> Any:
        """Take any JSON."""
        return plain


def check_plain(value: Any, depth: int) -> None:
    """Refuse what JSON doesn't give back as exactly the same."""
    kind = type(value)
    if kind is str:
        if not value.isascii():
            check_text(value)
    elif kind is int:
        _check_int(value)
    elif kind is float:
        _check_float(value)
    elif kind is dict:
        _check_dict(value, depth)
    elif kind is list:
        _check_list(value, depth)
    elif value is not None and kind is not bool:
        raise Misfit(f"{kind.__name__} can't be recorded")


def too_deep() -> Misfit:
    """Say that a value nests too deeply, or is a part of itself."""
    return Misfit(f"more than {MAX_DEPTH} levels, or a value that contains itself")


def _check_dict(value: dict[Any, Any], depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise too_deep()
    for key, item in value.items():
        if type(key) is not str:
            raise Misfit(f"a dict with a key of type {type(key).__name__} can't be recorded")
        try:
            if not key.isascii():
                check_text(key)
            if item is not None and type(item) is not bool:
                check_plain(item, depth + 1)
        except Misfit as misfit:
            misfit.inside(key_part(key))
            raise


def _check_list(value: list[Any], depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise too_deep()
    index = 0
    try:
        for item in value:
            check_plain(item, depth + 1)
            index += 1
    except Misfit as misfit:
        misfit.inside(f"[{index}]")
        raise
