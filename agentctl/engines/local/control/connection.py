"""One peer of the control socket: reads its requests, runs the methods, writes the answers.

Several requests may be under way at once. Whatever a peer sends or doesn't send, memory stays
bounded, the program's event loop gets its turn after each piece, and nothing is raised out of
here. A peer that hangs up takes back what merely waits for it; what its requests have brought
about goes on.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from agentctl.engines.local.control.messages import (
    CHUNK,
    LONGEST_REQUEST,
    MIB,
    Id,
    Lines,
    Refusal,
    Request,
    read_request,
    write_failure,
    write_result,
)
from agentctl.engines.local.control.trouble import (
    BAD_PARAMS,
    FAILED,
    NO_METHOD,
    Failure,
    failure_of,
    internal_failure,
)
from agentctl.errors import AgentctlError

Methods = Mapping[str, Callable[[Raw], Awaitable[object]]]

log = logging.getLogger("agentctl")

_FREE: Final = 16 * 1024
_UNREAD: Final = 256 * 1024
_REQUEST: Final = 4 * 1024
_LINES_AT_ONCE: Final = 64
_LAST_MOMENT_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Limits:
    """What peers may take up.

    Attributes:
        patience_s: how long one message may take to arrive, or one answer to be taken.
        longest: bytes of a request's line.
        held: bytes that unfinished requests and unread answers of all peers may hold, beside
            16 KiB for each.
        under_way: bytes that the requests that methods work on may hold, in the same way; each
            counts 4 KiB more than it is long.
        connections: peers at once.
    """

    patience_s: float = 30.0
    longest: int = LONGEST_REQUEST
    held: int = 64 * MIB
    under_way: int = 256 * MIB
    connections: int = 2048


class Budget:
    """Bytes that all connections together may hold."""

    def __init__(self, size: int) -> None:
        self.left = size

    def change(self, before: int, after: int) -> bool:
        """Hold `after` bytes instead of `before`; False if there is no room for more."""
        more = max(0, after - _FREE) - max(0, before - _FREE)
        if more > max(0, self.left):
            return False
        self.left -= more
        return True


class Shared:
    """What all connections of a socket share: their limits, and the room that is left."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = Budget(limits.held)
        self.under_way = Budget(limits.under_way)


class Connection:
    """A peer that was admitted; owns its socket."""

    def __init__(
        self,
        sock: socket.socket,
        methods: Methods,
        shared: Shared,
        when_over: Callable[[Connection], None],
    ) -> None:
        self._sock = sock
        self._methods = methods
        self._shared = shared
        self._limits = shared.limits
        self._when_over = when_over
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(shared.limits.longest)
        self._answers: deque[bytes] = deque()
        self._unread = 0
        self._held = 0
        self._asked = 0
        self._taken = asyncio.Event()
        self._under_way: set[asyncio.Task[None]] = set()
        self._writer: asyncio.Task[None] | None = None
        self._ending = False
        self._moved_s = self._loop.time()
        self._reader = self._loop.create_task(self._serve())
        self._reader.add_done_callback(self._let_go)

    @property
    def idle_s(self) -> float:
        """For how long nothing of this peer has been under way."""
        if self._under_way or self._held:
            return 0.0
        return self._loop.time() - self._moved_s

    def hang_up(self) -> None:
        """End the connection, whatever is under way."""
        self._ending = True
        self._reader.cancel()

    def close_in_child(self) -> None:
        """Let go of the socket in a forked child: its end must be heard when its parent ends."""
        self._sock.close()

    async def finish(self) -> None:
        """Take no more requests, wait a moment for those under way, and write what there is."""
        self._ending = True
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_LAST_MOMENT_S)
        for task in self._under_way:
            task.cancel()
        await self._flush()
        self.hang_up()

    async def _serve(self) -> None:
        try:
            await self._read()
        except Refusal as refusal:
            self._ending = True
            self._lines = Lines(0)  # what it takes up makes room for the answer
            self._queue(write_failure(None, refusal.failure))
            await self._flush()
        except OSError:
            log.debug("a peer of the control socket broke off, or was silent within a message")
        except Exception:
            log.exception("the control socket dropped a peer")

    def _let_go(self, _: asyncio.Task[None]) -> None:
        """The reader is over: give up the rest, then the socket."""
        self._ending = True
        for task in self._under_way:
            task.cancel()
        if self._writer is None:
            self._close()
        else:
            # Not before: the event loop still looks at the socket for it.
            self._writer.add_done_callback(self._close)
            self._writer.cancel()

    def _close(self, _: asyncio.Task[None] | None = None) -> None:
        self._sock.close()
        self._lines = Lines(0)
        self._answers.clear()
        self._unread = 0
        self._hold()
        self._when_over(self)

    def _hold(self) -> bool:
        held = self._lines.unfinished + self._unread
        if not self._shared.held.change(self._held, held):
            return False
        self._held = held
        return True

    # -- reading

    async def _read(self) -> None:
        deadline_s: float | None = None
        while not self._ending:
            async with asyncio.timeout_at(deadline_s):
                chunk = await self._loop.sock_recv(self._sock, CHUNK)
            if not chunk:
                return
            self._moved_s = self._loop.time()
            for count, line in enumerate(self._lines.feed(chunk), 1):
                deadline_s = None
                self._take(line)
                await self._until_taken()
                if count % _LINES_AT_ONCE == 0:
                    await asyncio.sleep(0)
            if not self._hold():
                raise Refusal(FAILED, "too much is being sent at once")
            if not self._lines.unfinished:
                deadline_s = None
            elif deadline_s is None:
                deadline_s = self._loop.time() + self._limits.patience_s
            # A peer that sends without end never lets us wait: give the others their turn.
            await asyncio.sleep(0)

    async def _until_taken(self) -> None:
        """Wait until the peer has read most of its answers; `_write` sees to how long."""
        while self._unread > _UNREAD:
            self._taken.clear()
            await self._taken.wait()

    def _take(self, line: bytes) -> None:
        if self._ending:
            return
        try:
            request = read_request(line)
            asked = self._asked + len(line) + _REQUEST
            if not self._shared.under_way.change(self._asked, asked):
                by = None if request.id is UNSET else request.id
                raise Refusal(FAILED, "too much is being asked at once", by)
        except Refusal as refusal:
            self._queue(write_failure(refusal.id, refusal.failure))
            return
        task = self._loop.create_task(self._answer(request))
        self._under_way.add(task)
        task.add_done_callback(functools.partial(self._over, asked - self._asked))
        self._asked = asked

    # -- answering

    async def _answer(self, request: Request) -> None:
        asked = None if request.id is UNSET else request.id
        try:
            line = await self._run(request, asked)
        except AgentctlError as error:
            line = write_failure(asked, failure_of(error))
        except msgspec.DecodeError as error:
            log.debug("%s refused its parameters", request.method, exc_info=True)
            line = write_failure(asked, Failure(BAD_PARAMS, str(error)))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # What the method waited for was cancelled, not the wait: somebody must be told.
            line = write_failure(asked, internal_failure(error))
        except Exception as error:
            log.exception("the control socket's method %s raised", request.method)
            line = write_failure(asked, internal_failure(error))
        if request.id is not UNSET:
            self._queue(line)

    async def _run(self, request: Request, asked: Id) -> bytes:
        method = self._methods.get(request.method)
        if method is None:
            return write_failure(asked, Failure(NO_METHOD, f"no method {request.method[:100]!r}"))
        return write_result(asked, await method(request.params))

    def _over(self, size: int, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._shared.under_way.change(self._asked, self._asked - size)
        self._asked -= size
        self._moved_s = self._loop.time()
        if not task.cancelled() and (error := task.exception()) is not None:
            # The program is ending in this method: the peer hears that there is no answer.
            log.debug("a method of the control socket ended by %s", type(error).__name__)
            self.hang_up()

    def _queue(self, line: bytes) -> None:
        if self._reader.done():
            return
        self._answers.append(line)
        self._unread += len(line)
        if not self._hold():
            self.hang_up()
        elif self._writer is None:
            self._writer = self._loop.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._answers:
                line = self._answers.popleft()
                async with asyncio.timeout(self._limits.patience_s):
                    await self._loop.sock_sendall(self._sock, line)
                self._unread -= len(line)
                self._hold()
                self._taken.set()
        except OSError:
            self.hang_up()  # it is gone, or doesn't read; half an answer may be out
        finally:
            self._writer = None

    async def _flush(self) -> None:
        if self._writer is not None:
            await asyncio.wait([self._writer])
