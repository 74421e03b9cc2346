"""The messages of the control socket: JSON-RPC 2.0, one JSON text a line, UTF-8.

Owns the shapes, the sizes, and how lines are cut out of what arrives. Every byte that arrives is
looked at once for its line end, however many pieces a message comes in. What a peer sends is never
trusted: it becomes a `Request`, or a `Refusal` to answer with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agentctl.engines.local.control.trouble import (
    NOT_A_REQUEST,
    UNREADABLE,
    Failure,
    failure_of,
)
from agentctl.errors import AgentctlError

MIB: Final = 1024 * 1024
LONGEST_REQUEST: Final = 16 * MIB
LONGEST_ANSWER: Final = 64 * MIB
CHUNK: Final = 64 * 1024
"""Bytes that are read from a socket at a time."""

Id = int | str | None


class Request(Struct, frozen=True, kw_only=True):
    """What a peer asks; without an `id` it wants no answer."""

    jsonrpc: Literal["2.0"]
    id: Id | UnsetType = UNSET
    method: str
    params: Raw = Raw(b"{}")


class Answer(Struct, frozen=True, kw_only=True):
    """What comes back: `result`, or `error`."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: Id
    result: Raw | UnsetType = UNSET
    error: Failure | UnsetType = UNSET


class Refusal(Exception):
    """A message that is no request; `failure` and `id` are what to answer."""

    def __init__(self, code: int, message: str, asked: Id = None) -> None:
        super().__init__(message)
        self.failure = Failure(code, message)
        self.id = asked


class _Asked(Struct, frozen=True):
    id: Id = None


_requests: Final = msgspec.json.Decoder(Request)
_answers: Final = msgspec.json.Decoder(Answer)
_ids: Final = msgspec.json.Decoder(_Asked)
_any_json: Final = msgspec.json.Decoder(Raw)


class Lines:
    """Cuts what arrives into lines of at most `longest` bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = bytearray()

    @property
    def unfinished(self) -> int:
        """Bytes of a line whose end hasn't come yet."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take what has arrived; give out the lines that it ends, one by one.

        Raises:
            Refusal: a line is too long; where the next one begins isn't known any more.
        """
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            self._check(end - begin)
            line = chunk[begin:end]
            if self._rest:
                self._rest += line
                line = bytes(self._rest)
                self._rest = bytearray()
            yield line
            begin = end + 1
        self._check(len(chunk) - begin)
        self._rest += chunk[begin:]

    def _check(self, more: int) -> None:
        if len(self._rest) + more > self._longest:
            self._rest = bytearray()
            raise Refusal(UNREADABLE, f"a message is longer than {self._longest} bytes")


def read_request(line: bytes) -> Request:
    """Read one line that a peer sent.

    Raises:
        Refusal: it is no JSON, or no request of JSON-RPC 2.0.
    """
    try:
        request = _requests.decode(line)
        if memoryview(request.params)[0] in b"{[":
            return request
        reason = "Expected `object` or `array` - at `$.params`"
    except (msgspec.ValidationError, RecursionError) as error:
        reason = str(error)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(UNREADABLE, f"this is no JSON: {error}") from None
    raise _not_a_request(line, reason)


def _not_a_request(line: bytes, reason: str) -> Refusal:
    """Say what is wrong, under the message's own id if it has one that can be read."""
    asked: Id = None
    try:
        _any_json.decode(line)
        asked = _ids.decode(line).id
    except (msgspec.ValidationError, RecursionError):
        return Refusal(NOT_A_REQUEST, f"this is no request: {reason}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Refusal(UNREADABLE, f"this is no JSON: {error}")
    return Refusal(NOT_A_REQUEST, f"this is no request: {reason}", asked)


def write_request(asked: int, method: str, params: object) -> bytes:
    """Write a request as a line; `params` is anything that msgspec encodes as an object or list."""
    raw = Raw(msgspec.json.encode(params))
    request = Request(jsonrpc="2.0", id=asked, method=method, params=raw)
    return msgspec.json.encode(request) + b"\n"


def read_answer(line: bytes) -> Answer:
    """Read one line that a program answered.

    Raises:
        ValueError: it is no answer of JSON-RPC 2.0.
    """
    try:
        return _answers.decode(line)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def write_result(asked: Id, result: object) -> bytes:
    """Write what a method returned as a line."""
    raw = Raw(msgspec.json.encode(result))
    line = msgspec.json.encode(Answer(id=asked, result=raw)) + b"\n"
    if len(line) > LONGEST_ANSWER:
        return write_failure(asked, failure_of(_too_long(len(line))))
    return line


def _too_long(size: int) -> AgentctlError:
    # Not "nothing was changed", as others may say: what was asked is done.
    return AgentctlError(
        f"what was asked is done, but its answer is too large to be handed over: {size} bytes, "
        f"at most {LONGEST_ANSWER}",
        hint="have the handler return the name of a file; read the record without the program: "
        "agentctl inspect journal --raw",
    )


def write_failure(asked: Id, failure: Failure) -> bytes:
    """Write as a line why there is no result."""
    return msgspec.json.encode(Answer(id=asked, error=failure)) + b"\n"
