"""Divergence, errors in groups, caches and sets, through the whole program (H3, H9, H10, H11)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from abc import abstractmethod
from pathlib import Path

import pytest

from agentctl import (
    Agent,
    Capability,
    Stuck,
    call_key,
    handler,
)
from agentctl.records import BugRecord, decode, kind_of
from agentctl.testing import Durable

from .bot import Bot
from .world import Declined, World, answer

REPOSITORY = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("strings_program.py")


@pytest.fixture
def durable() -> Durable:
    return Durable()


# -- H3: sets of strings


def strings(root: Path, calls: int, name: str, *, seed: str) -> list[str]:
    """Run the program until it dies after so many calls; 0: to the end."""
    ran = subprocess.run(
        [sys.executable, PROGRAM, root, str(calls), name],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == (9 if calls else 0), ran.stderr
    return ran.stdout.split()


def journal_in(root: Path) -> str:
    return (root / "agents/Strings/journal").read_text()


def test_h3_a_set_of_strings_iterates_alike_under_the_fixed_hash_seed(tmp_path: Path) -> None:
    first = strings(tmp_path, 4, "each", seed="0")
    second = strings(tmp_path, 0, "each", seed="0")
    assert '"bug"' not in journal_in(tmp_path)
    # The fourth call was cut off, and is made again.
    assert second[0] == first[3]
    assert len({*first, *second}) == len(first) + len(second) - 1 == 8


def test_h3_under_another_hash_seed_the_same_handler_diverges(tmp_path: Path) -> None:
    strings(tmp_path, 4, "each", seed="0")
    assert strings(tmp_path, 0, "each", seed="1") == []
    assert '"divergence":true' in journal_in(tmp_path)


def test_h3_sets_as_values_are_the_same_under_every_hash_seed(tmp_path: Path) -> None:
    assert strings(tmp_path, 2, "together", seed="1") == ["8", "9"]
    assert strings(tmp_path, 0, "together", seed="2") == ["9"]
    journal = journal_in(tmp_path)
    assert '"bug"' not in journal
    names = '"apple","cherry","fig","grape","melon","pear","plum","quince"'
    assert f'"args":[[{names}]]' in journal


# -- H9: a divergence is never raised into the handler


class Plain(World):
    """Answers at once."""

    def __init__(self, *, dies_at: str | None = None) -> None:
        self.made: list[str] = []
        self.dies_at = dies_at

    async def do(self, what: str) -> str:
        self.made.append(what)
        if what == self.dies_at:
            raise SystemExit(9)
        return str(answer(what))

    async def tell(self, what: set[str]) -> set[str]:
        return what


SEEN: list[str] = []
CODE = {"second": "two"}


class Careful(Agent):
    world: World

    @handler
    async def exceptions(self) -> str:
        await self.world.do("one")
        try:
            await self.world.do(CODE["second"])
        except Exception as error:
            SEEN.append(f"{type(error).__name__}: {error}")
        return await self.world.do("three")

    @handler
    async def everything(self) -> str:
        await self.world.do("one")
        while True:
            try:
                await self.world.do(CODE["second"])
                break
            except BaseException as error:
                SEEN.append(f"{type(error).__name__}: {error}")
                await self.world.do("in the way out")
        return await self.world.do("three")

    @handler
    async def in_a_group(self) -> str:
        async def child() -> None:
            try:
                await self.world.do(CODE["second"])
            except BaseException as error:
                SEEN.append(f"{type(error).__name__}: {error}")
                raise

        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            group.create_task(self.world.do("beside"))
        return await self.world.do("three")


@pytest.mark.parametrize("name", ["exceptions", "everything", "in_a_group"])
def test_h9_no_except_in_the_handler_sees_a_divergence(
    name: str, durable: Durable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit):
        durable.run(Careful, name, world=Plain(dies_at="three"))
    durable.disk = durable.disk.after_kill()
    SEEN.clear()
    monkeypatch.setitem(CODE, "second", "another")
    world = Plain()
    durable.recover(Careful, world=world, allow_stuck=True)
    # The handler is let go of as any coroutine is; what it then tries comes to nothing.
    assert [one for one in SEEN if not one.startswith(("GeneratorExit", "Dropped"))] == []
    assert world.made == []
    bug = next(decode(body) for body in bodies(durable, "Careful") if kind_of(body) == "bug")
    assert isinstance(bug, BugRecord)
    assert bug.divergence
    assert 'World.do("two")' in bug.text
    assert 'World.do("another")' in bug.text
    assert bug.line is not None
    assert "test_ends.py" in bug.line
    monkeypatch.setitem(CODE, "second", "two")
    durable.recover(Careful, world=world)
    assert world.made == ["three"]


def bodies(durable: Durable, agent: str) -> list[bytes]:
    from agentctl.storage.files.folder import FilesStore

    store = FilesStore(Path("/memory"), agent, durable.disk)
    return [line.body for line in store.scan().lines]


# -- H10: errors in a group


def test_h10_two_declared_errors_in_a_group_fail_the_event(durable: Durable) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        durable.run(Bot, "h10_declared", world=Plain())
    assert caught.group_contains(Declined)
    assert [kind_of(body) for body in bodies(durable, "Bot")].count("failed") == 1
    world = Plain()
    durable.recover(Bot, world=world)
    assert world.made == [], "a failed event ran again"


class Mistaken(Agent):
    world: World

    @handler
    async def both(self) -> None:
        async def mistaken() -> None:
            try:
                await self.world.do("bad a")
            except Declined:
                raise KeyError("total") from None

        async with asyncio.TaskGroup() as group:
            group.create_task(mistaken())
            group.create_task(self.world.do("bad b"))


def test_h10_a_key_error_among_them_makes_it_stuck(durable: Durable) -> None:
    with pytest.raises(Stuck, match="KeyError"):
        durable.run(Mistaken, "both", world=Plain())
    assert "bug" in [kind_of(body) for body in bodies(durable, "Mistaken")]


# -- H11: what isn't stored lives for one event


class Shelf(Capability):
    @abstractmethod
    async def fetch(self, name: str) -> str: ...


class Books(Shelf):
    def __init__(self, *, dies_at: str | None = None) -> None:
        self.made: list[tuple[str | None, str]] = []
        self.dies_at = dies_at

    async def fetch(self, name: str) -> str:
        self.made.append((call_key(), name))
        if call_key() == self.dies_at:
            raise SystemExit(9)
        return name.upper()


class Reader(Agent):
    shelf: Shelf
    _cache: dict[str, str] = {}

    @handler
    async def read(self, names: list[str]) -> list[str]:
        for name in names:
            if name not in self._cache:
                self._cache[name] = await self.shelf.fetch(name)
        return [self._cache[name] for name in names]


def test_h11_a_cache_lives_for_one_event_and_nothing_diverges(durable: Durable) -> None:
    books = Books(dies_at="Reader-2-2")
    assert durable.run(Reader, "read", ["a", "b", "a"], shelf=books) == ["A", "B", "A"]
    with pytest.raises(SystemExit):
        durable.run(Reader, "read", ["a", "c", "c"], shelf=books)
    durable.disk = durable.disk.after_kill()
    assert [key for key, _ in books.made] == [
        f"Reader-{one}" for one in ("1-1", "1-2", "2-1", "2-2")
    ]
    again = Books()
    durable.recover(Reader, shelf=again)
    assert again.made == [("Reader-2-2", "c")], "the cache of another event, or of a dead program"
    assert "bug" not in [kind_of(body) for body in bodies(durable, "Reader")]
