"""Where code stands: in a handler, in a capability's call, or outside.

`call_key()` and its kin answer from here, and so does the time.
"""

from __future__ import annotations

import contextvars
import random as _random
import uuid
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime, timedelta, tzinfo
from typing import Final, TypeAlias

from msgspec import Struct

from agentctl.errors import AgentctlError
from agentctl.sdk.capability import Duration
from agentctl.sdk.loop import HandlerLoop
from agentctl.sdk.scope import SCOPE
from agentctl.sdk.stubs import running_loop
from agentctl.times import Clock, to_datetime
from agentctl.zones import find_zone

Zone: TypeAlias = str | tzinfo


class CallContext(Struct, frozen=True):
    """What a capability's code can ask about the call that it serves.

    Attributes:
        input: of a step that waited for one: the input, as JSON.
    """

    key: str
    nonce: str
    attempt: int
    clock: Clock
    input: bytes | None = None


CALL: Final[contextvars.ContextVar[CallContext | None]] = contextvars.ContextVar(
    "agentctl_call", default=None
)


def call_key() -> str | None:
    """The key of the call being served, `Bot-1-2`, the same in every run; None outside a call."""
    ctx = CALL.get()
    return ctx.key if ctx else None


def service_key() -> str | None:
    """The key to give to a service: `call_key()` with the event's random part.

    It can't collide with another machine's journal, a deleted folder, or a restored backup.
    None outside a call.
    """
    ctx = CALL.get()
    return f"{ctx.key}-{ctx.nonce}" if ctx else None


def attempt() -> int | None:
    """Which try of the call this is, from 1; None outside a call."""
    ctx = CALL.get()
    return ctx.attempt if ctx else None


def handler_loop(what: str, instead: str = "use Python's own out here") -> HandlerLoop:
    """The loop of the handler whose code runs.

    Args:
        instead: how to go on where there is none.

    Raises:
        AgentctlError: none does; `what` works only in one.
    """
    loop = running_loop()
    if loop is None:
        if SCOPE.get() is not None:
            raise AgentctlError(
                f"{what} works in a handler, not inside a step",
                hint="a step is one call: do it before or after the step, or as one of its own",
            )
        raise AgentctlError(f"{what} works in a handler", hint=instead)
    return loop


def now() -> datetime:
    """The time of what the handler heard last, in UTC: the same on replay.

    In a capability's code it is the clock's.
    """
    loop = running_loop()
    if loop is not None:
        return to_datetime(loop.now_us)
    ctx = CALL.get()
    if ctx is not None:
        return to_datetime(ctx.clock.now_us())
    return to_datetime(handler_loop("now()").now_us)


def today(tz: Zone, /) -> date:
    """The date of `now()` in a zone, a `tzinfo` or a name like `Europe/Berlin`."""
    return now().astimezone(_zone(tz)).date()


def _zone(tz: Zone) -> tzinfo:
    return find_zone(tz) if isinstance(tz, str) else tz


def _stream(what: str) -> _random.Random:
    loop = handler_loop(what)
    return loop.branch().random(loop.execution.nonce)


def random() -> float:
    """A random number in [0, 1), the same on replay; each branch has a stream of its own."""
    return _stream("random()").random()


def uuid4() -> uuid.UUID:
    """A random UUID, the same on replay."""
    return uuid.UUID(int=_stream("uuid4()").getrandbits(128), version=4)


def replaying() -> bool:
    """Whether the handler is being run again over what is on record."""
    loop = running_loop()
    return loop is not None and loop.execution.replaying


def _seconds(duration: Duration) -> float:
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


async def sleep(duration: Duration, /) -> None:
    """Wait durably; seconds, or a timedelta. Zero and less return at once."""
    import asyncio

    await asyncio.sleep(_seconds(duration))


def timeout(duration: Duration | None, /) -> AbstractAsyncContextManager[object]:
    """Give the block so much time, durably; then it raises `TimeoutError`. None: no limit."""
    import asyncio

    return asyncio.timeout(None if duration is None else _seconds(duration))
