"""From an annotation to its shape: decides once, when a handler or a call is defined, what fits.

An annotation that can't be recorded exactly is refused here, by name and place, rather than
when the first value comes. Annotations arrive evaluated; only those inside classes are resolved.
"""

from __future__ import annotations

import enum
import functools
import inspect
import operator
import typing
from collections import abc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import GenericAlias, UnionType
from typing import Any, Final

from agentctl.secrets import Secret
from agentctl.value_classes import PydanticShape, class_hints, fields_of, fill_in, is_pydantic
from agentctl.value_containers import (
    AgainShape,
    DictShape,
    FieldsShape,
    RowShape,
    SecretShape,
    SequenceShape,
    SetShape,
    TypedDictShape,
    UnionShape,
)
from agentctl.value_errors import ErrorTypeShape
from agentctl.value_shapes import (
    ConstantShape,
    FlagShape,
    FloatShape,
    IntShape,
    Misfit,
    NoneType,
    PlainShape,
    Shape,
    TextShape,
    written_shapes,
)

_MARKERS: Final = (typing.Final, typing.ClassVar, typing.Required, typing.NotRequired)
_Args = tuple[Any, ...]
_LISTS: Final = (list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection)
_DICTS: Final = (dict, abc.Mapping, abc.MutableMapping)
_SETS: Final = (set, abc.Set, abc.MutableSet)


def shape_of(annotation: Any) -> Shape:
    """Return how values of this annotation are recorded.

    Raises:
        TypeError: they can't be; says which part of it.
    """
    compiler = _Compiler()
    try:
        return compiler.shape(annotation)
    except RecursionError:
        problem = "it nests without end"
    except Misfit as misfit:  # of an enum's or a literal's value
        problem = misfit.reason
    raise TypeError(f"{describe(annotation)} can't be recorded: {problem}")


def describe(annotation: Any) -> str:
    """Write an annotation as a person would."""
    if annotation is None or annotation is NoneType:
        return "None"
    if annotation is Ellipsis:
        return "..."
    if isinstance(annotation, list):
        return f"[{', '.join(map(describe, annotation))}]"
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, UnionType):
        return " | ".join(map(describe, args))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin is typing.Annotated:
        return describe(args[0])
    if origin is not None and args:
        return f"{describe(origin)}[{', '.join(map(describe, args))}]"
    name = getattr(annotation, "__name__", None)
    return name if isinstance(name, str) else repr(annotation)


@functools.cache
def _leaves() -> dict[Any, Shape]:
    plain = PlainShape()
    leaves: dict[Any, Shape] = {
        Any: plain,
        object: plain,
        inspect.Parameter.empty: plain,
        NoneType: ConstantShape("None", [(None, None)]),
        bool: ConstantShape("bool", [(False, False), (True, True)]),
        int: IntShape(),
        float: FloatShape(),
        str: TextShape(),
    }
    return leaves | written_shapes()


def _unwrap(annotation: Any) -> Any:
    """Take off what says nothing about how the value looks: `NewType`, `Annotated`, aliases."""
    for _ in range(100):
        origin = typing.get_origin(annotation)
        if annotation is None:
            return NoneType
        if origin is typing.Annotated:
            annotation = annotation.__origin__
        elif origin in _MARKERS or getattr(origin, "_name", None) == "ReadOnly":
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, typing.TypeVar):
            annotation = _of_variable(annotation)
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif type(origin).__name__ == "TypeAliasType" and origin is not None:
            scope = dict(zip(origin.__type_params__, typing.get_args(annotation), strict=False))
            annotation = fill_in(origin.__value__, scope)
        else:
            return annotation
    raise RecursionError


def _of_variable(variable: typing.TypeVar) -> Any:
    if variable.__constraints__:
        return typing.Union[variable.__constraints__]  # noqa: UP007 - made of a tuple
    return Any if variable.__bound__ is None else variable.__bound__


class _Compiler:
    """Compiles one annotation; knows what is under way, so that a class may contain itself."""

    def __init__(self) -> None:
        self._shapes: dict[Any, Shape] = {}
        self._kept: list[Any] = []
        self._trail: list[str] = []

    def shape(self, annotation: Any) -> Shape:
        annotation = _unwrap(annotation)
        try:
            known = _leaves().get(annotation) or self._shapes.get(annotation)
            key = annotation
        except TypeError:  # it can't be hashed, for example Annotated[int, []] inside
            known, key = None, id(annotation)
            self._kept.append(annotation)  # as long as its id stands for it
        if known is not None:
            return known
        origin = typing.get_origin(annotation)
        if origin in (typing.Union, UnionType):
            return self._union(annotation)
        if origin is typing.Literal:
            return self._literal(annotation)
        cls, args = origin or annotation, typing.get_args(annotation)
        if not isinstance(cls, type) or cls is GenericAlias:
            raise self._refuse(annotation, self._why(annotation))
        if issubclass(cls, enum.Enum):
            return self._enum(cls)
        if is_pydantic(cls):
            return PydanticShape(cls)
        if cls is type and len(args) == 1 and _is_error(args[0]):
            return ErrorTypeShape(describe(annotation), args[0])
        return self._composed(annotation, key, cls, args)

    def _composed(self, annotation: Any, key: Any, cls: type, args: tuple[Any, ...]) -> Shape:
        accepted, kind, build = self._builder(cls)
        again = AgainShape(describe(annotation), {kind}, (accepted,))
        self._shapes[key] = again
        with self._inside(describe(annotation)):
            again.target = build(annotation, cls if kind is dict else accepted, args)
        self._shapes[key] = again.target
        return again.target

    def _builder(self, cls: type) -> tuple[type, type, Callable[[Any, type, _Args], Shape]]:
        """Choose by the class: the type that it takes, how JSON has it, and who compiles it."""
        if cls in _LISTS:
            return list, list, self._sequence
        if cls in _SETS or cls is frozenset:
            return (set if cls in _SETS else cls), list, self._set
        if cls is tuple:
            return tuple, list, self._tuple
        if cls in _DICTS:
            return dict, dict, self._dict
        if typing.is_typeddict(cls):
            return dict, dict, self._typed_dict
        return cls, dict, self._secret if cls is Secret else self._fields

    @contextmanager
    def _inside(self, part: str) -> Iterator[None]:
        self._trail.append(part)
        yield
        self._trail.pop()

    def _refuse(self, annotation: Any, why: str = "") -> TypeError:
        outer = [place for place in reversed(self._trail) if place != describe(annotation)]
        where = f" ({' of '.join(outer)})" if outer else ""
        return TypeError(f"{describe(annotation)} can't be recorded{where}{why and ': '}{why}")

    @staticmethod
    def _why(annotation: Any) -> str:
        unresolved = isinstance(annotation, str | typing.ForwardRef)
        return "it is a name that isn't resolved" if unresolved else ""

    def _sequence(self, annotation: Any, cls: type, args: _Args) -> Shape:
        return SequenceShape(describe(annotation), cls, self.shape(args[0] if args else Any))

    def _set(self, annotation: Any, cls: type, args: _Args) -> Shape:
        return SetShape(describe(annotation), cls, self.shape(args[0] if args else Any))

    def _tuple(self, annotation: Any, cls: type, args: _Args) -> Shape:
        if annotation in (tuple, typing.Tuple):  # noqa: UP006 - the bare form of old code
            args = (Any, ...)
        if len(args) == 2 and args[1] is Ellipsis:
            return SequenceShape(describe(annotation), cls, self.shape(args[0]))
        return RowShape(describe(annotation), [self.shape(arg) for arg in args])

    def _dict(self, annotation: Any, cls: type, args: _Args) -> Shape:
        key_annotation, item_annotation = args or (str, Any)
        key = self.shape(key_annotation)
        if isinstance(key, PlainShape):
            key = self.shape(str)
        if len(key.kinds) != 1 or not key.kinds & {str, int}:
            raise self._refuse(key_annotation, "a key must be written as text, or as whole number")
        return DictShape(describe(annotation), key, self.shape(item_annotation))

    def _secret(self, annotation: Any, cls: type, args: _Args) -> Shape:
        return SecretShape(describe(annotation), self.shape(args[0] if args else Any))

    def _fields(self, annotation: Any, cls: type, args: _Args) -> Shape:
        try:
            fields = fields_of(cls, args)
        except TypeError as error:
            raise self._refuse(annotation, str(error)) from error
        if fields is None:
            raise self._refuse(annotation)
        shapes = {name: self._field(name, hint) for name, hint in fields.hints.items()}
        return FieldsShape(
            cls, shapes, name=describe(annotation), optional=fields.optional, make=fields.make
        )

    def _typed_dict(self, annotation: Any, cls: Any, args: _Args) -> Shape:
        try:
            hints = class_hints(cls, args)
        except TypeError as error:
            raise self._refuse(annotation, str(error)) from error
        required = set(cls.__required_keys__)
        for name, hint in hints.items():  # marks inside unevaluated annotations aren't in the set
            if typing.get_origin(hint) is typing.NotRequired:
                required.discard(name)
            elif typing.get_origin(hint) is typing.Required:
                required.add(name)
        shapes = {name: self._field(name, hint) for name, hint in hints.items()}
        return TypedDictShape(describe(annotation), shapes, frozenset(required))

    def _field(self, name: str, hint: Any) -> Shape:
        with self._inside(f"field {name}"):
            return self.shape(hint)

    def _enum(self, cls: Any) -> Shape:
        if issubclass(cls, enum.Flag):
            return FlagShape(cls.__name__, cls)
        members = list(cls)
        by_value = all(type(m.value) in (str, int, bool, NoneType) for m in members)
        plains = [m.value if by_value else m.name for m in members]
        self.shape(Any).write(plains, 0)
        return ConstantShape(cls.__name__, zip(members, plains, strict=True))

    def _literal(self, annotation: Any) -> Shape:
        values = typing.get_args(annotation)
        pairs = [(value, self.shape(type(value)).write(value, 0)) for value in values]
        if len({(type(plain), plain) for _, plain in pairs}) < len(pairs):
            raise self._refuse(annotation, "two of its values look the same in JSON")
        return ConstantShape(describe(annotation), pairs)

    def _union(self, annotation: Any) -> Shape:
        members = _members(annotation)
        shapes = [(describe(member), member, self.shape(member)) for member in members]
        names = [name for name, _, _ in shapes]
        tagged = [
            (name if names.count(name) == 1 else _full_name(member), shape)
            for name, member, shape in shapes
        ]
        tags = [tag for tag, _ in tagged]
        if len(set(tags)) < len(tags):
            twice = next(tag for tag in tags if tags.count(tag) > 1)
            raise self._refuse(annotation, f"two of its members are called {twice}")
        return tagged[0][1] if len(tagged) == 1 else UnionShape(describe(annotation), tagged)


def _is_error(base: Any) -> bool:
    return isinstance(base, type) and issubclass(base, Exception)


def _members(annotation: Any) -> list[Any]:
    """Flatten a union; literals become one, what another member covers anyway goes."""
    flat: list[Any] = []
    literals: list[Any] = []
    pending = list(typing.get_args(annotation))
    while pending:
        member = _unwrap(pending.pop(0))
        if typing.get_origin(member) in (typing.Union, UnionType):
            pending[:0] = typing.get_args(member)
        elif typing.get_origin(member) is typing.Literal:
            literals += typing.get_args(member)
        elif member not in flat:
            flat.append(member)
    literals = [value for value in literals if type(value) not in flat]
    if literals:
        flat.append(operator.getitem(typing.Literal, tuple(literals)))
    if any(member in (Any, object) for member in flat):
        flat = [m for m in flat if m not in (NoneType, bool, int, float, str, object)] or [Any]
        flat = [*(m for m in flat if m is not Any), Any]
    return flat


def _full_name(member: Any) -> str:
    cls = typing.get_origin(member) or member
    return f"{cls.__module__}.{cls.__qualname__}" if isinstance(cls, type) else describe(member)
