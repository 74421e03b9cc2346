"""A real program on real files for the tests with real `kill -9`, started over and over.

    python kill_program.py serve              answers each line of stdin: forks a program, tells its
                                              pid, and when it is gone how it ended
    python kill_program.py FOLDER ACT KIND N  one program, which kills itself at the N-th KIND

The server forks so that a start costs milliseconds; what it forks is a whole process with a lock,
files and a loop of its own. Where a program is, it writes into `places`, a file of counters that
both sides map; what it did to the world and what it was told go to two files that only grow.
"""

from __future__ import annotations

import asyncio
import ctypes
import mmap
import os
import random
import signal
import sys
from pathlib import Path

import filelock  # loaded by the first lock; here, so that no forked program waits for it

from agentctl import Agent, AgentSettings, Capability, bind, call_key, handler
from agentctl.core.compaction import COMPACTS_AT
from agentctl.engines.port import InvokeRequest
from agentctl.hosting import Host
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.folder import FilesStore

IN_FLIGHT = 16
CALLS = 6


class Places(ctypes.Structure):
    """How many of what is going on right now."""

    _fields_ = (
        ("begun", ctypes.c_int32),
        ("recovering", ctypes.c_int32),
        ("rewriting", ctypes.c_int32),
        ("syncing", ctypes.c_int32),
        ("accepting", ctypes.c_int32),
        ("in_a_call", ctypes.c_int32),
        ("between_calls", ctypes.c_int32),
    )


def map_places(folder: Path) -> Places:
    path = folder / "places"
    if not path.exists():
        path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("r+b") as file:
        return Places.from_buffer(mmap.mmap(file.fileno(), mmap.PAGESIZE))


class KillDisk(SystemDisk):
    """The real disk, which says where it is, and may kill its own program at a chosen change."""

    def __init__(self, places: Places, killer: Killer) -> None:
        self._places = places
        self._killer = killer
        self._names: dict[int, str] = {}

    def open(self, path: str, opening: str) -> int:
        name = path.rsplit("/", 1)[1]
        if opening == "new" and name == "journal.new":
            self._places.rewriting = 1
        fd = super().open(path, opening)
        self._names[fd] = name
        return fd

    def write(self, fd: int, data: bytes) -> int:
        name = self._names[fd]
        at = self._killer.at(f"write {name}")
        if at:
            super().write(fd, data[: len(data) // 2])  # half of it gets through
            self._killer.kill()
        written = super().write(fd, data)
        self._killer.after(f"wrote {name}")
        return written

    def sync(self, fd: int) -> None:
        name = self._names[fd]
        self._killer.here(f"sync {name}")
        self._places.syncing += 1
        super().sync(fd)
        self._places.syncing -= 1
        self._killer.after(f"synced {name}")

    def replace(self, source: str, target: str) -> None:
        self._killer.here(f"rename {target.rsplit('/', 1)[1]}")
        super().replace(source, target)
        self._killer.after(f"renamed {target.rsplit('/', 1)[1]}")

    def unlink(self, path: str) -> None:
        self._killer.here(f"unlink {path.rsplit('/', 1)[1]}")
        super().unlink(path)

    def sync_folder(self, path: str) -> None:
        super().sync_folder(path)
        self._places.rewriting = 0


class Killer:
    """Kills this very process at the n-th of a kind of moment."""

    def __init__(self, kind: str = "", number: int = 0) -> None:
        self._kind = kind
        self._left = number

    def at(self, kind: str) -> bool:
        if kind != self._kind:
            return False
        self._left -= 1
        return self._left == 0

    def here(self, kind: str) -> None:
        if self.at(kind):
            self.kill()

    after = here

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()


class Note:
    """A file that only grows, a line at a time, whatever dies."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, *words: object) -> None:
        os.write(self._fd, (" ".join(map(str, words)) + "\n").encode())


class World(Capability):
    async def deed(self, what: str, heard: str) -> str: ...


class Ledger(World):
    def __init__(self, folder: Path, places: Places, killer: Killer, pause_s: float) -> None:
        self._note = Note(folder / "ledger")
        self._places = places
        self._killer = killer
        self._pause_s = pause_s

    async def deed(self, what: str, heard: str) -> str:
        key = call_key()
        places = self._places
        places.between_calls -= 1
        places.in_a_call += 1
        self._note.add(key, what, heard)
        self._killer.here(what.split("-", maxsplit=1)[0])
        if self._pause_s:
            await asyncio.sleep(random.uniform(0, self._pause_s))
        places.in_a_call -= 1
        places.between_calls += 1
        return str(key)


class Bot(Agent):
    world: World

    @handler
    async def work(self, order: int) -> str:
        heard = "nothing"
        for number in range(CALLS):
            heard = await self.world.deed(f"deed-{order}-{number}", heard)
        return heard

    @handler
    async def deadly(self, order: int) -> str:
        heard = await self.world.deed(f"before-{order}", "nothing")
        return await self.world.deed(f"deadly-{order}", heard)


class Listener:
    """Counts what is between two calls."""

    def __init__(self, places: Places, note: Note) -> None:
        self._places = places
        self._note = note

    def recovered(self, found: object) -> None:
        """Nothing to note."""

    def started(self, event, handler, *, again):
        self._places.between_calls += 1
        self._note.add("started", event.event)

    def ended(self, end, *, heard):
        self._places.between_calls -= 1
        self._note.add("ended", end.event.event, end.status)

    def called(self, key, fn):
        """The ledger has it."""

    def asked(self, key, text, type_):
        """The journal has it."""

    def warned(self, text):
        self._note.add("warned", 0, text)

    def waiting(self, calls, at_most):
        """The ledger has it."""


class Program:
    """One life of it."""

    def __init__(
        self,
        folder: Path,
        killer: Killer | None = None,
        pause_s: float = 0.0,
        *,
        short: bool = False,
    ) -> None:
        self.folder = folder
        # Of a short journal little is kept, and it is written anew over and over.
        self.keep, self.compacts_at = (4, 256) if short else (100, COMPACTS_AT)
        self.places = map_places(folder)
        for name, _ in Places._fields_:
            setattr(self.places, name, 0)
        self.told = Note(folder / "told")
        self.killer = killer or Killer()
        self.disk = KillDisk(self.places, self.killer)
        self.pause_s = pause_s

    async def start(self, max_starts: int = 1000) -> Host:
        from dataclasses import replace

        self.places.recovering = 1
        ledger = Ledger(self.folder, self.places, self.killer, self.pause_s)
        settings = AgentSettings(max_starts=max_starts, keep=self.keep)
        host = Host(
            bind(Bot, settings=settings, world=ledger),
            root=self.folder,
            listener=Listener(self.places, self.told),
            options=lambda base: replace(
                base,
                stores=lambda root, name: FilesStore(root, name, self.disk),
                compacts_at=self.compacts_at,
            ),
        )
        self.places.begun = 1
        await host.__aenter__()
        self.places.recovering = 0
        return host

    async def submit(self, host: Host, order: int, handler: str = "work"):
        self.places.accepting += 1
        self.killer.here("accepting")
        address = await host.submit(InvokeRequest("Bot", (), handler, (order,)))
        self.told.add("accepted", address.event)
        self.places.accepting -= 1
        return address

    async def busy(self) -> None:
        """Keep so many events in flight, until somebody kills it."""
        host = await self.start()

        async def keep_on(order: int) -> None:
            while True:
                await host.ended(await self.submit(host, order))

        await asyncio.gather(*(keep_on(order) for order in range(IN_FLIGHT)))

    async def to_the_end(self, *orders: int, handler: str = "work", max_starts: int = 1000) -> None:
        """Accept these, let all of it come to rest, stop."""
        host = await self.start(max_starts)
        for order in orders:
            await self.submit(host, order, handler)
        await host.idle()
        await host.stop()

    def put_back(self, *, drop: bool = False) -> None:
        from agentctl.engines.changes import DropRequest, RequeueRequest
        from agentctl.engines.local.desk import FilesDesk

        desk = FilesDesk(self.folder, disk=self.disk)
        if drop:
            desk.carry_out(DropRequest("Bot", id="01", event=1, reason="no longer wanted"))
        else:
            desk.carry_out(RequeueRequest("Bot", every=True))


def fork_program(folder: Path, what: str, seed: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.dup2(os.open(folder / "stderr", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
        random.seed(seed)
        program = Program(folder, pause_s=0.004, short=what == "short")
        asyncio.run(program.to_the_end() if what == "rest" else program.busy())
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


assert filelock.FileLock


def serve() -> None:
    """Fork one program a line, `FOLDER WHAT SEED`; print its pid, then how it ended."""
    for line in sys.stdin:
        folder, what, seed = line.split()
        pid = fork_program(Path(folder), what, int(seed))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def main() -> None:
    if sys.argv[1] == "serve":
        serve()
        return
    folder, act, kind, number = sys.argv[1:5]
    program = Program(Path(folder), Killer(kind, int(number)))
    if act in ("requeue", "drop"):
        program.put_back(drop=act == "drop")
    elif act == "deadly":
        asyncio.run(program.to_the_end(1, handler="deadly", max_starts=2))
    else:
        orders = [int(order) for order in act.split(",") if order]
        asyncio.run(program.to_the_end(*orders, max_starts=2))


if __name__ == "__main__":
    main()
