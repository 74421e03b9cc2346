"""Control: asking the program that holds a folder, from one that has no event loop.

One request at a time; an answer to one that was given up is passed over. It never retries: who
asks knows what a second time would mean (`reaching`). Who waits longer than `SLOW_S` may hear so.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec
from msgspec import UNSET

from agentctl.engines.local.control.credentials import is_admitted, peer_uid
from agentctl.engines.local.control.messages import (
    CHUNK,
    LONGEST_ANSWER,
    LONGEST_REQUEST,
    Answer,
    Lines,
    Refusal,
    read_answer,
    write_request,
)
from agentctl.engines.local.control.place import served_place
from agentctl.engines.local.control.trouble import ControlGone, error_of
from agentctl.errors import AgentctlError, UsageError
from agentctl.times import Clock, SystemClock

T = TypeVar("T")

CONNECT_S: Final = 5.0
SLOW_S: Final = 2.0
_NEVER_S: Final = float("inf")


class Control:
    """A connection to whoever holds an agent's folder; a context manager.

    Attributes:
        heard: how many answers have come so far.
    """

    def __init__(self, sock: socket.socket, clock: Clock) -> None:
        self._sock = sock
        self._clock = clock
        self._lines = Lines(LONGEST_ANSWER)
        self._arrived: list[bytes] = []
        self._asked = 0
        self.heard = 0

    @classmethod
    def connect(
        cls, folder: str, timeout_s: float = CONNECT_S, *, clock: Clock | None = None
    ) -> Self:
        """Connect to the holder of an agent's folder.

        Raises:
            ControlGone: nobody listens there, or doesn't let us in within `timeout_s` seconds.
        """
        return cls(dial(folder, timeout_s), clock or SystemClock())

    def call(
        self,
        method: str,
        params: object,
        returns: type[T],
        timeout_s: float | None = None,
        *,
        slow: Callable[[], None] | None = None,
    ) -> T:
        """Ask, and wait for the answer.

        Args:
            method: one of the holder's methods.
            params: a struct or a mapping.
            returns: what the answer is read as.
            timeout_s: how long to wait; None for as long as it takes.
            slow: hears once that there is no answer yet, after `SLOW_S` seconds.

        Raises:
            AgentctlError: what the method raised there, as the class that it was.
            ControlGone: the connection broke before the answer.
            TimeoutError: no answer yet; the connection can still be used.
            UsageError: the request is larger than a message may be.
        """
        self._asked += 1
        line = request_line(self._asked, method, params)
        patience = Patience(self._clock, timeout_s, slow)
        try:
            self._send(line, patience)
        except TimeoutError:
            self.close()  # half of the request may be out
            raise
        while True:
            answer = answer_of(self._next_line(patience))
            self.heard += 1
            if answer.id == self._asked:
                return value_of(answer, returns)
            if answer.id is None:
                raise broken("it couldn't read the request") from None

    def _send(self, line: bytes, patience: Patience) -> None:
        rest = memoryview(line)
        while rest:
            left_s = patience.left_s()
            try:
                self._sock.settimeout(left_s)
                rest = rest[self._sock.send(rest) :]
            except TimeoutError:
                continue  # `patience` says whether that was all
            except OSError as error:
                raise broken(str(error)) from error

    def _next_line(self, patience: Patience) -> bytes:
        while not self._arrived:
            left_s = patience.left_s()
            try:
                self._sock.settimeout(left_s)
                chunk = self._sock.recv(CHUNK)
            except TimeoutError:
                continue
            except OSError as error:
                raise broken(str(error)) from error
            if not chunk:
                raise broken("it was closed")
            try:
                self._arrived = list(self._lines.feed(chunk))[::-1]
            except Refusal as refusal:
                raise broken(str(refusal)) from None
        return self._arrived.pop()

    def close(self) -> None:
        """Hang up; what was asked and is still under way is no longer waited for."""
        self._sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Patience:
    """How long a call waits, and when who asked hears that it still does."""

    def __init__(
        self, clock: Clock, timeout_s: float | None, slow: Callable[[], None] | None
    ) -> None:
        now_s = clock.monotonic_s()
        self._clock = clock
        self._until_s = _NEVER_S if timeout_s is None else now_s + timeout_s
        self._slow_s = _NEVER_S if slow is None else now_s + SLOW_S
        self._slow = slow

    def left_s(self) -> float | None:
        """How long the next step may last; None for as long as it takes.

        Raises:
            TimeoutError: the time is up.
        """
        now_s = self._clock.monotonic_s()
        if now_s >= self._until_s:
            raise TimeoutError("no answer in time")
        if self._slow is not None and now_s >= self._slow_s:
            self._slow_s = _NEVER_S
            self._slow()
        next_s = min(self._until_s, self._slow_s)
        return None if next_s == _NEVER_S else next_s - now_s


def is_served(folder: str) -> bool:
    """Whether a program listens at the folder's control socket."""
    try:
        dial(folder, 1.0).close()
    except ControlGone:
        return False
    return True


def dial(folder: str, timeout_s: float | None) -> socket.socket:
    """Connect a socket; None as the timeout doesn't wait, and leaves it non-blocking.

    Raises:
        ControlGone: nobody listens there, or not one of ours.
        BlockingIOError: without a timeout: too many wait to be let in; try again.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if timeout_s is None:
            sock.setblocking(False)
        else:
            # Not settimeout: a full queue would be refused at once instead of waited for.
            _limit_sending(sock, max(timeout_s, 0.001))
        with served_place(folder).address() as address:
            sock.connect(address)
        if not (is_admitted(uid := peer_uid(sock)) or uid == os.stat(folder).st_uid):  # noqa: PTH116 - needs no Path
            raise PermissionError(f"a program of the user {uid} listens there")
        if timeout_s is not None:
            _limit_sending(sock, 0.0)
    except BlockingIOError as error:
        sock.close()
        if timeout_s is None:
            raise
        raise ControlGone(f"the program that holds {folder} lets nobody in") from error
    except OSError as error:
        sock.close()
        raise ControlGone(f"no program listens for {folder}: {error}") from error
    return sock


def _limit_sending(sock: socket.socket, seconds: float) -> None:
    limit = struct.pack("@ll", int(seconds), int(seconds % 1 * 1_000_000))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def request_line(asked: int, method: str, params: object) -> bytes:
    """Write a request.

    Raises:
        UsageError: it is larger than a message may be.
    """
    line = write_request(asked, method, params)
    if len(line) > LONGEST_REQUEST:
        raise UsageError(
            f"this is too large to be handed to the running program: {len(line)} bytes, "
            f"at most {LONGEST_REQUEST}",
            hint="stop that program and ask again, or hand over the name of a file instead",
        )
    return line


def answer_of(line: bytes) -> Answer:
    """Read an answer.

    Raises:
        ControlGone: it is none, so nothing that follows can be trusted.
    """
    with suppress(ValueError):
        return read_answer(line)
    raise broken("what listens there doesn't speak JSON-RPC")


def value_of(answer: Answer, returns: type[T]) -> T:
    """Take the result out of an answer, or raise its error."""
    if answer.error is not UNSET:
        raise error_of(answer.error)
    try:
        return msgspec.json.decode(
            b"null" if answer.result is UNSET else answer.result, type=returns
        )
    except msgspec.DecodeError as error:
        raise AgentctlError(
            f"the answer of the program that holds the folder can't be understood: {error}",
            hint="it may run another version of agentctl; restart it",
        ) from error


def broken(how: str) -> ControlGone:
    """Say that the connection ended before the answer."""
    return ControlGone(f"the connection to the program that holds the folder broke: {how}")
