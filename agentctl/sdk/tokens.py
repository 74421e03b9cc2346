"""Tokens and handles: what a timing made, to be kept, cancelled and waited for.

Their JSON is that of the record: an event by its number, a schedule by its name. They are checked
wherever they are made, so that state or arguments that were tampered with name nothing absurd.
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from msgspec import structs

from agentctl.core.lifecycle import Cancellation
from agentctl.core.timing import LONGEST_NAME, Sent
from agentctl.errors import UsageError
from agentctl.names import Address
from agentctl.sdk.execution import Invoker
from agentctl.sdk.ops import CancelOp, ResultOp
from agentctl.sdk.registry import Reference, class_named, invoker_of
from agentctl.sdk.stubs import CallStub, running_loop
from agentctl.times import LAST_INSTANT_US, to_datetime

R_co = TypeVar("R_co", covariant=True)
M = TypeVar("M", bound="Made")

_LONGEST_US: Final = timedelta.max // timedelta(microseconds=1)


class Made(Sent, frozen=True, dict=True):
    """What tokens and handles share; on a host each goes through whoever made it."""

    def __post_init__(self) -> None:
        _check(self)

    @property
    def sent(self) -> Sent:
        """What is on record of it."""
        return Sent(**structs.asdict(self))

    def cancel(self) -> Coroutine[Any, Any, Cancellation]:
        """Cancel it; what runs already goes on."""
        loop = running_loop()
        if loop is None:
            return self._invoker().cancel(self.sent)
        loop.refuse_once_closed()
        op = CancelOp(loop.branch().next_path(), self.sent)
        return CallStub(loop, op, f"{type(self).__name__}.cancel", sys._getframe(1))

    def _invoker(self) -> Invoker:
        made_by: Invoker | None = self.__dict__.get("invoker")
        return made_by or invoker_of(Address.parse(self.instance).agent)


class Token(Made, Generic[R_co], frozen=True):
    """One event to come: by its number, or by the name under which it is scheduled."""

    @property
    def address(self) -> str:
        """The event's address, `Bot#7`; of a named one, not numbered yet, the instance's."""
        return self.instance if self.event is None else f"{self.instance}#{self.event}"

    @property
    def name(self) -> str | None:
        """The name under which it is scheduled, if it has one."""
        return self.schedule

    @property
    def due(self) -> datetime | None:
        """When it was to run, in UTC; None: at once."""
        return None if self.due_us is None else to_datetime(self.due_us)

    def result(self) -> Coroutine[Any, Any, R_co]:
        """Wait for its outcome.

        Raises:
            OutcomeGone: it is no longer kept; `key=` keeps it longer.
        """
        loop = running_loop()
        if loop is None:
            return self._invoker().outcome(self.sent)
        loop.refuse_once_closed()
        cls = class_named(Address.parse(self.instance).agent)
        op = ResultOp(loop.branch().next_path(), self.sent, cls)
        return CallStub(loop, op, "Token.result", sys._getframe(1))


class ScheduleHandle(Made, frozen=True):
    """A named schedule of one instance, as it stood when it was set or read."""

    def __post_init__(self) -> None:
        _check(self)
        if self.schedule is None or self.due_us is None:
            raise ValueError("a schedule has a name, and is due some time")

    @property
    def name(self) -> str:
        """Its name."""
        assert self.schedule is not None
        return self.schedule

    @property
    def due(self) -> datetime:
        """When it fires next, in UTC."""
        assert self.due_us is not None
        return to_datetime(self.due_us)

    @property
    def period(self) -> timedelta | None:
        """Its period; None for a one-shot, and for cron."""
        return None if self.period_us is None else timedelta(microseconds=self.period_us)


def made_of(cls: type[M], sent: Sent, invoker: Invoker | None = None) -> M:
    """Make a token or a handle of what is on record."""
    made = cls(**structs.asdict(sent))
    if invoker is not None:
        made.__dict__["invoker"] = invoker
    return made


def schedules_of(obj: object) -> Mapping[str, ScheduleHandle]:
    """Read an instance's named schedules: in a handler its own, on a host a reference's.

    Raises:
        UsageError: it is a query's object, or another instance's in a handler.
    """
    agent, loop = type(obj).__name__, running_loop()
    reference: Reference | None = getattr(obj, "__agentctl_reference__", None)
    if loop is None:
        if reference is None:
            raise UsageError(
                f"the schedules of {agent} are read in a handler, or of a reference",
                hint="a query can't: it reads only the committed state",
            )
        invoker = reference.find_invoker()
        return _by_name(invoker.schedules(reference.target("schedules")), invoker)
    if reference is not None:
        raise UsageError(
            "a handler reads only its own instance's schedules",
            hint=f"read self.schedules, or ask a handler of {agent} for them",
        )
    loop.refuse_once_closed()
    if loop.closed:  # as a stub of one that swallowed all that said so: nothing comes any more
        return _by_name(())
    return _by_name(loop.execution.schedules(loop.branch().next_path()))


def _by_name(found: Iterable[Sent], invoker: Invoker | None = None) -> Mapping[str, ScheduleHandle]:
    handles = (made_of(ScheduleHandle, one, invoker) for one in found)
    return MappingProxyType({one.name: one for one in handles})


def _check(made: Sent) -> None:
    """Make sure that it names what there can be.

    Raises:
        ValueError: it doesn't.
    """
    texts = (made.instance, made.handler, made.schedule or "", made.key or "", made.cron or "")
    if not all(isinstance(one, str) for one in texts) or not made.handler.isidentifier():
        raise ValueError(f"{made.handler!r} is no handler, or a name is no text")
    _check_instance(made.instance)
    if (made.event is None) == (made.schedule is None):
        raise ValueError("it is an event by its number, or else a schedule by its name")
    if made.event is not None:
        _check_number("event", made.event, 1, 10**18)
    if made.schedule is not None and not 0 < len(made.schedule) <= LONGEST_NAME:
        raise ValueError(f"{made.schedule!r} is no schedule's name")
    if made.due_us is not None:
        _check_number("due_us", made.due_us, 0, LAST_INSTANT_US)
    if made.period_us is not None:
        _check_number("period_us", made.period_us, 1, _LONGEST_US)


@lru_cache(1024)
def _check_instance(instance: str) -> None:
    try:
        address = Address.parse(instance)
    except UsageError as error:
        raise ValueError(error.message) from None
    if address.event is not None or str(address) != instance:
        raise ValueError(f"{instance!r} is no instance")


def _check_number(what: str, value: int, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} can't be its {what}")
