# ruff: noqa: UP007, UP045 - users write the older forms too
from __future__ import annotations

import enum
import socket
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from pathlib import Path, PurePath
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from agentctl.errors import NotRecordable
from agentctl.values import PLAIN, Secret, codec

T = TypeVar("T")
B = TypeVar("B", bound=int)
UserId = NewType("UserId", int)
Pair = namedtuple("Pair", "a b")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(enum.Flag):
    READ = 1
    WRITE = 2


class Planet(enum.Enum):
    EARTH = (5.9e24, 6.3e6)
    MARS = (6.4e23, 3.3e6)


@dataclass(frozen=True)
class Receipt:
    id: str
    amount: int


@dataclass
class Refund:
    id: str
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Slotted:
    tags: frozenset[str]


@dataclass
class Node:
    value: int
    next: Node | None = None
    children: list[Node] = field(default_factory=list)


@dataclass
class Box(Generic[T]):
    content: T


@dataclass
class IntBox(Box[int], Generic[T]):
    other: T


@dataclass
class Doubled:
    amount: int
    total: int = field(init=False)

    def __post_init__(self):
        self.amount *= 2
        self.total = self.amount
        self.cache = {}


class Point(NamedTuple):
    x: int
    y: float = 0.5


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Event(msgspec.Struct, tag="event", rename="camel"):
    event_name: str
    amounts: tuple[Decimal, ...] = ()


class Kept(msgspec.Struct):
    amount: int

    def __post_init__(self):
        self.amount *= 2


class Text(str):
    pass


class Whole(int):
    pass


@dataclass(frozen=True)
class SpecialReceipt(Receipt):
    pass


def there_and_back(annotation, value):
    found = codec(annotation).decode(codec(annotation).encode(value))
    assert codec(annotation).encode(found) == codec(annotation).encode(value)
    return found


BERLIN = ZoneInfo("Europe/Berlin")
ROUND_TRIPS = [
    (None, None), (bool, True), (int, 0), (int, -(10**3000)), (int, 2**64), (int, -(2**63) - 1),
    (float, 0.1 + 0.2), (float, -0.0), (float, 5e-324), (float, 1.7976931348623157e308),
    (float, 1e16), (str, "Bücher 𐀀 \x00\u2028"), (str, ""), (bytes, b"\x00\xff"),
    (list[int], [1, 2]), (list, [1, "a", None]), (dict[str, int], {"b": 1, "a": 2}), (dict, {}),
    (tuple[int, str], (1, "a")), (tuple[int, ...], (1, 2)), (tuple[()], ()), (tuple, (1, "a")),
    (set[int], {3, 1}), (frozenset[str], frozenset("ab")),
    (set[tuple[int, Color]], {(1, Color.RED)}),
    (dict[int, str], {1: "a", -5: "b"}), (dict[UUID, int], {UUID(int=7): 1}),
    (dict[Color, int], {Color.RED: 1}), (dict[Level, int], {Level.HIGH: 1}),
    (dict[date, int], {date(2026, 1, 2): 1}), (dict[Literal["a", "b"], int], {"b": 1}),
    (Color, Color.BLUE), (Level, Level.HIGH), (Mode, Mode.READ | Mode.WRITE), (Mode, Mode(0)),
    (Planet, Planet.MARS),
    (datetime, datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)),
    (datetime, datetime(1, 1, 1, tzinfo=timezone(timedelta(minutes=-93)))),
    (datetime, datetime(2026, 7, 1, tzinfo=timezone(timedelta(seconds=1172)))),
    (date, date(9999, 12, 31)), (time, time(1, 2, 3, 4)), (time, time(1, tzinfo=UTC)),
    (timedelta, timedelta.max), (timedelta, timedelta.min), (timedelta, timedelta(microseconds=-1)),
    (Decimal, Decimal("1.10")), (Decimal, Decimal("-0E+500")), (UUID, UUID(int=2**128 - 1)),
    (Path, Path("/a/b c")), (PurePath, PurePath("x/../y")),
    (Receipt, Receipt("r", 1)), (Refund, Refund("f", Receipt("r", 1))),
    (Slotted, Slotted(frozenset("x"))),
    (Node, Node(1, Node(2), [Node(3, None, [Node(4)])])),
    (Box[int], Box(1)), (Box[list[Receipt]], Box([Receipt("r", 1)])), (Box, Box([1])),
    (IntBox[str], IntBox(1, "a")),
    (Point, Point(1, 2.0)), (Pair, Pair(1, "x")), (Movie, {"title": "M"}),
    (Movie, {"year": 1931, "title": "M"}), (Event, Event("e", (Decimal(1),))),
    (Optional[Receipt], None), (Receipt | Refund, Refund("f")), (Receipt | Refund | None, None),
    (int | float, 1), (int | float, 1.0), (float | int, 1), (bool | int, True), (bool | int, 1),
    (str | bytes, b"YQ=="), (str | bytes, "YQ=="), (str | datetime, "2026-01-01T00:00:00+00:00"),
    (list[int] | list[str], ["a"]), (list[int] | list[str], []),
    (list[int] | tuple[int, ...], (1,)),
    (Receipt | dict[str, Any], {"$type": "Receipt", "value": {"id": "a", "amount": 1}}),
    (str | bytes | dict, "a"),
    (str | bytes | dict, {"$type": "bytes", "value": "YQ=="}),
    (Receipt | dict[str, int], {"id": 1}),
    (Union[Receipt, Any], [1, "a"]), (Any | None, None),
    (Color | str, "red"), (Color | str, Color.RED), (Color | Level, Level.LOW),
    (Literal["a", 1, True, None, Color.RED, b"x"], True), (Literal["a"] | Literal["b"], "b"),
    (Literal["a"] | str, "c"), (Literal[1] | float, 1), (Literal[1] | float, 2.0),
    (UserId, UserId(7)), (Annotated[int, "meta"], 7), (Annotated[int, []], 7), (T, [1]), (B, 7),
    (list[Annotated[int, []]], [7]), (Secret[Receipt], Secret(Receipt("r", 1))),
    (set[Secret[str]], {Secret("b"), Secret("a")}),
]  # fmt: skip


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b and repr(a) == repr(b) if isinstance(a, float | Decimal) else a == b


def named(part: object) -> str:
    """A name that is the same in every process: a set's order isn't."""
    is_set = isinstance(part, set | frozenset)
    return repr(sorted(map(repr, part)) if is_set else part)[:40]


@pytest.mark.parametrize(("annotation", "value"), ROUND_TRIPS, ids=named)
def test_a_value_comes_back_as_it_was_with_all_its_types(annotation, value):
    assert same(there_and_back(annotation, value), value)


REFUSED = [
    (int, True, "bool can't be recorded as int"),
    (int, 1.0, "float can't be recorded as int"),
    (int, Whole(1), "Whole can't be recorded as int"),
    (int, Level.LOW, "Level can't be recorded as int"),
    (str, Text("a"), "Text can't be recorded as str"),
    (str, None, "NoneType can't be recorded as str"),
    (str, "a\ud800", "lone surrogate"),
    (bool, 1, "int can't be recorded as bool"),
    (float, True, "bool can't be recorded as float"),
    (float, float("nan"), "nan"),
    (float, float("-inf"), "-inf"),
    (float, 2**53 + 1, "no float equals it"),
    (float, 10**400, "no float equals it"),
    (int, 1 << 14_001, "14000 bits"),
    (list[int], (1,), "tuple can't be recorded as list"),
    (tuple[int, ...], [1], "list can't be recorded as tuple"),
    (tuple[int, int], (1,), "expected tuple.* of 2 parts, got 1"),
    (dict[str, int], OrderedDict(a=1), "OrderedDict can't be recorded"),
    (dict, defaultdict(list), "defaultdict can't be recorded"),
    (set[int], frozenset({1}), "frozenset can't be recorded as set"),
    (tuple, Pair(1, 2), "Pair can't be recorded as tuple"),
    (Receipt, SpecialReceipt("r", 1), "SpecialReceipt can't be recorded as Receipt"),
    (Receipt, {"id": "r", "amount": 1}, "dict can't be recorded as Receipt"),
    (Color, "red", "str can't be recorded as Color"),
    (datetime, datetime(2026, 1, 1), "without a timezone"),
    (date, datetime(2026, 1, 1, tzinfo=UTC), "datetime can't be recorded as date"),
    (time, time(1, tzinfo=BERLIN), "no fixed offset"),
    (Decimal, Decimal("NaN"), "isn't a number"),
    (Decimal, Decimal("-Infinity"), "isn't a number"),
    (Path, PurePath("a"), "can't be recorded"),
    (Path, Path("a\udcff"), "lone surrogate"),
    (bytes, bytearray(b"a"), "bytearray can't be recorded as bytes"),
    (Literal["a"], "b", "none of Literal"),
    (int | str, 1.5, r"float can't be recorded as int \| str"),
    (Movie, {"title": "M", "director": "F"}, "no such key"),
    (Movie, {"year": 1}, "without its key title"),
    (Secret[str], "a", "str can't be recorded as Secret"),
    (Node, Node("x"), "value: str can't be recorded as int"),
]


@pytest.mark.parametrize(("annotation", "value", "said"), REFUSED, ids=named)
def test_nothing_is_silently_turned_into_another_type(annotation, value, said):
    with pytest.raises(NotRecordable, match=said):
        codec(annotation).encode(value)


def test_an_int_for_a_float_is_recorded_as_the_equal_float():
    assert codec(float).encode(5) == b"5.0"
    assert same(there_and_back(float, 5), 5.0)
    assert same(codec(float).decode(b"5"), 5.0)


def test_a_datetime_keeps_its_moment_and_offset_whatever_its_zone():
    summer = datetime(2026, 7, 1, 12, tzinfo=BERLIN)
    found = there_and_back(datetime, summer)
    assert found == summer
    assert found.utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize(
    ("annotation", "value", "path"),
    [
        (Any, {"items": [{}, {"client": socket}]}, "items[1].client"),
        (Any, {"two words": [{"a": object()}]}, "['two words'][0].a"),
        (Any, {"a": {1: 2}}, "a"),
        (list[Receipt], [Receipt("a", 1), Receipt("b", "x")], "[1].amount"),
        (dict[str, list[int]], {"n": [1, 2, "x"]}, "n[2]"),
        (dict[int, int], {7: "x"}, "[7]"),
        (Refund, Refund("a", Receipt(1, 2)), "receipt.id"),
        (tuple[int, str], (1, 2), "[1]"),
        (set[int], {"a"}, "[*]"),
        (Movie, {"title": 1}, "title"),
        (Receipt | Refund, Refund("a", Receipt(1, 2)), "receipt.id"),
        (Node, Node(1, None, [Node(2), Node(3, Node("x"))]), "children[1].next.value"),
    ],
)
def test_a_refusal_names_the_place_in_the_value(annotation, value, path):
    with pytest.raises(NotRecordable) as caught:
        codec(annotation).encode(value)
    assert caught.value.path == path
    assert caught.value.message.startswith(f"{path}: ")
    assert caught.value.__context__ is None


def test_cyclic_and_bottomless_values_are_refused():
    knot: list = []
    knot.append(knot)
    ring: dict = {"a": {}}
    ring["a"]["b"] = ring
    loop = Node(1)
    loop.next = loop
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for annotation, value in [(Any, knot), (Any, ring), (Any, deep), (Node, loop)]:
        with pytest.raises(NotRecordable, match="contains itself"):
            codec(annotation).encode(value)


def test_a_value_as_deep_as_can_be_written_can_be_read():
    plain: list = []
    node = Node(0)
    for _ in range(90):
        plain, node = [plain], Node(1, None, [node])
    assert there_and_back(Any, plain) == plain
    assert there_and_back(Node, node) == node


def test_the_same_value_gives_the_same_bytes():
    assert codec(set[str]).encode(set("cab")) == b'["a","b","c"]'
    assert codec(set[int]).encode({10, 9, 1}) == b"[1,10,9]"
    words = [f"w{n}" for n in range(50)]
    assert codec(set[str]).encode(set(words)) == PLAIN.encode(sorted(words))


def test_a_post_init_runs_but_the_fields_are_those_on_record():
    value = Doubled(5)
    found = there_and_back(Doubled, value)
    assert (found.amount, found.total, found.cache) == (10, 10, {})
    assert there_and_back(Kept, Kept(5)).amount == 10


def test_union_members_that_json_cant_tell_apart_are_tagged():
    one = codec(Receipt | Refund | None)
    assert one.encode(Receipt("r", 1)) == b'{"$type":"Receipt","value":{"id":"r","amount":1}}'
    assert one.encode(None) == b"null"
    assert codec(Literal["a"] | str).encode("a") == b'"a"'
    assert codec(Receipt | None).encode(Receipt("r", 1)) == b'{"id":"r","amount":1}'


def test_a_new_field_takes_its_default_and_one_that_is_gone_is_passed_over():
    assert codec(Refund).decode(b'{"id":"f","reason":"late"}') == Refund("f")
    assert codec(Node).decode(b'{"value":1}') == Node(1)
    assert codec(Point).decode(b'{"x":1}') == Point(1)
    assert codec(Event).decode(b'{"event_name":"e"}') == Event("e")


@pytest.mark.parametrize(
    ("annotation", "raw", "said"),
    [
        (int, b'"1"', "expected int, got str"),
        (int, b"1.0", "expected int, got float"),
        (int, b"null", "expected int, got null"),
        (bool, b"1", "expected bool, got int"),
        (list[Receipt], b'[{"id":"a","amount":"x"}]', r"\[0\].amount: expected int, got str"),
        (Receipt, b'{"id":"a"}', "expected Receipt, got an object without amount"),
        (Receipt | Refund, b'{"id":"a"}', r"expected Receipt \| Refund with its .type, got object"),
        (Receipt | Refund, b'{"$type":"Gone","value":1}', r"got another \$type"),
        (Receipt | Refund, b'{"$type":["Refund"],"value":1}', r"got another \$type"),
        (Color, b'"green"', "expected Color, got another str"),
        (Color, b"[]", "expected Color, got array"),
        (Mode, b"8", "expected Mode, got another int"),
        (datetime, b'"2026-01-01T00:00:00"', "expected datetime"),
        (Decimal, b'"NaN"', "expected Decimal"),
        (bytes, b'"%"', "expected bytes"),
        (timedelta, b'"1 day"', "expected timedelta"),
        (set[int], b"[1,1]", "twice"),
        (dict[int, int], b'{"01":1}', "whole number"),
        (dict[UUID, int], b'{"%032x":1,"{%032x}":2}' % (1, 1), "twice"),
        (tuple[int, int], b"[1]", "of 2 parts, got 1"),
        (Movie, b"{}", "without its key title"),
        (float, b"9007199254740993", "no float equals it"),
        (int, b"", "no valid JSON"),
        (Any, b"\xff", "no valid JSON"),
        (Any, b"[" * 100_000, "nests too deeply"),
        (Node, b'{"value":1,"next":' * 300 + b"null" + b"}" * 300, "more than 100 levels"),
    ],
)
def test_a_record_that_no_longer_fits_is_said_with_place_expected_and_got(annotation, raw, said):
    with pytest.raises(NotRecordable, match=said):
        codec(annotation).decode(raw)


def test_a_codec_is_made_once_for_each_annotation():
    assert codec(list[Receipt]) is codec(list[Receipt])
    assert codec(list[Receipt]) is not codec(list[Refund])


def test_a_time_zone_without_an_offset_counts_as_none():
    class Nowhere(tzinfo):
        def utcoffset(self, moment):
            return None

    with pytest.raises(NotRecordable, match="without a timezone"):
        codec(datetime).encode(datetime(2026, 1, 1, tzinfo=Nowhere()))
