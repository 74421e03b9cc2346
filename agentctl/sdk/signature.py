"""Arguments and results of one function, to JSON and back, by its annotations.

Handlers and capability methods share it. Annotations are resolved on first use, so that classes
may be written in any order; what the class body's surroundings knew is kept for that.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from agentctl.errors import BadAgentClass, BadArguments, NotRecordable
from agentctl.values import PLAIN, Codec, codec

_split_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_split_dict = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_quote: Callable[[object], bytes] = msgspec.json.encode


def surrounding_names(depth: int) -> Mapping[str, object]:
    """The local names where a class is being defined; {} at a module's top level."""
    frame = sys._getframe(depth + 1)
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def resolve(annotation: object, owner: type, names: Mapping[str, object], where: str) -> object:
    """Evaluate an annotation that may be a string.

    Raises:
        BadAgentClass: it names what isn't there.
    """
    if not isinstance(annotation, str):
        return annotation
    module = sys.modules.get(owner.__module__)
    try:
        return eval(annotation, dict(vars(module)) if module else {}, {**names, **vars(owner)})  # noqa: S307 - the author's own annotation
    except Exception as error:  # noqa: BLE001 - whatever the author's annotation raises
        raise BadAgentClass(
            f"{where}: the annotation {annotation!r} can't be resolved: {error}",
            hint="import its types where the class is defined, not only under TYPE_CHECKING",
        ) from None


class _Written:
    """An annotation that is shown as it was written, without quotes."""

    def __init__(self, annotation: object) -> None:
        is_text = isinstance(annotation, str)
        self._text = str(annotation) if is_text else inspect.formatannotation(annotation)

    def __repr__(self) -> str:
        return self._text


class CallSignature:
    """How one function's arguments and result are recorded.

    `method`: its first parameter is the object, which isn't recorded.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        owner: type,
        names: Mapping[str, object],
        *,
        title: str,
        method: bool = True,
    ) -> None:
        self.title = title
        self._fn = fn
        self._owner = owner
        self._names = names
        self._method = method
        self._signature = inspect.signature(fn)
        parameters = list(self._signature.parameters.values())[1 if method else 0 :]
        self.parameters: Sequence[inspect.Parameter] = parameters
        self._bindable = self._signature.replace(parameters=parameters)
        plain = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        self._exact = len(parameters) if plain else -1

    def given(self, args: Sequence[object], kwargs: Mapping[str, object]) -> CallSignature:
        """What is left of it once a `functools.partial` has given these arguments.

        Raises:
            ValueError: they don't fit.
        """
        given = (None, *args) if self._method else args
        rest = functools.partial(self._fn, *given, **kwargs)
        return CallSignature(rest, self._owner, self._names, title=self.title, method=False)

    @cached_property
    def codecs(self) -> Mapping[str, Codec[Any]]:
        """The codec of each parameter, by name."""
        return {p.name: self._codec(p.name, p.annotation) for p in self.parameters}

    @cached_property
    def positional(self) -> Sequence[Codec[Any]]:
        """The codecs of the parameters that can be given by position, in order."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [self.codecs[p.name] for p in self.parameters if p.kind in kinds]

    @cached_property
    def result(self) -> Codec[Any]:
        """The codec of the result."""
        return self._codec("return", self._signature.return_annotation)

    @property
    def shown(self) -> str:
        """How it is called, for people: `Bot.request(order_id: int)`."""
        named = [
            one if one.annotation is one.empty else one.replace(annotation=_Written(one.annotation))
            for one in self.parameters
        ]
        back = self._signature.return_annotation
        if back is not self._signature.empty:
            back = _Written(back)
        return f"{self.title}{inspect.Signature(named, return_annotation=back)}"

    def _codec(self, name: str, annotation: object) -> Codec[Any]:
        if annotation is inspect.Parameter.empty:
            return PLAIN
        where = f"{self.title}, {name}"
        try:
            return codec(self._resolved(annotation, where))
        except TypeError as error:
            if isinstance(error, BadAgentClass):
                raise
            raise BadAgentClass(f"{where}: {error}") from None

    def _resolved(self, annotation: object, where: str) -> object:
        # What the function itself closes over comes after what surrounded its class.
        fn = self._fn.func if isinstance(self._fn, functools.partial) else self._fn
        closes = getattr(fn, "__closure__", None)
        closed = inspect.getclosurevars(fn).nonlocals if closes else {}
        return resolve(annotation, self._owner, {**self._names, **closed}, where)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Check that the arguments fit the function.

        Raises:
            BadArguments: too many, too few, or a name it doesn't have.
        """
        if not kwargs and len(args) == self._exact:
            return
        try:
            self._bindable.bind(*args, **kwargs)
        except TypeError as error:
            raise BadArguments(f"{self.title}: {error}", hint=f"call it as {self.shown}") from None

    def encode(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[bytes, bytes | None]:
        """Write the arguments as a JSON list and, if any go by name, a JSON object.

        Raises:
            BadArguments: they don't fit.
            NotRecordable: one can't be written down; the path begins with its parameter.
        """
        if kwargs or len(args) != self._exact:
            self.bind(args, kwargs)
        codecs = self.positional
        parts = [
            self._encode_one(i, codecs[i] if i < len(codecs) else self._rest(), value)
            for i, value in enumerate(args)
        ]
        listed = b"[" + b",".join(parts) + b"]"
        if not kwargs:
            return listed, None
        named = (
            _quote(name) + b":" + self._encode_named(name, value) for name, value in kwargs.items()
        )
        return listed, b"{" + b",".join(named) + b"}"

    def canonical(self, args: bytes, kwargs: bytes | None) -> bytes:
        """Write recorded arguments so that the same ones are the same, however they were given."""
        values, by_name = self.decode(args, kwargs)
        given = self._bindable.bind(*values, **by_name)
        given.apply_defaults()
        listed, named = self.encode(given.args, given.kwargs)
        return listed + (named or b"")

    def _encode_one(self, index: int, one: Codec[Any], value: object) -> bytes:
        try:
            return one.encode(value)
        except NotRecordable as error:
            names = [p.name for p in self.parameters if p.kind is not p.KEYWORD_ONLY]
            rest = [p.name for p in self.parameters if p.kind is p.VAR_POSITIONAL]
            name = names[index] if index < len(self.positional) else rest[0]
            raise self._refused(name, error) from None

    def _encode_named(self, name: str, value: object) -> bytes:
        try:
            return (self.codecs.get(name) or self._keywords()).encode(value)
        except NotRecordable as error:
            raise self._refused(name, error) from None

    def _refused(self, name: str, error: NotRecordable) -> NotRecordable:
        return NotRecordable(
            f"{self.title}, argument {name}: {error.message}", path=error.path, hint=error.hint
        )

    def _rest(self) -> Codec[Any]:
        return self._of_kind(inspect.Parameter.VAR_POSITIONAL)

    def _keywords(self) -> Codec[Any]:
        return self._of_kind(inspect.Parameter.VAR_KEYWORD)

    def _of_kind(self, kind: object) -> Codec[Any]:
        for parameter in self.parameters:
            if parameter.kind is kind:
                return self.codecs[parameter.name]
        return PLAIN

    def decode(self, args: bytes, kwargs: bytes | None) -> tuple[list[Any], dict[str, Any]]:
        """Read recorded arguments back.

        Raises:
            NotRecordable: they no longer fit the annotations.
        """
        codecs = self.positional
        out = [
            (codecs[i] if i < len(codecs) else self._rest()).decode(bytes(raw))
            for i, raw in enumerate(_split_list(args))
        ]
        if kwargs is None:
            return out, {}
        named = {
            name: (self.codecs.get(name) or self._keywords()).decode(bytes(raw))
            for name, raw in _split_dict(kwargs).items()
        }
        return out, named


def type_hint(owner: type, name: str, names: Mapping[str, object]) -> object:
    """The resolved annotation of a class's field."""
    annotation = inspect.get_annotations(owner).get(name)
    return resolve(annotation, owner, names, f"{owner.__qualname__}.{name}")


def is_class_var(annotation: object) -> bool:
    """Whether a field is a `ClassVar`, written as text or not."""
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    return annotation is typing.ClassVar or typing.get_origin(annotation) is typing.ClassVar
