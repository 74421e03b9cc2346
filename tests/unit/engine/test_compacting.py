"""R23: a journal that grows is written anew while its program runs, and nobody waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from agentctl import Agent, AgentSettings, bind, handler, sleep
from agentctl.core.compaction import COMPACTS_AT
from agentctl.engines.local.running import compacting
from agentctl.engines.port import InvokeRequest
from agentctl.errors import AgentctlError, JournalDamaged
from agentctl.hosting import Host
from agentctl.storage.files.anew import PART, JournalAnew
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.port import Line

KEPT = AgentSettings(keep=3)


class Bot(Agent):
    total: int = 0

    @handler(exclusive=True)
    async def tick(self, number: int) -> int:
        self.total += 1
        return self.total

    @handler(exclusive=False)
    async def rest(self) -> None:
        await sleep(3600)

    @handler(exclusive=False)
    async def big(self, text: str) -> str:
        await sleep(3600)
        return text


class Short:
    """A program on real files whose journal is written anew early; tells what was done."""

    def __init__(self, root: Path, at: int, settings: AgentSettings = KEPT) -> None:
        self.folder = root / "agents/Bot"
        self.longest = 0
        self.journal = settings.journal
        self.host = Host(
            bind(Bot, settings=settings),
            root=root,
            options=lambda base: replace(base, compacts_at=at),
        )

    async def __aenter__(self) -> Short:
        await self.host.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.host.__aexit__(*exc_info)

    async def ticks(self, count: int, *, beside: int = 1) -> None:
        """So many events, some of them side by side."""

        async def some(numbers: Iterator[int]) -> None:
            for number in numbers:
                await self.host.ended(await self.submit("tick", number))
                self.longest = max(self.longest, self.size)

        numbers = iter(range(count))
        await asyncio.gather(*(some(numbers) for _ in range(beside)))

    async def submit(self, handler: str, *args: object, key: str | None = None):
        return await self.host.submit(InvokeRequest("Bot", (), handler, args, key=key))

    @property
    def size(self) -> int:
        return (self.folder / "journal").stat().st_size if self.journal else 0

    @property
    def records(self) -> list[dict]:
        lines = (self.folder / "journal").read_text().splitlines()
        return [json.loads(line) for line in lines]

    @property
    def written_anew(self) -> bool:
        return "since" in self.records[0]


@pytest.fixture
def work(monkeypatch) -> list[int]:
    """What each turn of a compaction read, folded and wrote, in bytes of records."""
    turns: list[int] = []

    def counted(cls, name, size):
        plain = getattr(cls, name)

        def method(self, *args):
            done = plain(self, *args)
            turns[-1] += size(args, done)
            return done

        monkeypatch.setattr(cls, name, method)

    def lengths(items: Sequence[bytes]) -> int:
        return sum(map(len, items))

    step = compacting.Compacting._step

    def counting_step(self):
        turns.append(0)
        step(self)

    def fold(history, agent, path, lines: list[Line]):
        turns[-1] += sum(len(line.body) for line in lines)
        plain_fold(history, agent, path, lines)

    plain_fold = compacting.fold_some
    monkeypatch.setattr(compacting, "fold_some", fold)
    monkeypatch.setattr(compacting.Compacting, "_step", counting_step)
    turns.append(0)
    counted(JournalAnew, "_read", lambda args, done: lengths(done))
    counted(JournalAnew, "write", lambda args, done: lengths(args[0]))
    return turns


def run(life: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(life(), 60))


def test_g9_twenty_thousand_events_leave_a_short_journal_and_hold_nobody_up(tmp_path, work):
    async def life() -> None:
        async with Short(tmp_path, COMPACTS_AT, AgentSettings()) as program:
            await program.ticks(20_000, beside=64)
            assert program.written_anew
            assert COMPACTS_AT < program.longest < 2 << 20

    run(life)
    # The program's loop never did more between two turns than read one part and copy another.
    assert len(work) > 100
    assert max(work) < 2 * (PART + compacting.SLICE)
    audit = (tmp_path / "agents/Bot/audit.log").read_text().splitlines()
    assert sum(" completed: event" in line for line in audit) == 20_000
    assert len(set(audit)) == len(audit)
    assert '"total":20000' in (tmp_path / "agents/Bot/journal").read_text()


def test_a_journal_of_what_is_still_of_use_is_looked_at_ever_more_rarely(tmp_path, monkeypatch):
    begun = []
    plain = FilesStore.anew

    def anew(store: FilesStore, place: int) -> JournalAnew:
        begun.append(store.size)
        return plain(store, place)

    monkeypatch.setattr(FilesStore, "anew", anew)

    async def life() -> None:
        async with Short(tmp_path, 10_000) as program:
            for _ in range(400):
                await program.submit("big", "x" * 1000)
                await asyncio.sleep(0)
            assert program.size > 400_000
            assert not program.written_anew

    run(life)
    assert begun[0] > 10_000
    assert all(later > 1.9 * earlier for earlier, later in pairwise(begun))
    assert 4 <= len(begun) <= 7


def test_what_waits_and_what_ended_lately_is_carried_over(tmp_path):
    async def life() -> None:
        async with Short(tmp_path, 4096) as program:
            await program.submit("rest")
            await program.ticks(200)
            assert program.written_anew
            header, *records = program.records
            carried = records[: header["kept"]]
            assert [one["event"] for one in carried if "event" in one][-1] == 1, "the open one"
            assert header["open"] == 1
            assert header["start"] is False
            ended = [one["done"] for one in carried if "done" in one]
            assert ended == list(range(ended[0], ended[0] + 3))
            assert carried[0]["state"]["total"] == ended[-1] - 1

    run(life)

    async def after() -> None:
        async with Short(tmp_path, 4096) as program:
            assert [one.event for one in program.host.recovered[0].unfinished] == [1]
            ended = await program.host.ended(await program.submit("tick", 0))
            assert ended.result == b"201"

    run(after)


def test_outcomes_of_keys_go_after_their_time(tmp_path):
    settings = AgentSettings(keep=0, retention=timedelta(0))

    async def life() -> None:
        async with Short(tmp_path, 4096, settings) as program:
            for number in range(200):
                await program.host.ended(await program.submit("tick", number, key=f"k{number}"))
            assert program.written_anew
            carried = program.records[1 : program.records[0]["kept"] + 1]
            assert not any("outcome" in one for one in carried)

    run(life)


def test_a_stop_gives_up_what_is_under_way(tmp_path, monkeypatch):
    async def life() -> None:
        async with Short(tmp_path, 4096) as program:
            runtime = program.host.engine.agents["Bot"]
            monkeypatch.setattr(runtime._committer._compacting, "exchange", lambda exchange: None)
            await program.ticks(100)
            assert (program.folder / "journal.new").exists(), "it is ready, and waits"
            assert not program.written_anew
        assert not (program.folder / "journal.new").exists()
        assert "stop" in program.records[-1]

    run(life)


def test_damage_that_is_found_stops_the_program(tmp_path):
    async def life() -> None:
        async with Short(tmp_path, 20_000) as program:
            await program.ticks(50)
            journal = program.folder / "journal"
            content = journal.read_bytes()
            with journal.open("r+b") as file:
                file.seek(content.index(b'"start":30'))
                file.write(b'"start":31')
            with pytest.raises(JournalDamaged, match="isn't what was written"):
                await program.ticks(200)
            assert not (program.folder / "journal.new").exists()

    with pytest.raises(JournalDamaged):
        run(life)


def test_a_signal_during_the_exchange_puts_its_record_into_both_journals(tmp_path, monkeypatch):
    said = []

    async def life() -> None:
        async with Short(tmp_path, 4096) as program:
            await program.submit("rest")
            engine = program.host.engine
            plain = JournalAnew.finish

            def finish(anew: JournalAnew):
                done = plain(anew)
                engine.begin_stop()  # as the handler of a signal, in the middle of it
                said.append(True)
                return done

            monkeypatch.setattr(JournalAnew, "finish", finish)
            with pytest.raises(AgentctlError):
                await program.ticks(200)
        assert said
        assert program.written_anew
        kinds = [next(iter(one)) for one in program.records]
        assert kinds.count("stopping") == 1
        assert kinds[-1] == "stop"

    run(life)


def test_what_is_settled_in_the_midst_of_an_exchange_is_durable(tmp_path, monkeypatch):
    settled = []

    async def life() -> None:
        async with Short(tmp_path, 4096) as program:
            runtime = program.host.engine.agents["Bot"]
            plain = JournalAnew.take_over

            def take_over(anew: JournalAnew) -> None:
                plain(anew)
                asyncio.get_running_loop().call_soon(lambda: settled.append(runtime.settle()))

            monkeypatch.setattr(JournalAnew, "take_over", take_over)
            await program.ticks(300, beside=4)
            assert settled
            assert program.written_anew
            await program.ticks(10)

    run(life)


def test_an_agent_without_a_journal_has_nothing_to_write_anew(tmp_path):
    async def life() -> None:
        settings = AgentSettings(journal=False)
        async with Short(tmp_path, 1, settings) as program:
            await program.ticks(50)
            assert not (program.folder / "journal").exists()

    run(life)
