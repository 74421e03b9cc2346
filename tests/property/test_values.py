from __future__ import annotations

import enum
import json
import math
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.core.inputs import check
from agentctl.errors import CallFailed, NotRecordable, UsageError
from agentctl.value_schemas import describe
from agentctl.values import (
    MASK,
    PLAIN,
    RecordedError,
    Secret,
    codec,
    decode_error,
    encode_error,
    mask,
)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Place(NamedTuple):
    x: int
    name: str | None


class Extra(TypedDict):
    when: timedelta
    note: NotRequired[str | bytes]


class Line(msgspec.Struct, frozen=True):
    price: Decimal
    paid: bool | int | float | None


@dataclass(frozen=True)
class Leaf:
    id: UUID
    color: Color


@dataclass
class Tree:
    at: datetime
    day: date
    clock: time
    place: Place
    lines: tuple[Line, ...]
    label: Color | Literal["none", 3] | str | Path
    secret: Secret[str | int]
    access: Access
    extra: Extra
    tags: set[str] = field(default_factory=set)
    leaves: frozenset[Leaf] = frozenset()
    by_number: dict[int, Leaf | Line] = field(default_factory=dict)
    by_id: dict[UUID, list[bytes]] = field(default_factory=dict)
    plain: Any = None
    parts: list[Tree | Leaf | None] = field(default_factory=list)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
floats = st.floats(allow_nan=False, allow_infinity=False)
offsets = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(
    lambda delta: timezone(timedelta(minutes=delta // timedelta(minutes=1)))
)
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=offsets)
decimals = st.decimals(allow_nan=False, allow_infinity=False)
paths = st.text("ab/.", min_size=1, max_size=6).map(Path)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
places = st.builds(Place, st.integers(), st.none() | texts)
lines = st.builds(Line, decimals, st.none() | st.booleans() | st.integers() | floats)
leaves = st.builds(Leaf, st.uuids(), st.sampled_from(Color))
extras = st.fixed_dictionaries(
    {"when": st.timedeltas()}, optional={"note": texts | st.binary(max_size=5)}
)


def trees(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Tree]:
    return st.builds(
        Tree,
        at=moments,
        day=st.dates(),
        clock=st.times(),
        place=places,
        lines=st.lists(lines, max_size=2).map(tuple),
        label=st.sampled_from([*Color, "none", 3]) | texts | paths,
        secret=st.builds(Secret, texts | st.integers()),
        access=st.sampled_from([Access(0), *Access, Access.READ | Access.WRITE]),
        extra=extras,
        tags=st.sets(texts, max_size=3),
        leaves=st.frozensets(leaves, max_size=2),
        by_number=st.dictionaries(st.integers(), leaves | lines, max_size=2),
        by_id=st.dictionaries(st.uuids(), st.lists(st.binary(max_size=4), max_size=2), max_size=2),
        plain=plain,
        parts=children,
    )


forests = trees(
    st.lists(st.none() | leaves | trees(st.lists(st.none() | leaves, max_size=1)), max_size=2)
)


def same(a: Any, b: Any) -> bool:
    """Equal, and of the same types all the way down, as `==` alone doesn't say."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Secret):
        return same(a.reveal(), b.reveal())
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Tree | Leaf):
        return same(vars(a), vars(b))
    if isinstance(a, Line):
        return same(msgspec.structs.astuple(a), msgspec.structs.astuple(b))
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return bool(a == b) and (not isinstance(a, Decimal) or str(a) == str(b))


@given(forests)
@settings(max_examples=80, deadline=None)
def test_what_is_written_is_read_back_exactly_and_written_the_same_again(tree):
    raw = codec(Tree).encode(tree)
    found = codec(Tree).decode(raw)
    assert same(found, tree)
    assert codec(Tree).encode(found) == raw
    json.loads(raw)


@given(plain)
@settings(deadline=None)
def test_plain_json_is_read_back_exactly(value):
    assert same(PLAIN.decode(PLAIN.encode(value)), value)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates()
    | st.decimals() | st.sampled_from([*Color, int, object()]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(inner.filter(_hashable), inner)
    | st.lists(inner, max_size=3).map(tuple) | st.sets(inner.filter(_hashable)),
    max_leaves=8,
)  # fmt: skip


ANNOTATIONS = [
    Any, int, float, str, bytes, datetime, date, time, timedelta, Decimal, UUID, Path, Color,
    Access, Place, Extra, Line, Leaf, Tree, set[float], dict[int, str], dict[Color, int],
    tuple[int, str], Literal["a", 1, None], Leaf | Line | Tree | None, list[int] | list[str],
    str | bytes | Path, Secret[list[int]], int | float | bool, set[Leaf], list[Tree] | Extra,
]  # fmt: skip


@given(st.sampled_from(ANNOTATIONS), anything)
@settings(max_examples=300, deadline=None)
def test_any_value_is_recorded_exactly_or_refused(annotation, value):
    one = codec(annotation)
    try:
        raw = one.encode(value)
    except NotRecordable:
        return
    expected = float(value) if annotation is float else value  # the one conversion there is
    assert same(one.decode(raw), expected)


@given(st.sampled_from(ANNOTATIONS), anything)
@settings(max_examples=300, deadline=None)
def test_what_a_codec_writes_passes_for_an_answer(annotation, value):
    try:
        raw = codec(annotation).encode(value)
    except NotRecordable:
        return
    takes = describe(annotation)
    assert check(raw, takes.name, takes.description) == raw


@given(forests)
@settings(max_examples=40, deadline=None)
def test_a_value_of_every_type_passes_for_an_answer(tree):
    takes = describe(Tree)
    raw = codec(Tree).encode(tree)
    assert check(raw, takes.name, takes.description) == raw


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["1", "red", "P1D", "2026-01-01T00:00:00Z", "$type", "9" * 5000, "1e9999"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.text(max_size=3) | st.sampled_from([
            "$type", "value", "$secret", "id", "color", "when", "note", "x", "price", "paid",
        ]), inner, max_size=4),
    max_leaves=10,
).map(lambda value: json.dumps(value).encode())  # fmt: skip


@given(st.sampled_from(ANNOTATIONS), st.binary() | json_like)
@settings(max_examples=500, deadline=None)
def test_any_bytes_give_a_value_or_not_recordable(annotation, raw):
    try:
        value = codec(annotation).decode(raw)
    except NotRecordable:
        return
    again = codec(annotation).encode(value)
    assert same(codec(annotation).decode(again), value)


@given(st.sampled_from([None, bool, int, float, str, list[int], dict[str, bool]]), json_like)
@settings(max_examples=300, deadline=None)
def test_an_answer_of_a_plain_type_passes_just_if_the_codec_reads_it(annotation, raw):
    takes = describe(annotation)
    try:
        codec(annotation).decode(raw)
    except NotRecordable:
        with pytest.raises(UsageError):
            check(raw, takes.name, takes.description)
    else:
        check(raw, takes.name, takes.description)


@given(st.sampled_from(["int", "Bot", ""]), st.none() | st.binary() | json_like, json_like)
@settings(max_examples=300, deadline=None)
def test_whatever_a_record_says_an_answer_passes_or_is_refused(name, description, raw):
    try:
        checked = check(raw, name, description)
    except UsageError as error:
        said = error.message
    else:
        said = "answer"
        json.loads(checked)
    assert said.startswith("answer")
    assert said.isprintable()


@given(forests, st.data())
@settings(max_examples=50, deadline=None)
def test_a_damaged_record_gives_a_value_or_not_recordable(tree, data):
    raw = bytearray(codec(Tree).encode(tree))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        value = codec(Tree).decode(bytes(raw))
    except NotRecordable:
        return
    assert isinstance(value, Tree)


@given(plain, st.text(min_size=20).map(lambda text: f"hidden {text}"))
@settings(deadline=None)
def test_a_masked_record_has_no_secret_left(value, hidden):
    masked = mask([value, {"deep": [{"$secret": hidden}, {"$secret": [hidden]}]}])
    assert masked == [value, {"deep": [MASK, MASK]}]


@given(st.text(), st.none() | st.binary() | json_like, st.text())
@settings(max_examples=200, deadline=None)
def test_any_recorded_error_gives_an_exception(name, args, text):
    for type_name in (name, "builtins.ValueError", "builtins.UnicodeDecodeError", "builtins.eval"):
        assert isinstance(decode_error(RecordedError(type_name, args, text)), Exception)


@given(st.lists(anything, max_size=3))
@settings(deadline=None)
def test_an_error_with_any_arguments_is_recorded_and_comes_back_the_same_each_time(args):
    recorded = encode_error(ValueError(*args))
    found = decode_error(recorded)
    assert type(found) is (ValueError if recorded.args is not None else CallFailed)
    if recorded.args is not None:
        assert encode_error(found) == recorded
