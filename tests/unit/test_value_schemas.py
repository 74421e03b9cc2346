from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest

from agentctl.value_schemas import describe
from agentctl.values import Secret


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Place(NamedTuple):
    x: int
    name: str = ""


class Note(TypedDict):
    text: str
    at: NotRequired[datetime]


class Line(msgspec.Struct):
    price: Decimal
    place: Place


@dataclass
class Tree:
    line: Line
    other: Line
    parts: list[Tree] = field(default_factory=list)


class Form(pydantic.BaseModel):
    name: str


class Anything(pydantic.RootModel[Any]):
    pass


def of(annotation: Any) -> Any:
    described = describe(annotation)
    return described.description and json.loads(described.description)


@pytest.mark.parametrize(
    ("annotation", "name"),
    [(None, "None"), (bool, "bool"), (int, "int"), (float, "float"), (str, "str"),
     (Any, "plain JSON")],
)  # fmt: skip
def test_a_plain_type_is_said_by_its_name(annotation, name):
    described = describe(annotation)
    assert (described.name, described.description) == (name, None)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (datetime, {"type": "string", "format": "date-time"}),
        (timedelta, {"type": "string", "format": "duration"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (bytes, {"type": "string", "format": "byte"}),
        (Path, {"type": "string"}),
        (Color, {"enum": ["red", "blue"]}),
        (Access, {"type": "integer"}),
        (Literal["a", 3, None], {"enum": ["a", 3, None]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (
            dict[int, Any],
            {
                "type": "object",
                "propertyNames": {"format": "integer"},
                "additionalProperties": {},
            },
        ),
        (dict[date, None], {
            "type": "object",
            "propertyNames": {"type": "string", "format": "date"},
            "additionalProperties": {"type": "null"},
        }),
        (Secret[str], {"type": "string", "writeOnly": True}),
        (Secret[Secret[str]], {"writeOnly": True}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (
            str | bytes,
            {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {
                            "$type": {"const": tag},
                            "value": {"type": "string", **form},
                        },
                        "required": ["$type", "value"],
                    }
                    for tag, form in (("str", {}), ("bytes", {"format": "byte"}))
                ]
            },
        ),
        (Form, {"title": "Form", "type": "object"}),
        (Anything, {}),
        (
            Note,
            {
                "title": "Note",
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "at": {"type": "string", "format": "date-time"},
                },
                "required": ["text"],
            },
        ),
        (
            Tree,
            {
                "title": "Tree",
                "type": "object",
                "properties": {
                    "line": {"$ref": "#/$defs/Line"},
                    "other": {"$ref": "#/$defs/Line"},
                    "parts": {"type": "array", "items": {"$ref": "#"}},
                },
                "required": ["line", "other"],
                "$defs": {
                    "Line": {
                        "title": "Line",
                        "type": "object",
                        "properties": {
                            "price": {"type": "string", "format": "decimal"},
                            "place": {"$ref": "#/$defs/Place"},
                        },
                        "required": ["price", "place"],
                    },
                    "Place": {
                        "title": "Place",
                        "type": "object",
                        "properties": {"x": {"type": "integer"}, "name": {"type": "string"}},
                        "required": ["x"],
                    },
                },
            },
        ),
    ],
)  # fmt: skip
def test_other_types_are_said_in_json_schema(annotation, schema):
    assert of(annotation) == schema


def test_two_classes_of_one_name_are_kept_apart():
    other = msgspec.defstruct("Line", [("note", str)])
    classes = of(tuple[Line, other])["$defs"]
    assert [one["required"] for one in classes.values()] == [["price", "place"], ["x"], ["note"]]


def test_a_class_called_like_a_plain_type_is_described():
    described = describe(msgspec.defstruct("int", [("note", str)]))
    assert described.name == "int"
    assert described.description is not None


def test_what_cant_be_recorded_cant_be_asked_for():
    with pytest.raises(TypeError, match="complex can't be recorded"):
        describe(complex)
