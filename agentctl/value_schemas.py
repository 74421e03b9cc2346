"""What an annotation takes, said in JSON Schema: for whoever has none of the project's code.

Invariant: whatever the annotation's codec writes fits its schema; a schema may be wider, never
narrower. A class stands once in it, however often it is met. Never reads a value.

Beside the standard's keywords: `format` also says `decimal`, `byte` (Base64) and, of a key,
`integer`; `writeOnly` marks a `Secret`, which is recorded as `{"$secret": …}`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from agentctl.value_classes import PydanticShape
from agentctl.value_containers import (
    TYPE_KEY,
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
    NoneType,
    Shape,
    TextShape,
    WrittenShape,
)
from agentctl.values import Codec, codec

Schema: TypeAlias = dict[str, Any]

PLAIN_TYPES: Final[dict[str, Schema]] = {
    "None": {"type": "null"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "plain JSON": {},
}
"""The types whose names say everything."""

FORMATS: Final = {
    "datetime": "date-time",
    "date": "date",
    "time": "time",
    "timedelta": "duration",
    "UUID": "uuid",
    "Decimal": "decimal",
    "bytes": "byte",
}
"""How types that are written as text are called in a schema; of a path any text is one."""


@dataclass(frozen=True)
class InputType:
    """What an answer must be.

    Attributes:
        name: for people.
        description: a JSON Schema; None where the name says everything.
    """

    name: str
    description: bytes | None


def describe(annotation: object) -> InputType:
    """Say what values of an annotation look like.

    Raises:
        TypeError: they can't be recorded; says which part of it, and why.
    """
    return _described(codec(annotation))


@functools.lru_cache(maxsize=256)
def _described(one: Codec[Any]) -> InputType:
    schema = _Describer(one.shape).document()
    if PLAIN_TYPES.get(one.name) == schema:
        return InputType(one.name, None)
    return InputType(one.name, msgspec.json.encode(schema))


class _Describer:
    """Describes one shape and what it is made of."""

    def __init__(self, root: Shape) -> None:
        self._root = root
        self._names: dict[int, str] = {}
        self._classes: dict[str, Schema] = {}

    def document(self) -> Schema:
        schema = self._body(self._root)
        return {**schema, "$defs": self._classes} if self._classes else schema

    def _of(self, shape: Shape) -> Schema:
        if isinstance(shape, AgainShape):
            return self._reference(shape.target)
        if isinstance(shape, FieldsShape | TypedDictShape):
            return self._reference(shape)
        return self._body(shape)

    def _reference(self, shape: Shape) -> Schema:
        if shape is self._root:
            return {"$ref": "#"}
        name = self._names.get(id(shape))
        if name is None:
            name = re.sub(r"\W+", "_", shape.name)
            if name in self._classes:
                name = f"{name}-{len(self._classes)}"
            self._names[id(shape)] = name
            self._classes[name] = {}  # keeps its place while what is in it is described
            self._classes[name] = self._body(shape)
        return {"$ref": f"#/$defs/{name}"}

    def _body(self, shape: Shape) -> Schema:
        match shape:
            case ConstantShape():
                return _of_constants(shape)
            case WrittenShape():
                known = FORMATS.get(shape.name)
                return {"type": "string", **({} if known is None else {"format": known})}
            case IntShape() | FlagShape():
                return {"type": "integer"}
            case ErrorTypeShape():
                return {"type": "string"}
            case FloatShape() | TextShape():
                return PLAIN_TYPES[shape.name]
            case SecretShape():
                inner = self._of(shape.inner)
                return {**({} if "writeOnly" in inner else inner), "writeOnly": True}
            case UnionShape():
                return self._union(shape)
            case PydanticShape() if shape.kinds == {dict}:
                return {"title": shape.name, "type": "object"}
            case _:
                return self._container(shape)

    def _container(self, shape: Shape) -> Schema:
        match shape:
            case SequenceShape():
                return {"type": "array", "items": self._of(shape.item)}
            case SetShape():
                return {"type": "array", "items": self._of(shape.item), "uniqueItems": True}
            case RowShape():
                parts, length = [self._of(part) for part in shape.parts], len(shape.parts)
                return {
                    "type": "array",
                    "prefixItems": parts,
                    "minItems": length,
                    "maxItems": length,
                }
            case DictShape():
                key = {"format": "integer"} if shape.numbers else self._of(shape.key)
                names = {} if key == PLAIN_TYPES["str"] else {"propertyNames": key}
                return {"type": "object", **names, "additionalProperties": self._of(shape.item)}
            case FieldsShape() | TypedDictShape():
                return {
                    "title": shape.name,
                    "type": "object",
                    "properties": {name: self._of(one) for name, one in shape.fields.items()},
                    "required": [name for name in shape.fields if name in shape.required],
                }
            case _:
                return {}

    def _union(self, shape: UnionShape) -> Schema:
        members = [self._of(one) for one in dict.fromkeys(shape.bare.values())]
        for tag, one in shape.tags.items():
            fields = {TYPE_KEY: {"const": tag}, "value": self._of(one)}
            members.append({"type": "object", "properties": fields, "required": list(fields)})
        return {"anyOf": members}


def _of_constants(shape: ConstantShape) -> Schema:
    if shape.kinds == {NoneType}:
        return PLAIN_TYPES["None"]
    if shape.kinds == {bool} and len(shape.plains) == 2:
        return PLAIN_TYPES["bool"]
    return {"enum": list(shape.plains)}
