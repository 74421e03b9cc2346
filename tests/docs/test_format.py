"""docs/format.md and the records' pages say what is written: tables, and a reader made of them."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentctl import Agent, Capability, handler, sleep
from agentctl.core.audit import AUDITED
from agentctl.core.lifecycle import ALLOWED
from agentctl.records import KINDS
from agentctl.testing import Durable

from .pages import REPOSITORY
from .reader import Damaged, open_events, records

PAGE = "".join(
    (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
    for name in ("format.md", "records.md", "records-schedules.md")
)
_KIND = re.compile(r"^\| \*\*`(\w+)`\*\* \|", re.MULTILINE)
_ROW = re.compile(r"^\| \| `(?P<name>\w+)` \|(?P<type>[^|]+)\|(?P<left_out>[^|]*)\|", re.MULTILINE)
_PYTHON_TYPES = {
    "integer": int,
    "instant": int,
    "text": str,
    "call": str,
    "true/false": bool,
    "list of text": tuple,
    "list of call": tuple,
    "JSON": (msgspec.Raw, dict, tuple),
}


def part(title: str) -> str:
    """What stands below a heading, up to the next of its rank."""
    rank, name = title.split(" ", 1)
    found = re.search(
        rf"^{rank} {re.escape(name)}\n(.*?)(?=^#{{1,{len(rank)}}} |\Z)",
        PAGE,
        re.MULTILINE | re.DOTALL,
    )
    assert found, f"neither page has {title!r}"
    return found[1]


def documented_kinds() -> dict[str, str]:
    """What the tables say of each kind: its rows, as they stand there."""
    _, *pieces = _KIND.split(PAGE)
    kinds, rows = pieces[::2], pieces[1::2]
    assert len(set(kinds)) == len(kinds)
    return dict(zip(kinds, rows, strict=True))


def plain_types(annotation: Any) -> Iterator[type]:
    for one in typing.get_args(annotation) if is_union(annotation) else (annotation,):
        base = typing.get_origin(one) or one
        if base not in (msgspec.UnsetType, types.NoneType):
            yield base


def is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (types.UnionType, typing.Union)


def test_every_kind_of_record_is_documented() -> None:
    assert documented_kinds().keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_the_members_of_a_record_are_those_of_the_page(kind: str) -> None:
    rows = list(_ROW.finditer(documented_kinds()[kind]))
    fields = msgspec.structs.fields(KINDS[kind])
    assert [row["name"] for row in rows] == [field.encode_name for field in fields]
    for row, field in zip(rows, fields, strict=True):
        wanted = _PYTHON_TYPES[row["type"].strip()]
        kinds = set(plain_types(field.type))
        assert all(issubclass(one, wanted) for one in kinds), f"{kind}.{row['name']}: {kinds}"
        assert row["left_out"].strip() == left_out(field), f"{kind}.{row['name']}"


def left_out(field: msgspec.structs.FieldInfo) -> str:
    """What the page says of a member that isn't there."""
    default = field.default
    if field.default_factory is not msgspec.NODEFAULT or default in ((), ""):
        return "empty"
    if default is msgspec.NODEFAULT:
        return ""
    if default is msgspec.UNSET:
        return "none"
    if isinstance(default, msgspec.Raw):
        default = json.loads(bytes(default))
    return json.dumps(default)


def test_the_table_of_phases_is_the_programs() -> None:
    rows = re.findall(r"^\| (\w+) \| (`.*`) \|$", part("## What may follow what"), re.MULTILINE)
    table = {phase: frozenset(re.findall(r"\w+", kinds)) for phase, kinds in rows}
    assert table == {str(phase): kinds for phase, kinds in ALLOWED.items()}


def test_every_record_that_is_audited_is_in_the_table_of_audit_lines() -> None:
    rows = re.findall(r"^\| `(\w+)`[^|]* \| `[\w ]+` \|", part("## audit.log"), re.MULTILINE)
    assert {KINDS[kind] for kind in rows} == AUDITED


# -- the reader made from the page


class World(Capability):
    async def do(self, number: int) -> int:
        return number


class Death(BaseException):
    """The program is gone. (A `SystemExit` would also end the test's own event loop.)"""


class Dying(World):
    async def do(self, number: int) -> int:
        if number == 2:
            raise Death
        return number


class Worker(Agent):
    world: World
    total: int = 0

    @handler
    async def work(self) -> int:
        self.total += await self.world.do(1)
        await sleep(60)
        self.total += await self.world.do(2)
        return self.total


@pytest.fixture
def durable() -> Durable:
    return Durable()


@pytest.fixture
def cut_off(durable: Durable) -> bytes:
    """The journal of a program that ended one event, and died within the second one's last call."""
    assert durable.run(Worker, "work", world=World()) == 3
    with pytest.raises(Death):
        durable.run(Worker, "work", world=Dying())
    return durable.journals["Worker"]


def test_the_reader_finds_the_open_event_and_what_it_has_done(cut_off: bytes) -> None:
    events = open_events(records(cut_off))
    assert list(events) == [2]
    assert [call["fn"] for call in events[2]["calls"].values()] == [
        "World.do",
        "timer",
        "World.do",
    ]
    assert list(events[2]["outcomes"]) == ["2-1", "2-2"]


def test_the_reader_finds_nothing_open_once_it_was_finished(
    cut_off: bytes, durable: Durable
) -> None:
    durable.recover(Worker, world=World())
    assert open_events(records(durable.journals["Worker"])) == {}


def test_the_reader_follows_a_set_aside(cut_off: bytes, durable: Durable) -> None:
    for _ in range(3):
        with pytest.raises(Death):
            durable.recover(Worker, world=Dying())
        durable.disk = durable.disk.after_kill()
    durable.recover(Worker, world=Dying())
    found = records(durable.journals["Worker"])
    assert [record["aside"] for record in found if "aside" in record] == [2]
    assert open_events(found) == {}


def test_the_reader_refuses_a_changed_byte_of_what_was_durable(cut_off: bytes) -> None:
    at = cut_off.index(b'"handler"') + 1
    line = cut_off[:at].count(b"\n") + 1
    changed = cut_off[:at] + b"H" + cut_off[at + 1 :]
    with pytest.raises(Damaged, match=f"line {line}"):
        records(changed)


def test_the_reader_cuts_off_a_torn_tail(cut_off: bytes) -> None:
    whole = records(cut_off)
    assert records(cut_off[:-10]) == whole[:-1]
    assert records(cut_off[:-1]) == whole  # only the line feed is missing
    assert records(cut_off + b"\0" * 100) == whole


def test_the_reader_is_made_of_the_standard_library_alone() -> None:
    source = Path(__file__).with_name("reader.py").read_text(encoding="utf-8")
    imported = re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE)
    assert set(imported) <= {"json", "re", "zlib"}
