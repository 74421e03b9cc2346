"""AsyncControl: asking the program that holds another folder, from a running engine.

Any number of requests at once, over one connection. Like `Control` it never retries.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

from agentctl.engines.local.control.client import (
    CONNECT_S,
    answer_of,
    broken,
    dial,
    request_line,
    value_of,
)
from agentctl.engines.local.control.messages import CHUNK, LONGEST_ANSWER, Answer, Lines, Refusal
from agentctl.engines.local.control.trouble import ControlGone

T = TypeVar("T")

_AGAIN_S: Final = 0.01


class AsyncControl:
    """A connection to whoever holds an agent's folder; an async context manager.

    Attributes:
        heard: how many answers have come so far.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._asked = 0
        self._writing = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._gone: ControlGone | None = None
        self._reader = self._loop.create_task(self._read())
        self.heard = 0

    @classmethod
    async def connect(cls, folder: str, timeout_s: float = CONNECT_S) -> Self:
        """Connect to the holder of an agent's folder.

        Raises:
            ControlGone: nobody listens there, or doesn't let us in within `timeout_s` seconds.
        """
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + timeout_s
        while True:
            try:
                return cls(dial(folder, None))
            except BlockingIOError:
                if loop.time() >= give_up_s:
                    raise ControlGone(f"the program that holds {folder} lets nobody in") from None
            await asyncio.sleep(_AGAIN_S)

    async def call(
        self, method: str, params: object, returns: type[T], timeout_s: float | None = None
    ) -> T:
        """Ask, and wait for the answer; as `Control.call`.

        Raises:
            AgentctlError: what the method raised there, as the class that it was.
            ControlGone: the connection broke before the answer.
            TimeoutError: no answer yet; the connection can still be used.
            UsageError: the request is larger than a message may be.
        """
        self._check()
        self._asked += 1
        asked = self._asked
        line = request_line(asked, method, params)
        self._waiting[asked] = answer = self._loop.create_future()
        try:
            async with asyncio.timeout(timeout_s):
                await self._send(line)
                return value_of(await answer, returns)
        finally:
            del self._waiting[asked]

    async def _send(self, line: bytes) -> None:
        async with self._writing:
            self._check()
            sent = False
            try:
                await self._loop.sock_sendall(self._sock, line)
                sent = True
            except OSError as error:
                raise broken(str(error)) from error
            finally:
                if not sent:  # half of the request may be out
                    self._end(broken("a request was broken off"))

    def _check(self) -> None:
        if self._gone is not None:
            raise ControlGone(self._gone.message)

    async def _read(self) -> None:
        lines = Lines(LONGEST_ANSWER)
        try:
            while chunk := await self._loop.sock_recv(self._sock, CHUNK):
                for line in lines.feed(chunk):
                    self._hear(answer_of(line))
                await asyncio.sleep(0)
            self._end(broken("it was closed"))
        except ControlGone as gone:
            self._end(gone)
        except (OSError, Refusal) as error:
            self._end(broken(str(error)))
        finally:
            # The event loop may still look at the socket for a request that is being sent.
            async with self._writing:
                self._sock.close()

    def _hear(self, answer: Answer) -> None:
        self.heard += 1
        if answer.id is None:
            raise broken("it couldn't read the request")
        waiting = self._waiting.get(answer.id) if isinstance(answer.id, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _end(self, gone: ControlGone) -> None:
        self._gone = self._gone or gone
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ControlGone(gone.message))
                waiting.exception()  # who gave up waiting needn't hear of it
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # ends reading and sending, wherever they wait

    async def close(self) -> None:
        """Hang up; what was asked and is still under way ends with ControlGone here."""
        self._end(broken("it was closed here"))
        await asyncio.wait([self._reader])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
