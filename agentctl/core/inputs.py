"""Answers of people and webhooks, held against what their question takes.

A question's type stands in its record as a name and, unless that says everything, a schema
(`value_schemas`). So an answer is checked by whoever reads the journal.

Invariant: what the type's codec writes passes; the program that asked may refuse more. Never loads
or runs what a record names, never shows what a secret takes, and never works longer than an
answer's length allows, whatever the record says.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from agentctl.core.input_words import expected, got, outline
from agentctl.errors import BadArguments, UsageError
from agentctl.json_text import read_json
from agentctl.secrets import SECRET_KEY
from agentctl.value_containers import whole_number
from agentctl.value_schemas import FORMATS, PLAIN_TYPES, Schema
from agentctl.value_shapes import FloatShape, Misfit, NoneType, Shape, key_part, written_shapes

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "null": (NoneType,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (float, int),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}
_FLOAT: Final = FloatShape()
_STEPS_A_BYTE: Final = 16
_LEAST_STEPS: Final = 10_000
_REFERENCES: Final = 100
"""One leads to the next; more than so many lead in a circle."""


def check(value_json: bytes, name: str, description: bytes | None) -> bytes:
    """Check an answer, and return it as it is put on record: secrets marked as such.

    Raises:
        UsageError: it isn't what the question takes; says where, and why.
    """
    try:
        value = msgspec.json.decode(value_json)
    except (msgspec.MsgspecError, ValueError) as error:
        raise UsageError(f"answer: this is no JSON: {error}") from None
    except RecursionError:
        raise _too_deep() from None
    schema = schema_of(name, description)
    fitting = _Fitting(schema, _LEAST_STEPS + _STEPS_A_BYTE * len(value_json))
    try:
        return msgspec.json.encode(fitting.fit(value, {"title": name, **schema}))
    except _Unexpected as unexpected:
        hides = description is not None and b'"writeOnly"' in description
        came = "something else" if hides else got(unexpected.plain)
        path, reason = (
            unexpected.path,
            f"expected {expected(unexpected.schema, schema)}, got {came}",
        )
    except Misfit as misfit:
        path, reason = misfit.path, misfit.reason
    except RecursionError:
        raise _too_deep() from None
    dot = "." if path and path[0] != "[" else ""
    raise UsageError(f"answer{dot}{path}: {reason}", hint=f"it takes {outline(schema, schema)}")


def read_input(text: str, name: str, description: bytes | None) -> bytes:
    """Read an answer as a person types it, and check it.

    It is JSON; what isn't, or is no such JSON, may be a text without its quotes. So a `str` may
    stand as it is; one that begins and ends with a quote is JSON.

    Raises:
        UsageError: it isn't what the question takes; says where, and why.
    """
    try:
        bare = msgspec.json.encode(text)
    except UnicodeEncodeError:
        raise UsageError("the answer is no text in this terminal's encoding") from None
    try:
        value = msgspec.json.encode(read_json(text))
    except BadArguments as no_json:
        is_open = not schema_of(name, description)
        hint = """a text needs quotes: '"…"'""" if is_open else no_json.hint
        problem = UsageError(f"answer: {no_json.message}", hint=hint)
        if is_open:
            raise problem from None
        return _check_text(bare, name, description, problem if text[:1] in ("{", "[") else None)
    try:
        return check(value, name, description)
    except UsageError as error:
        return _check_text(bare, name, description, error)


def _check_text(
    bare: bytes, name: str, description: bytes | None, problem: UsageError | None
) -> bytes:
    """Take it for a text; what is said if it isn't one, either, is `problem`."""
    try:
        return check(bare, name, description)
    except UsageError as error:
        raise problem or error from None


def schema_of(name: str, description: bytes | None) -> Schema:
    """The schema that a record bears; {}, which takes anything, if it makes no sense."""
    if description is None:
        return PLAIN_TYPES.get(name, {})
    try:
        return msgspec.json.decode(description, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}


class _Unexpected(Misfit):
    """Another value than a schema takes; put in words only if nothing else takes it, either."""

    def __init__(self, schema: Schema, plain: object) -> None:
        super().__init__("")
        self.schema = schema
        self.plain = plain


class _Fitting:
    """Holds one answer against one schema. What it doesn't know in a schema, it passes over."""

    def __init__(self, root: Schema, steps: int) -> None:
        self._root = root
        self._left = steps

    def fit(self, plain: Any, schema: object) -> Any:
        """Return the value as it is recorded; raise `Misfit`."""
        schema = self._resolved(schema)
        if schema.get("writeOnly") is True:
            return self._secret(plain, schema)
        options = schema.get("anyOf")
        if isinstance(options, list):
            return self._any(plain, schema, options)
        kinds = _KINDS.get(str(schema.get("type")))
        if (kinds and type(plain) not in kinds) or not self._is_known(plain, schema):
            raise _Unexpected(schema, plain)
        if type(plain) is dict:
            return self._object(plain, schema)
        return self._array(plain, schema) if type(plain) is list else plain

    def _resolved(self, schema: object) -> Schema:
        """Follow references; a secret's stays to be followed later."""
        self._spend(1)
        for _ in range(_REFERENCES):
            if not isinstance(schema, dict):
                return {}
            if "$ref" not in schema or schema.get("writeOnly") is True:
                return schema
            schema = self._named(schema["$ref"])
        return {}

    def _named(self, reference: object) -> object:
        if reference == "#":
            return self._root
        classes = self._root.get("$defs")
        name = str(reference).removeprefix("#/$defs/")
        return classes.get(name) if isinstance(classes, dict) else None

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise UsageError("answer: it takes too long to check")

    def _secret(self, plain: Any, schema: Schema) -> Any:
        """Take it marked as secret, or bare: as a person types it."""
        if type(plain) is dict and plain.keys() == {SECRET_KEY}:
            plain = plain[SECRET_KEY]
        inner = {key: value for key, value in schema.items() if key != "writeOnly"}
        try:
            return {SECRET_KEY: self.fit(plain, inner)}
        except Misfit:
            unexpected = _Unexpected(schema, None)  # what is inside isn't described
        raise unexpected

    def _any(self, plain: Any, schema: Schema, options: list[object]) -> Any:
        problem: Misfit | None = None
        for option in options:
            try:
                return self.fit(plain, option)
            except Misfit as misfit:
                if problem is None or len(misfit.parts) > len(problem.parts):
                    problem = misfit
        if problem is not None and problem.parts:
            raise problem
        raise _Unexpected(schema, plain)

    def _is_known(self, plain: Any, schema: Schema) -> bool:
        """Whether a single value is one of those that are named, and in the form that is asked."""
        known = schema.get("enum")
        known = [schema["const"]] if "const" in schema else known
        if isinstance(known, list):
            self._spend(len(known))
            if not any(type(one) is type(plain) and one == plain for one in known):
                return False
        try:
            if type(plain) is int and schema.get("type") == "number":
                _FLOAT.read(plain, 0)
            elif type(plain) is str and isinstance(form := schema.get("format"), str):
                _check_form(plain, form)
        except Misfit:
            return False
        return True

    def _object(self, plain: dict[str, Any], schema: Schema) -> Any:
        required = schema.get("required")
        for key in required if isinstance(required, list) else ():
            self._spend(1)
            if isinstance(key, str) and key not in plain:
                raise Misfit(f"its field {ascii(key)[:60]} is missing")
        fields = schema.get("properties")
        fields = fields if isinstance(fields, dict) else {}
        names, rest = schema.get("propertyNames"), schema.get("additionalProperties")
        fitted = {}
        for key, item in plain.items():
            try:
                if names is not None:
                    self.fit(key, names)
                fitted[key] = self.fit(item, fields.get(key, rest))
            except Misfit as misfit:
                misfit.inside(key_part(key))
                raise
        return fitted

    def _array(self, plain: list[Any], schema: Schema) -> Any:
        self._check_length(plain, schema)
        parts, rest = schema.get("prefixItems"), schema.get("items")
        parts = parts if isinstance(parts, list) else []
        fitted: list[Any] = []
        try:
            for item in plain:
                index = len(fitted)
                fitted.append(self.fit(item, parts[index] if index < len(parts) else rest))
        except Misfit as misfit:
            misfit.inside(f"[{len(fitted)}]")
            raise
        if schema.get("uniqueItems") is True and _has_twins(fitted):
            raise Misfit("expected a set, got a member twice")
        return fitted

    @staticmethod
    def _check_length(plain: list[Any], schema: Schema) -> None:
        least, most = schema.get("minItems"), schema.get("maxItems")
        if type(least) is int and len(plain) < least:
            raise Misfit(f"expected {least} parts, got {len(plain)}")
        if type(most) is int and len(plain) > most:
            raise Misfit(f"expected {most} parts, got {len(plain)}")


@functools.cache
def _forms() -> dict[str, Shape]:
    shapes = {shape.name: shape for shape in written_shapes().values()}
    return {form: shapes[name] for name, form in FORMATS.items()}


def _check_form(text: str, form: str) -> None:
    if form == "integer":
        whole_number(text)
    elif form in _forms():
        _forms()[form].read(text, 0)


def _has_twins(members: list[Any]) -> bool:
    return len(set(map(msgspec.json.encode, members))) < len(members)


def _too_deep() -> UsageError:
    return UsageError("answer: it nests too deeply", hint="make it flatter")
