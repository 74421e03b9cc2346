"""What a question takes, and what it got, in few words for a person.

Invariant: one short line that a terminal can show, whatever a record says. Never shows more of an
answer than one single value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from agentctl.value_schemas import FORMATS, Schema

_TYPES: Final = {
    "null": "None",
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "string": "str",
    "array": "list",
    "object": "dict",
}
_FORMS: Final = {form: name for name, form in FORMATS.items()} | {"integer": "whole number"}
_DEEPEST: Final = 3
_LONGEST: Final = 100
_MANY: Final = 12
_SHOWN: Final = 60


def expected(schema: object, root: Schema) -> str:
    """Say what a schema takes: `int`, `"red" or "blue"`, `Refund | None`."""
    return _cut(_words(schema, root, _DEEPEST), _LONGEST)


def got(plain: object) -> str:
    """Say what came instead: a single value as JSON, else of what kind it is."""
    if isinstance(plain, list):
        return "a list"
    return "an object" if isinstance(plain, dict) else _json(plain)


def outline(schema: object, root: Schema) -> str:
    """Say how JSON for a schema is written: `{"amount": int, "note": str | None}`."""
    return _cut(_outlined(schema, root, _DEEPEST), 2 * _LONGEST)


def _words(schema: object, root: Schema, levels: int) -> str:
    schema = _resolved(schema, root)
    known, options = schema.get("enum"), schema.get("anyOf")
    if isinstance(known, list):
        return " or ".join(map(_json, known[:_MANY])) + (" or …" if len(known) > _MANY else "")
    if isinstance(title := schema.get("title"), str):
        return title
    if isinstance(options, list) and levels:
        return " | ".join(_words(option, root, levels - 1) for option in options[:_MANY])
    kind, form = str(schema.get("type")), str(schema.get("format"))
    if kind == "array" and levels and "items" in schema:
        return f"list[{_words(schema['items'], root, levels - 1)}]"
    if kind == "object" and levels and "additionalProperties" in schema:
        return f"dict[str, {_words(schema['additionalProperties'], root, levels - 1)}]"
    return _FORMS.get(form) or _TYPES.get(kind) or "plain JSON"


def _outlined(schema: object, root: Schema, levels: int) -> str:
    schema = _resolved(schema, root)
    fields, parts, options = (schema.get(k) for k in ("properties", "prefixItems", "anyOf"))
    if isinstance(fields, Mapping) and levels:
        shown = list(fields.items())[:_MANY]
        pairs = (f"{_json(key)}: {_outlined(one, root, levels - 1)}" for key, one in shown)
        return "{" + ", ".join(pairs) + "}"
    if isinstance(parts, list) and levels:
        return f"[{', '.join(_outlined(one, root, levels - 1) for one in parts[:_MANY])}]"
    if isinstance(options, list) and levels:
        return " | ".join(_outlined(option, root, levels - 1) for option in options[:_MANY])
    if "items" in schema and levels:
        return f"[{_outlined(schema['items'], root, levels - 1)}, …]"
    return _json(schema["const"]) if "const" in schema else _words(schema, root, levels)


def _resolved(schema: object, root: Schema) -> Schema:
    """Follow one reference; a record that makes longer chains gets no better words."""
    if isinstance(schema, dict) and "$ref" in schema:
        classes = root.get("$defs")
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        schema = classes.get(name) if isinstance(classes, dict) else None
        if name == "#":
            schema = root
    return schema if isinstance(schema, dict) else {}


def _json(plain: Any) -> str:
    return _cut(json.dumps(plain), _SHOWN)


def _cut(text: str, longest: int) -> str:
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
