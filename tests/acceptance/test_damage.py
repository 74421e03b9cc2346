"""A torn tail is cut off and said; any other damage stops the start, and nothing is skipped."""

from __future__ import annotations

import re

import pytest

from .shop import plain_lines
from .support import CRASH, Project

EVERY_CUT = """
from __future__ import annotations

import asyncio
import json
import os
import sys
from abc import abstractmethod
from pathlib import Path

from agentctl import Agent, Capability, call_key, handler, start

TEXT = "é🙂"
made = []


class World(Capability):
    @abstractmethod
    async def fetch(self, text: str) -> str: ...

    @abstractmethod
    async def end(self, text: str) -> None: ...


class Real(World):
    async def fetch(self, text: str) -> str:
        if "cut" in sys.argv:
            os._exit(9)
        made.append((call_key(), text))
        return text + text

    async def end(self, text: str) -> None:
        made.append((call_key(), text))


class Bot(Agent):
    world: World

    @handler
    async def go(self, text: str) -> str:
        value = await self.world.fetch(text)
        await self.world.end(value)
        return value


async def first() -> None:
    async with start(Bot, world=Real()) as bot:
        await bot.go(TEXT)


async def restart(journal: bytes, number: int) -> list[tuple[str, str]]:
    folder = Path(f"cut-{number}/agents/Bot")
    folder.mkdir(parents=True, mode=0o700)
    (folder / "journal").write_bytes(journal)
    made.clear()
    async with start(Bot, world=Real(), root=f"cut-{number}") as bot:
        assert await bot.go("next") == "nextnext"
        for _ in range(500):
            if ("Bot-1-2", TEXT + TEXT) in made or ("Bot-1-2", "nextnext") in made:
                break
            await asyncio.sleep(0.01)
    return sorted(made)


async def every_cut() -> None:
    journal = Path("agents/Bot/journal").read_bytes()
    lines = journal.splitlines(keepends=True)
    accepted = len(lines[0]) + len(lines[1]) - 1
    last = len(journal) - len(lines[-1])
    cuts = [*range(len(lines[0]), len(lines[0]) + len(lines[1]) + 1), *range(last, len(journal))]
    for cut in cuts:
        got = await restart(journal[:cut], cut)
        old = [("Bot-1-1", TEXT), ("Bot-1-2", TEXT + TEXT)]
        number = 2 if cut >= accepted else 1
        new = [(f"Bot-{number}-1", "next"), (f"Bot-{number}-2", "nextnext")]
        want = sorted((old if cut >= accepted else []) + new)
        if got != want:
            print(f"cut at byte {cut}: {got} instead of {want}")
    print(f"{len(cuts)} cuts")


asyncio.run(first() if "cut" in sys.argv else every_cut())
"""


def test_p2_a_journal_cut_at_any_byte_of_its_end_reads_back(project: Project) -> None:
    project.write("cuts.py", EVERY_CUT)
    assert project.python("cuts.py", "cut").code == CRASH
    assert next(iter(project.records()[1])) == "event"
    assert project.records()[-1]["args"] == ["é🙂"]
    result = project.python("cuts.py", timeout=60).expect(0)
    assert re.fullmatch(r"\d\d\d+ cuts\n", result.out), result.out


HALF_A_LETTER = '{"event":2,"args":["é'.encode()[:-1]


@pytest.mark.parametrize("tail", [b'{"call":"2-torn', HALF_A_LETTER, b"\0" * 40])
def test_p2_a_torn_tail_is_cut_off_and_said(finished_shop: Project, tail: bytes) -> None:
    with finished_shop.journal_path().open("ab") as journal:
        journal.write(tail)
    read = finished_shop.agentctl("inspect", "journal", "Bot").expect(0)
    assert "Bot#1" in read.out
    assert finished_shop.journal_path().read_bytes().endswith(tail), "reading changed the journal"
    again = finished_shop.agentctl("invoke", "--json", "Bot", "request", "8").expect(0)
    assert again.json["event"] == "Bot#2"
    assert re.search(r"cut off|torn|unfinished|incomplete", again.err), again.err
    assert "repaired" in "\n".join(finished_shop.audit())
    assert tail not in finished_shop.journal_path().read_bytes()


def test_p2_a_last_line_without_its_newline_is_kept(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    journal = shop.journal_path().read_bytes()
    shop.journal_path().write_bytes(journal.rstrip(b"\n"))
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == 1
    assert shop.ledger("send")[-1] == "send Bot-1-2 order 7: r7"


def flipped(lines: list[bytes]) -> list[bytes]:
    assert b'"event":"Bot#1"' in lines[1], "what the command was answered"
    return [lines[0], lines[1].replace(b"Bot#1", b"Bot#2"), *lines[2:]]


def no_json(lines: list[bytes]) -> list[bytes]:
    return [lines[0], b"X" + lines[1][1:], *lines[2:]]


def lost(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], *lines[3:]]


def doubled(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], lines[2], *lines[3:]]


def swapped(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[3], lines[2], *lines[4:]]


@pytest.mark.parametrize(
    ("damage", "line"),
    [(flipped, 2), (no_json, 2), (lost, 3), (doubled, 4), (swapped, 3)],
    ids=["flipped", "no_json", "lost", "doubled", "swapped"],
)
def test_p3_damage_in_the_middle_stops_the_start_with_file_and_line(
    finished_shop: Project, damage: object, line: int
) -> None:
    path = finished_shop.journal_path()
    lines = plain_lines(path)
    assert len(lines) >= 5
    assert callable(damage)
    path.write_bytes(b"".join(damage(lines)))
    before = finished_shop.tree()
    refused = finished_shop.agentctl("invoke", "Bot", "request", "8")
    refused.expect_error(6, str(path.resolve()))
    assert re.search(rf"(line |journal:){line}\b", refused.err), refused.err
    read = finished_shop.agentctl("inspect", "journal", "Bot", "--json")
    assert read.code in {0, 6}
    agent = read.json["agents"][0]
    assert agent["damaged"]["line"] == line
    assert [record["line"] for record in agent["records"]][: line - 1] == list(range(1, line))
    assert finished_shop.tree() == before, "damage was not left as it was"
    assert finished_shop.ledger("refund 8") == []


def test_p3_run_refuses_a_damaged_journal_too(finished_shop: Project) -> None:
    path = finished_shop.journal_path()
    path.write_bytes(b"".join(lost(plain_lines(path))))
    before = finished_shop.tree()
    finished_shop.agentctl("run", "--until-idle").expect_error(6, "journal")
    assert finished_shop.tree() == before


@pytest.mark.parametrize("rest", ["", '{"event":1,"handler":"request","args":[7],"new":1}\n'])
def test_a_journal_from_the_future_is_refused_and_left_alone(shop: Project, rest: str) -> None:
    shop.folder().mkdir(parents=True, mode=0o700)
    header = f'{{"journal":2,"agent":"Bot","id":"{"0" * 32}","next":1}}\n'
    shop.journal_path().write_text(header + rest)
    before = shop.tree()
    for command in (("invoke", "Bot", "request", "7"), ("run", "--until-idle")):
        refused = shop.agentctl(*command).expect_error(6, "format", "2")
        assert refused.out == ""
    assert shop.tree() == before
    assert shop.ledger() == []


GARBAGE = [
    b"",
    b"\n",
    b"\0\1\2\n\xff\xfe\n",
    b"[]\n",
    b'{"journal":1}\n',
    b"null\nnull\n",
    b"{" * 3000,
]


@pytest.mark.parametrize("content", GARBAGE, ids=range(len(GARBAGE)))
def test_a_journal_of_any_bytes_never_gives_a_traceback(shop: Project, content: bytes) -> None:
    shop.folder().mkdir(parents=True, mode=0o700)
    shop.journal_path().write_bytes(content)
    for command in (("inspect", "journal", "Bot"), ("run", "--until-idle")):
        result = shop.agentctl(*command)
        assert result.code in {0, 6}, result.both
        assert "Traceback" not in result.err
