"""Errors on their way through the control socket, and `ControlGone`, the connection's own.

An error of `agentctl.errors` comes out as the class that went in, or as its nearest base that a
message and a hint can build. A name that arrives is looked up there and nowhere else: nothing is
imported or built because a peer said so.
"""

from __future__ import annotations

import inspect
from typing import ClassVar, Final

from msgspec import Struct

from agentctl import errors
from agentctl.errors import AgentctlError

# What JSON-RPC 2.0 fixes; `FAILED` is the first of those that it leaves to us.
UNREADABLE: Final = -32700
NOT_A_REQUEST: Final = -32600
NO_METHOD: Final = -32601
BAD_PARAMS: Final = -32602
INTERNAL: Final = -32603
FAILED: Final = -32000

_LONGEST: Final = 64 * 1024


class ControlGone(AgentctlError):
    """Nobody listens at the control socket, or the connection broke before the answer."""

    exit_code: ClassVar[int] = 5
    title: ClassVar[str] = "the program can't be reached"


class Data(Struct, frozen=True):
    """What an error bears besides its code and message.

    Attributes:
        kind: the name of a class of `agentctl.errors`.
        event: the event that it is about, where there is one.
    """

    kind: str = ""
    hint: str | None = None
    event: str | None = None


class Failure(Struct, frozen=True, omit_defaults=True):
    """The member `error` of an answer."""

    code: int
    message: str
    data: Data | None = None


def failure_of(error: AgentctlError) -> Failure:
    """Write an error down; a class from elsewhere goes as its nearest base of ours."""
    kinds = (one.__name__ for one in type(error).__mro__ if _known(one.__name__) is one)
    hint = None if error.hint is None else _plain(error.hint)
    return Failure(FAILED, _plain(error.message), Data(next(kinds), hint, error.event))


def internal_failure(error: BaseException) -> Failure:
    """Write down what is no error of ours, by its type and text."""
    try:
        text = str(error)
    except Exception as trouble:  # noqa: BLE001 - whatever a class of the user's does there
        text = f"it can't be shown ({type(trouble).__name__})"
    name = type(error).__name__
    return Failure(INTERNAL, _plain(f"{name}: {text}" if text else name))


def _plain(text: str) -> str:
    """Text that UTF-8 and a line have room for."""
    return str(text)[:_LONGEST].encode("utf-8", "backslashreplace").decode()


def error_of(failure: Failure) -> AgentctlError:
    """Build the error that an answer bears."""
    if failure.code != FAILED or failure.data is None:
        older = failure.code in (NO_METHOD, BAD_PARAMS, NOT_A_REQUEST)
        return AgentctlError(
            f"the program that holds the folder couldn't do it: {failure.message}",
            hint="it may run another version of agentctl; restart it" if older else None,
        )
    kind = _known(failure.data.kind) or AgentctlError
    made = _buildable(kind)(failure.message, hint=failure.data.hint)
    made.message = failure.message
    made.event = failure.data.event
    return made


def _known(name: str) -> type[AgentctlError] | None:
    found = vars(errors).get(name)
    if isinstance(found, type) and issubclass(found, AgentctlError):
        return found
    return None


def _buildable(kind: type[AgentctlError]) -> type[AgentctlError]:
    """The class itself, or its nearest base of the same exit code that a message can build."""
    bases = (one for one in kind.__mro__ if issubclass(one, AgentctlError))
    fitting = (one for one in bases if one.exit_code == kind.exit_code and _takes_a_message(one))
    return next(fitting, AgentctlError)


def _takes_a_message(kind: type[AgentctlError]) -> bool:
    try:
        inspect.signature(kind).bind("message", hint=None)
    except TypeError:
        return False
    return True
