"""A project without code, an engine without disks, the command run in this process."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agentctl import Agent, handler
from agentctl.cli import redrawing
from agentctl.cli.app import main
from agentctl.engines.local.asking.checking import wanted_of
from agentctl.engines.local.running.accepting import Wanted
from agentctl.engines.port import Ended, InvokeRequest, Recovered, Stopped
from agentctl.names import Address
from agentctl.project.loading import LoadedAgent
from agentctl.sdk.agent import spec_of

from .desks import FakeDesk
from .journals import LINES, write

AT = 1_764_500_000_000_000  # 2025-11-30T10:53:20Z
REFUND = [
    b'{"journal":1,"agent":"Bot","id":"00000000000000000000000000000000","next":1,"at":%d}' % AT,
    b'{"event":1,"handler":"request","args":[7],"nonce":"00000000000000aa","at":%d}' % (AT + 1),
    b'{"start":1,"at":%d}' % (AT + 2),
    b'{"call":"1-1","fn":"Payments.refund","args":[7],"at":%d}' % (AT + 3),
    b'{"ok":"1-1","value":{"id":"r7"},"at":%d}' % (AT + 4),
    b'{"call":"1-2","fn":"Email.send","args":["order 7: r7"],"at":%d}' % (AT + 5),
    b'{"ok":"1-2","value":null,"at":%d}' % (AT + 6),
    b'{"done":1,"value":"r7","at":%d}' % (AT + 7),
    b'{"stop":0,"at":%d}' % (AT + 8),
]


@dataclass
class FakeEngine:
    """Implements `Engine`: every event ends as the test says."""

    ends: Callable[[Address], Ended] | None = None
    found: Sequence[Recovered] = ()
    stuck: Sequence[Address] = ()
    error: Exception | None = None
    stopped: int = 0
    requests: list[InvokeRequest] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    read: bytes = b"null"
    listener: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    during: Callable[[], None] = lambda: None

    async def __aenter__(self) -> FakeEngine:
        for each in self.found:
            self.listener.recovered(each)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def recovered(self) -> Sequence[Recovered]:
        return self.found

    async def submit(self, request: InvokeRequest) -> Address:
        self.wanted.append(wanted_of(spec_of(Bot), request))
        self.requests.append(request)
        self.during()
        return Address(request.agent, request.identity, len(self.requests))

    async def query(self, request: InvokeRequest) -> bytes:
        self.requests.append(request)
        return self.read

    async def others(self) -> None:
        return

    async def ended(self, event: Address) -> Ended:
        if self.ends is None:
            await asyncio.Event().wait()
        return self.ends(event)

    async def idle(self, within_s: float = 0.0) -> Sequence[Address]:
        self.during()
        return self.stuck

    async def broken(self) -> Exception:
        if self.error is None:
            await asyncio.Event().wait()
        assert self.error is not None
        return self.error

    @property
    def grace(self) -> timedelta:
        return timedelta(seconds=5)

    def begin_stop(self, at_most: timedelta | None = None) -> bool:
        return True

    def break_off(self) -> None:
        pass

    async def stop(self) -> Stopped:
        self.stopped += 1
        return Stopped(open=0, cut_off=0)


@dataclass(frozen=True)
class Ran:
    """What one run of the command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)


class Command:
    """Runs the command in this process, in a project's folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *words: str, env: Mapping[str, str] | None = None) -> Ran:
        self._capsys.readouterr()
        try:
            code = main(words, env or {})
        except Exit as ended:
            code = ended.code
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)


class Exit(BaseException):
    """In the place of the end of the process."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """The command, in a project with one agent whose code isn't there."""
    (tmp_path / "kavach.toml").write_text('[agents.Bot]\nclass = "shop.bot:Bot"\n')
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path, capsys)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> FakeDesk:
    """A desk that holds one refund."""
    made = FakeDesk(journals={"Bot": list(REFUND)})
    monkeypatch.setattr("agentctl.ops.places.open_desk", lambda place, unanswered=None: made)
    return made


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., io.StringIO]]:
    """Make stdout a terminal of a given width."""

    def become(width: int = 80) -> io.StringIO:
        stream = io.StringIO()
        stream.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setenv("COLUMNS", str(width))
        return stream

    return become


class Bot(Agent):
    """An agent that nobody runs: the fake engine answers in its place."""

    @handler
    async def request(self, order_id: int) -> str:
        return f"r{order_id}"

    @handler
    async def echo(self, text: str) -> str:
        return text


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the project have its code."""
    monkeypatch.setattr("agentctl.project.loading.load_class", lambda project, name: Bot)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    """A program that runs agents, in the place of the real one; signals and logs are put back."""
    made = FakeEngine()

    def make(project: Any, agents: Any, listener: Any, **options: Any) -> FakeEngine:
        made.listener = listener
        made.options = {"agents": agents, **options}
        return made

    def load(project: Any, names: Sequence[str]) -> Sequence[LoadedAgent]:
        print("the user's module prints")
        return [LoadedAgent(Bot, {}, Bot.settings, {})]

    def end(code: int) -> None:
        raise Exit(code)

    for module in ("agentctl.cli.commands.run", "agentctl.ops.programs"):
        monkeypatch.setattr(f"{module}.make_program", make)
        monkeypatch.setattr(f"{module}.load_agents", load)
    monkeypatch.setattr("agentctl.cli.programs.end_now", end)
    root, log = logging.getLogger(), logging.getLogger("agentctl")
    handlers, levels = list(root.handlers), (root.level, log.level)
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield made
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    log.setLevel(levels[1])
    for number, old in kept.items():
        signal.signal(number, old)


@pytest.fixture
def bot(command: Any) -> Path:
    return write(command.folder, LINES)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Do something in each pause of a watching command; after the last one comes Ctrl-C."""

    def become(*between: Callable[[], object]) -> None:
        left = iter(between)

        def pause(_: float) -> None:
            for do in left:
                do()
                return
            raise KeyboardInterrupt

        monkeypatch.setattr(redrawing, "pause", pause)

    return become
