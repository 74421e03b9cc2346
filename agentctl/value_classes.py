"""Classes with fields: what their fields are, and how an object is made of recorded ones.

Fields come back exactly as recorded, whatever a `__post_init__` does; it runs all the same, for
what it keeps beside the fields. Pydantic is used where the program has imported it, never imported.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from agentctl.value_shapes import ALL_KINDS, Misfit, Shape, cannot_read, cannot_write

_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Fields:
    """What a class with fields is made of.

    Attributes:
        hints: each field's annotation, in order, type variables filled in.
        optional: the fields that may be missing on record.
        make: builds an object; whatever it raises means that the fields don't fit.
    """

    hints: dict[str, Any]
    optional: frozenset[str]
    make: Callable[[dict[str, Any]], Any]


def fields_of(cls: type, args: tuple[Any, ...]) -> Fields | None:
    """Describe a dataclass, Struct or NamedTuple; None for any other class.

    Raises:
        TypeError: its annotations can't be resolved, or its objects can't be made from fields.
    """
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _of_named_tuple(cls, class_hints(cls, args))
    if issubclass(cls, msgspec.Struct):
        return _of_struct(cls, class_hints(cls, args))
    if dataclasses.is_dataclass(cls):
        return _of_dataclass(cls, class_hints(cls, args))
    return None


def class_hints(cls: type, args: tuple[Any, ...]) -> dict[str, Any]:
    """Return the annotations of a class and its bases, with type variables filled in.

    Raises:
        TypeError: a name in them can't be found.
    """
    hints = _resolved(cls)
    scopes = _scopes(cls, args)
    owners = {
        name: owner for owner in reversed(cls.__mro__) for name in inspect.get_annotations(owner)
    }
    return {name: fill_in(hint, scopes.get(owners[name], {})) for name, hint in hints.items()}


def _resolved(cls: type) -> dict[str, Any]:
    try:
        try:
            return get_type_hints(cls, include_extras=True)
        except NameError:  # perhaps a class inside a function that names itself
            return get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)
    except Exception as error:
        raise TypeError(
            f"the annotations of {cls.__qualname__} can't be resolved: {error}"
        ) from error


def _scopes(cls: type, args: tuple[Any, ...]) -> dict[type, dict[Any, Any]]:
    parameters = getattr(cls, "__parameters__", ())
    scopes = {cls: dict(zip(parameters, args, strict=False))}
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if isinstance(origin, type) and origin not in (object, Generic):
            base_args = tuple(fill_in(arg, scopes[cls]) for arg in get_args(base))
            scopes = {**_scopes(origin, base_args), **scopes}
    return scopes


def fill_in(annotation: Any, scope: dict[Any, Any]) -> Any:
    """Put the annotations of `scope` in the place of its type variables."""
    if isinstance(annotation, TypeVar):
        return scope.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    if isinstance(annotation, type) or not any(p in scope for p in parameters):
        return annotation
    return annotation[tuple(scope.get(p, p) for p in parameters)]


def _of_named_tuple(cls: Any, hints: dict[str, Any]) -> Fields:
    defaults: dict[str, Any] = cls._field_defaults

    def make(values: dict[str, Any]) -> Any:
        return cls._make(values[n] if n in values else defaults[n] for n in cls._fields)

    return Fields({n: hints.get(n, Any) for n in cls._fields}, frozenset(defaults), make)


def _of_struct(cls: Any, hints: dict[str, Any]) -> Fields:
    names: tuple[str, ...] = cls.__struct_fields__
    optional = frozenset(f.name for f in msgspec.structs.fields(cls) if not f.required)

    def make(values: dict[str, Any]) -> Any:
        new = cls(**values)
        if hasattr(cls, "__post_init__"):
            for name, value in values.items():
                msgspec.structs.force_setattr(new, name, value)
        return new

    return Fields({name: hints[name] for name in names}, optional, make)


def _of_dataclass(cls: Any, hints: dict[str, Any]) -> Fields:
    fields = dataclasses.fields(cls)
    names = [field.name for field in fields]
    for name, hint in hints.items():
        if isinstance(hint, dataclasses.InitVar) or hint is dataclasses.InitVar:
            raise TypeError(f"{cls.__qualname__}.{name} is an InitVar, which the object lets go of")
    if cls.__new__ is not object.__new__:
        raise TypeError(f"{cls.__qualname__} has its own __new__, so it can't be made from fields")
    missing = dataclasses.MISSING
    values_of = {f.name: f.default for f in fields if f.default is not missing}
    makers = {f.name: f.default_factory for f in fields if f.default_factory is not missing}
    optional = frozenset(
        [*values_of, *makers, *(f.name for f in fields if not f.init)]  # set by __post_init__
    )
    put = _putter(cls, names)
    has_post_init = hasattr(cls, "__post_init__")

    def make(values: dict[str, Any]) -> Any:
        new = object.__new__(cls)
        put(new, values)
        if len(values) < len(names):
            put(new, {n: v for n, v in values_of.items() if n not in values})
            put(new, {n: maker() for n, maker in makers.items() if n not in values})
        if has_post_init:
            new.__post_init__()
            put(new, values)
        return new

    return Fields({name: hints[name] for name in names}, optional, make)


def _putter(cls: type, names: list[str]) -> Callable[[Any, dict[str, Any]], None]:
    """Choose how fields are set, past a frozen class's refusal."""
    if not any(inspect.isdatadescriptor(inspect.getattr_static(cls, n, None)) for n in names):
        return lambda new, values: new.__dict__.update(values)

    def one_by_one(new: Any, values: dict[str, Any]) -> None:
        for name, value in values.items():
            object.__setattr__(new, name, value)

    return one_by_one


def is_pydantic(cls: type) -> bool:
    """Tell whether this is a pydantic model; without pydantic loaded there is none."""
    pydantic = sys.modules.get("pydantic")
    base = getattr(pydantic, "BaseModel", None) if pydantic is not None else None
    return isinstance(base, type) and issubclass(cls, base)


class PydanticShape(Shape):
    """A pydantic model: written by pydantic, and only if pydantic reads the same back."""

    def __init__(self, cls: Any) -> None:
        is_root = getattr(cls, "__pydantic_root_model__", False)
        super().__init__(cls.__name__, ALL_KINDS if is_root else {dict}, (cls,))
        self._cls = cls

    def write(self, value: Any, depth: int) -> Any:
        """Let pydantic write it, sets in the order of their members' JSON."""
        if type(value) is not self._cls:
            raise cannot_write(value, self.name)
        try:
            options = {"round_trip": True, "by_alias": True, "warnings": "error"}
            plain = value.model_dump(mode="json", **options)
            _sort_sets(value.model_dump(**options), plain)
            same = self._cls.model_validate_json(_encode(plain)) == value
        except Exception as error:  # noqa: BLE001 - validators and serializers are the user's
            kind = type(error).__name__
            raise Misfit(f"this {self.name} can't be recorded: {kind} from pydantic") from None
        if not same:
            raise Misfit(f"this {self.name} can't be recorded: pydantic reads another one back")
        return plain

    def read(self, plain: Any, depth: int) -> Any:
        """Let pydantic read and validate it."""
        if type(plain) not in self.kinds:
            raise cannot_read(plain, self.name)
        try:
            return self._cls.model_validate_json(_encode(plain))
        except Exception as error:  # noqa: BLE001 - validators and serializers are the user's
            kind = type(error).__name__
        raise Misfit(f"expected {self.name}, got something else from the record ({kind})")


def _sort_sets(python: Any, plain: Any) -> None:
    """Sort the lists in `plain` that were sets in `python`."""
    if isinstance(python, set | frozenset) and isinstance(plain, list):
        plain.sort(key=_encode)
    elif isinstance(python, dict) and isinstance(plain, dict):
        for a, b in zip(python.values(), plain.values(), strict=False):
            _sort_sets(a, b)
    elif isinstance(python, list | tuple) and isinstance(plain, list):
        for a, b in zip(python, plain, strict=False):
            _sort_sets(a, b)
