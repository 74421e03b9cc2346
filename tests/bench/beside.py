"""What is measured beside a running program: `agentctl run`, asked as the commands ask it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentctl.core.lifecycle import Cancellation
from agentctl.engines.changes import Cancelled, CancelRequest, Invoked
from agentctl.engines.desk import Holder
from agentctl.engines.local.control import AsyncControl
from agentctl.engines.local.control.wire import Rest, WaitRequest
from agentctl.engines.local.desk import FilesDesk
from agentctl.engines.port import InvokeRequest
from agentctl.errors import Locked
from agentctl.hosting import Host, bind
from agentctl.ops.asking import new_id
from agentctl.ops.invoking import Outcome, invoke
from agentctl.records import (
    EMPTY_ARGS,
    CallRecord,
    EventRecord,
    Header,
    ParkedRecord,
    StartRecord,
    decode,
)
from agentctl.records import encode as encode_record
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import this_program
from agentctl.storage.files.places import agent_folder
from agentctl.times import SystemClock
from tests.bench.agents import CALLS, Asker, Clerk
from tests.bench.measures import environment, folder, start_up_ms

PROJECT = '[project]\n[agents.Clerk]\nclass = "tests.bench.agents:Clerk"\n'
HOUR_US = 3_600_000_000
WARM = 20


@contextmanager
def running(root: Path) -> Iterator[FilesDesk]:
    """Run the clerk in a program of its own, until it answers and as long as it is asked."""
    (root / "kavach.toml").write_text(PROJECT)
    command = [sys.executable, "-m", "agentctl", "run"]
    null = subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=root, env=environment(), stdout=null, stderr=null
    ) as program:
        try:
            desk = FilesDesk(root)
            wait_until_it_answers(desk)
            yield desk
        finally:
            program.terminate()
            program.wait()


def wait_until_it_answers(desk: FilesDesk) -> None:
    give_up_s = time.monotonic() + 30
    while True:
        try:
            echo(desk)
        except Locked:
            if time.monotonic() > give_up_s:
                raise
            time.sleep(0.01)
        else:
            return


def not_alone() -> Outcome:
    raise Locked("the program that is measured hasn't begun yet")


def request(handler: str, argument: object, key: str | None = None) -> InvokeRequest:
    return InvokeRequest("Clerk", (), handler, (argument,), key=key, id=new_id())


def echo(desk: FilesDesk) -> None:
    """Ask as `agentctl invoke Clerk echo …` does: look who runs it, connect, ask, wait."""
    asked = request("echo", "fifty bytes or so of text, as a person would say it")
    outcome = invoke(desk, asked, not_alone, clock=SystemClock(), wait_s=0.0, timeout_s=10.0)
    assert outcome.ended is not None
    assert outcome.ended.status == "completed"


def invoke_ms(where: Path, times: int) -> list[float]:
    """Milliseconds of each of so many invocations, one after the other."""
    with folder(where) as root, running(root) as desk:
        for _ in range(WARM):
            echo(desk)
        return [_ms(lambda: echo(desk)) for _ in range(times)]


def _ms(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def command_ms(where: Path, times: int) -> list[float]:
    """Milliseconds of `agentctl invoke` beside a program, above the bare interpreter."""
    command = ("-m", "agentctl", "invoke", "Clerk", "echo", "hello")
    with folder(where) as root, running(root):
        start_up_ms(root, *command)
        return [start_up_ms(root, *command) - start_up_ms(root, "-c", "pass") for _ in range(times)]


# -- many at once


@dataclass(frozen=True)
class Crowd:
    """What came of many clients at once: how long, how many got no or a wrong answer, how many
    events were there more than once.
    """

    seconds: float
    lost: int
    twice: int


def crowd(where: Path, clients: int) -> Crowd:
    """Let so many clients connect at once, invoke under a key of their own, and wait."""
    with folder(where) as root:
        with running(root):
            begun = time.perf_counter()
            answers = asyncio.run(_all_at_once(agent_folder(root, "Clerk"), clients))
            took = time.perf_counter() - begun
        lost = sum(answer != f'"client {n}"'.encode() for n, answer in enumerate(answers))
        return Crowd(took, lost, _accepted_twice(root))


async def _all_at_once(place: str, clients: int) -> list[object]:
    asking = (_client(place, n) for n in range(clients))
    return await asyncio.gather(*asking, return_exceptions=True)


async def _client(place: str, n: int) -> object:
    async with await AsyncControl.connect(place, 30.0) as control:
        asked = request("echo", f"client {n}", key=f"client-{n}")
        invoked = await control.call("invoke", asked, Invoked)
        assert invoked.event is not None
        number = int(invoked.event.partition("#")[2])
        rest = await control.call("wait", WaitRequest(number), Rest)
        return rest.ended.result


def _accepted_twice(root: Path) -> int:
    records = (decode(line.body) for line in FilesDesk(root).journal("Clerk").lines)
    keys = Counter(one.key for one in records if isinstance(one, EventRecord) and one.key)
    return sum(number - 1 for number in keys.values())


# -- status


def write_sleeping(root: Path, events: int) -> None:
    """A journal of events that wait for a time to come, as a program would have left them."""
    clock = SystemClock()
    store = FilesStore(root, "Clerk")
    store.lock(this_program("bench", clock), 0)
    at, up = clock.now_us(), str(clock.uptime())
    header = Header(1, "Clerk", "0" * 32, events + 1, kept=4 * events, open=events, at=at)
    bodies = [encode_record(header)]
    for n in range(1, events + 1):
        event = EventRecord(n, "nap", EMPTY_ARGS, nonce=f"{n:016x}", at=at)
        timer = CallRecord(f"{n}-1", "timer", until=at + HOUR_US, up=up, at=at)
        bodies += map(encode_record, (event, StartRecord(n, at=at), timer, ParkedRecord(n)))
    store.rewrite(bodies)
    store.close()


def status_ms(where: Path, events: int, times: int) -> tuple[list[float], list[float]]:
    """Milliseconds of `agentctl status` above the interpreter: without a program, beside it."""
    with folder(where) as root:
        (root / "kavach.toml").write_text(PROJECT)
        write_sleeping(root, events)
        without = _status(root, events, times)
        with running(root):
            return without, _status(root, events, times)


def _status(root: Path, events: int, times: int) -> list[float]:
    command = ("-m", "agentctl", "status")
    told = subprocess.check_output(
        [sys.executable, *command, "--json"], cwd=root, env=environment()
    )
    assert b'"sleeping":%d' % events in told, told
    return [start_up_ms(root, *command) - start_up_ms(root, "-c", "pass") for _ in range(times)]


# -- cancelling


def cancel_ms(where: Path, times: int) -> list[float]:
    """Milliseconds to cancel an event that is queued behind one that holds its instance."""
    with folder(where) as root, running(root) as desk:
        _accept(desk)
        queued = [_accept(desk) for _ in range(times)]
        return [_ms(lambda n=number: _cancel(desk, n)) for number in queued]


def _accept(desk: FilesDesk) -> int:
    def beside(holder: Holder) -> Invoked:
        return holder.invoke(request("rest", 1.0), None)

    event = desk.invoke("Clerk", not_alone, beside, 0.0).event
    assert event is not None
    return int(event.partition("#")[2])


def _cancel(desk: FilesDesk, number: int) -> None:
    answer = desk.carry_out(CancelRequest("Clerk", new_id(), event=number), 5.0)
    assert isinstance(answer, Cancelled)
    assert answer.answer is Cancellation.CANCELLED


# -- asking


def asks_per_second(where: Path, events: int, at_once: int) -> float:
    """Asks a second of one agent by another one of the same program."""
    with folder(where) as root:
        return asyncio.run(_asks(Host(bind(Asker), bind(Clerk), root=root), events, at_once))


def asks_between_programs(where: Path, events: int, at_once: int) -> float:
    """Asks a second of an agent that another program runs."""
    with folder(where) as root, running(root):
        return asyncio.run(_asks(Host(bind(Asker), root=root), events, at_once))


async def _asks(host: Host, events: int, at_once: int) -> float:
    async with host:
        asker = host.reference(Asker)
        numbers = iter(range(events))

        async def client() -> None:
            for number in numbers:
                await asker.ask(number)

        begun = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(at_once)))
        return events * CALLS / (time.perf_counter() - begun)
