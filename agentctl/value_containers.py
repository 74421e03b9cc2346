"""Shapes of values made of other values: collections, unions, classes with fields, secrets.

Each keeps the exact type of the whole, and lets the shapes of its parts judge the parts. A union
is written bare where the JSON type tells its members apart; members that share one are written as
`{"$type": <member>, "value": …}`. Fields are written by name: when read, a field that the class
no longer has is passed over, and one that is new takes its default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from agentctl.errors import UsageError
from agentctl.secrets import SECRET_KEY, Secret
from agentctl.value_shapes import (
    MAX_DEPTH,
    FloatShape,
    Misfit,
    Shape,
    cannot_read,
    cannot_write,
    key_part,
    too_deep,
)

TYPE_KEY: Final = "$type"
_encode: Final = msgspec.json.Encoder().encode


class AgainShape(Shape):
    """A shape met again inside itself; every level of a recursive value passes through one."""

    target: Shape

    def write(self, value: Any, depth: int) -> Any:
        """Write one level more, if it isn't one too many."""
        if depth >= MAX_DEPTH:
            raise too_deep()
        return self.target.write(value, depth + 1)

    def read(self, plain: Any, depth: int) -> Any:
        """Read one level more, if it isn't one too many."""
        if depth >= MAX_DEPTH:
            raise too_deep()
        return self.target.read(plain, depth + 1)


def _each(convert: Callable[[Any, int], Any], items: Iterable[Any], depth: int) -> list[Any]:
    done: list[Any] = []
    try:
        for item in items:
            done.append(convert(item, depth))  # noqa: PERF401 - its length says where it stopped
    except Misfit as misfit:
        misfit.inside(f"[{len(done)}]")
        raise
    return done


class SequenceShape(Shape):
    """`list[T]` and `tuple[T, ...]`."""

    def __init__(self, name: str, cls: type, item: Shape) -> None:
        super().__init__(name, {list}, (cls,))
        self._cls: Any = cls
        self.item = item

    def write(self, value: Any, depth: int) -> Any:
        """Write each item in its place."""
        if type(value) is not self._cls:
            raise cannot_write(value, self.name)
        return _each(self.item.write, value, depth)

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON array."""
        if type(plain) is not list:
            raise cannot_read(plain, self.name)
        items = _each(self.item.read, plain, depth)
        return items if self._cls is list else tuple(items)


class SetShape(Shape):
    """`set[T]`, `frozenset[T]`: written in the order of their members' JSON."""

    def __init__(self, name: str, cls: type, item: Shape) -> None:
        super().__init__(name, {list}, (cls,))
        self._cls: Any = cls
        self.item = item

    def write(self, value: Any, depth: int) -> Any:
        """Write the members, sorted; a set has no order that another process would share."""
        if type(value) is not self._cls:
            raise cannot_write(value, self.name)
        write = self.item.write
        try:
            return sorted((write(member, depth) for member in value), key=_encode)
        except Misfit as misfit:
            misfit.inside("[*]")
            raise

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON array in which nothing stands twice."""
        if type(plain) is not list:
            raise cannot_read(plain, self.name)
        items = _each(self.item.read, plain, depth)
        try:
            members = self._cls(items)
        except TypeError:
            raise Misfit(f"expected {self.name}, got a member that can't be in a set") from None
        if len(members) != len(items):
            raise Misfit(f"expected {self.name}, got a member twice")
        return members


class RowShape(Shape):
    """`tuple[A, B]`: so many parts, each of its own type."""

    def __init__(self, name: str, parts: Sequence[Shape]) -> None:
        super().__init__(name, {list}, (tuple,))
        self.parts = parts

    def write(self, value: Any, depth: int) -> Any:
        """Write the parts in order."""
        if type(value) is not tuple:
            raise cannot_write(value, self.name)
        self._check_length(len(value))
        pairs = zip(self.parts, value, strict=True)
        return _each(lambda pair, level: pair[0].write(pair[1], level), pairs, depth)

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON array of the same length."""
        if type(plain) is not list:
            raise cannot_read(plain, self.name)
        self._check_length(len(plain))
        pairs = zip(self.parts, plain, strict=True)
        return tuple(_each(lambda pair, level: pair[0].read(pair[1], level), pairs, depth))

    def _check_length(self, length: int) -> None:
        if length != len(self.parts):
            raise Misfit(f"expected {self.name} of {len(self.parts)} parts, got {length}")


class DictShape(Shape):
    """`dict[K, V]`, in its order; keys that are numbers are written as texts."""

    def __init__(self, name: str, key: Shape, item: Shape) -> None:
        super().__init__(name, {dict}, (dict,))
        self.key = key
        self.item = item
        self.numbers = key.kinds == {int}

    def write(self, value: Any, depth: int) -> Any:
        """Write each item under its key."""
        if type(value) is not dict:
            raise cannot_write(value, self.name)
        written: dict[Any, Any] = {}
        write_key, write = self.key.write, self.item.write
        try:
            for key, item in value.items():
                plain = write_key(key, depth)
                written[str(plain) if self.numbers else plain] = write(item, depth)
        except Misfit as misfit:
            misfit.inside(key_part(key))
            raise
        return written

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON object; no two keys of it may mean the same."""
        if type(plain) is not dict:
            raise cannot_read(plain, self.name)
        found: dict[Any, Any] = {}
        read_key, read = self.key.read, self.item.read
        try:
            for text, item in plain.items():
                key = read_key(whole_number(text) if self.numbers else text, depth)
                found[key] = read(item, depth)
        except Misfit as misfit:
            misfit.inside(key_part(text))
            raise
        except TypeError:
            raise Misfit(f"expected {self.name}, got a key that can't be in a dict") from None
        if len(found) != len(plain):
            raise Misfit(f"expected {self.name}, got a key twice")
        return found


def whole_number(text: str) -> int:
    """Read a key that stands for a number; raise `Misfit`."""
    try:
        number = int(text)
        if str(number) == text:
            return number
    except ValueError:
        pass  # said below, as for a number in another form
    raise Misfit("expected a whole number as key, got another str from the record")


class SecretShape(Shape):
    """`Secret[T]`: recorded as `{"$secret": …}`; what doesn't fit inside is not described."""

    def __init__(self, name: str, inner: Shape) -> None:
        super().__init__(name, {dict}, (Secret,))
        self.inner = inner

    def write(self, value: Any, depth: int) -> Any:
        """Write the value in its wrapper."""
        if type(value) is not Secret:
            raise cannot_write(value, self.name)
        try:
            return {SECRET_KEY: self.inner.write(value.reveal(), depth)}
        except Misfit:
            reason = f"what is in the Secret can't be recorded as {self.inner.name}"
        raise Misfit(reason)

    def read(self, plain: Any, depth: int) -> Any:
        """Take it wrapped, or bare: from before the annotation said `Secret`, or typed in."""
        if type(plain) is dict and plain.keys() == {SECRET_KEY}:
            plain = plain[SECRET_KEY]
        try:
            return Secret(self.inner.read(plain, depth))
        except Misfit:
            reason = f"expected {self.name}, got another secret from the record"
        raise Misfit(reason)


class UnionShape(Shape):
    """`A | B`: the first member that takes the value exactly; tagged where JSON is ambiguous."""

    def __init__(self, name: str, members: Sequence[tuple[str, Shape]]) -> None:
        shared = {
            kind
            for _, shape in members
            for kind in shape.kinds
            if sum(kind in other.kinds for _, other in members) > 1
        }
        if shared:
            shared.add(dict)  # a tag is an object: no bare object may be taken for one
        self.tags: dict[str, Shape] = {}
        self.bare: dict[type, Shape] = {}
        self._candidates: dict[type, list[tuple[str | None, Shape]]] = {}
        self._others: list[tuple[str | None, Shape]] = []
        for tag, shape in members:
            self._add(tag if shape.kinds & shared else None, shape)
        for candidates in self._candidates.values():
            candidates.extend(self._others)
        for _, shape in members:
            if isinstance(shape, FloatShape) and shape in self.bare.values():
                self.bare.setdefault(int, shape)
        kinds = set(self.bare) | ({dict} if self.tags else set())
        accepts = () if self._others else tuple(self._candidates)
        super().__init__(name, kinds, accepts)

    def _add(self, tag: str | None, shape: Shape) -> None:
        if tag is None:
            self.bare.update(dict.fromkeys(shape.kinds, shape))
        else:
            self.tags[tag] = shape
        for kind in shape.accepts:
            known = self._candidates.setdefault(kind, [])
            known.append((tag, shape))
            known.sort(key=lambda one: isinstance(one[1], FloatShape))  # an int stays an int
        if not shape.accepts:
            self._others.append((tag, shape))

    def write(self, value: Any, depth: int) -> Any:
        """Write it as the first member that takes it."""
        problem: Misfit | None = None
        for tag, shape in self._candidates.get(type(value), self._others):
            try:
                plain = shape.write(value, depth)
            except Misfit as misfit:
                if problem is None or len(misfit.parts) > len(problem.parts):
                    problem = misfit
            else:
                return plain if tag is None else {TYPE_KEY: tag, "value": plain}
        raise problem or cannot_write(value, self.name)

    def read(self, plain: Any, depth: int) -> Any:
        """Read it as the member that the tag, or the JSON type, says."""
        bare = self.bare.get(type(plain))
        if bare is not None:
            return bare.read(plain, depth)
        if type(plain) is not dict or plain.keys() != {TYPE_KEY, "value"} or not self.tags:
            raise cannot_read(plain, self.name + (f" with its {TYPE_KEY}" if self.tags else ""))
        tag = plain[TYPE_KEY]
        shape = self.tags.get(tag) if type(tag) is str else None
        if shape is None:
            raise Misfit(f"expected {self.name}, got another {TYPE_KEY} from the record")
        return shape.read(plain["value"], depth)


class FieldsShape(Shape):
    """A class with named fields: dataclass, Struct, NamedTuple.

    `make` builds an object from the fields on record; it fills in defaults for those in `optional`.
    """

    def __init__(
        self,
        cls: type,
        fields: Mapping[str, Shape],
        *,
        name: str,
        optional: frozenset[str],
        make: Callable[[dict[str, Any]], Any],
    ) -> None:
        super().__init__(name, {dict}, (cls,))
        self._cls = cls
        self._writers = [(field, shape.write) for field, shape in fields.items()]
        self._readers = [(field, shape.read) for field, shape in fields.items()]
        self.fields = fields
        self.required = frozenset(fields) - optional
        self._make = make

    def write(self, value: Any, depth: int) -> Any:
        """Write each field under its name."""
        if type(value) is not self._cls:
            raise cannot_write(value, self.name)
        written: dict[str, Any] = {}
        field = ""
        try:
            for field, write in self._writers:
                written[field] = write(getattr(value, field), depth)
        except Misfit as misfit:
            misfit.inside(f".{field}")
            raise
        except AttributeError:
            raise Misfit(f"this {self.name} has no value for its field {field}") from None
        return written

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON object with every field that has no default."""
        if type(plain) is not dict:
            raise cannot_read(plain, self.name)
        values: dict[str, Any] = {}
        for field, read in self._readers:
            if field in plain:
                try:
                    values[field] = read(plain[field], depth)
                except Misfit as misfit:
                    misfit.inside(f".{field}")
                    raise
            elif field in self.required:
                raise Misfit(f"expected {self.name}, got an object without {field} from the record")
        try:
            return self._make(values)
        except Exception as error:  # noqa: BLE001 - constructors are the user's
            kind = type(error).__name__
            # What a class of ours refuses it says without the values that might be secret.
            said = f": {error.message}" if isinstance(error, UsageError) else ""
        raise Misfit(f"{self.name} refused the recorded fields with {kind}{said}")


class TypedDictShape(Shape):
    """`TypedDict`: a plain dict with these keys and no others."""

    def __init__(self, name: str, fields: Mapping[str, Shape], required: frozenset[str]) -> None:
        super().__init__(name, {dict}, (dict,))
        self.fields = fields
        self.required = required

    def write(self, value: Any, depth: int) -> Any:
        """Write the keys in their order."""
        if type(value) is not dict:
            raise cannot_write(value, self.name)
        self._check_required(value)
        written: dict[str, Any] = {}
        for key, item in value.items():
            shape = self.fields.get(key) if type(key) is str else None
            try:
                if shape is None:
                    raise Misfit(f"{self.name} has no such key")
                written[key] = shape.write(item, depth)
            except Misfit as misfit:
                misfit.inside(key_part(key))
                raise
        return written

    def read(self, plain: Any, depth: int) -> Any:
        """Take a JSON object with every required key."""
        if type(plain) is not dict:
            raise cannot_read(plain, self.name)
        self._check_required(plain)
        values: dict[str, Any] = {}
        for key, item in plain.items():
            if key in self.fields:
                try:
                    values[key] = self.fields[key].read(item, depth)
                except Misfit as misfit:
                    misfit.inside(key_part(key))
                    raise
        return values

    def _check_required(self, value: dict[Any, Any]) -> None:
        for key in self.required:
            if key not in value:
                raise Misfit(f"expected {self.name}, got a dict without its key {key}")
