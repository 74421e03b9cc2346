"""A desk without disks, and a program that holds a folder; they note what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentctl import Agent
from agentctl.engines.changes import (
    Accepted,
    Answer,
    Change,
    Dropped,
    DropRequest,
    Invoked,
    Requeued,
    RequeuedAll,
)
from agentctl.engines.desk import Holder
from agentctl.engines.port import Ended, InvokeRequest
from agentctl.engines.schedules import Scheduled, ScheduleView, SetRequest
from agentctl.engines.views import (
    AgentView,
    EventView,
    HolderView,
    Inside,
    InstanceView,
    JournalLine,
    JournalView,
    SetAsideView,
)
from agentctl.errors import NotFound
from agentctl.names import Address

from .journals import AT, FAR

T = TypeVar("T")

HOUR_US = 3_600_000_000


@dataclass
class FakeHolder:
    """A program that holds the folder; implements `Holder`."""

    invoked: Invoked
    ended: Ended | Exception | None = None
    requests: list[InvokeRequest] = field(default_factory=list)
    waited: list[tuple[Address, float | None]] = field(default_factory=list)
    sets: list[SetRequest] = field(default_factory=list)
    scheduled: Scheduled | None = None

    def invoke(self, request: InvokeRequest, timeout_s: float | None) -> Invoked:
        self.requests.append(request)
        return self.invoked

    def wait(self, event: Address, timeout_s: float | None) -> Ended:
        self.waited.append((event, timeout_s))
        if isinstance(self.ended, Exception):
            raise self.ended
        assert self.ended is not None
        return self.ended

    def schedule(self, request: SetRequest) -> Scheduled:
        self.sets.append(request)
        return scheduled(request, self.scheduled)

    def look(self) -> Inside:
        return Inside((), (), ())


def scheduled(request: SetRequest, answer: Scheduled | None) -> Scheduled:
    """What the test says; else that it is set, as it was asked for."""
    timing, instance = request.timing, str(Address(request.agent, request.identity))
    assert timing.name is not None
    return answer or Scheduled(instance, timing.name, timing.due_us or AT)


@dataclass
class FakeDesk:
    """Implements `Desk` in memory."""

    journals: dict[str, list[bytes]] = field(default_factory=dict)
    damaged: tuple[int, str] | None = None
    audits: dict[str, list[str]] = field(default_factory=dict)
    asides: dict[str, list[SetAsideView]] = field(default_factory=dict)
    text: bytes = b""
    texts: list[bytes] = field(default_factory=list)
    kept: dict[Address, bytes] = field(default_factory=dict)
    requests: list[Change] = field(default_factory=list)
    requeued: list[Requeued] = field(default_factory=list)
    answer: Answer | Exception | None = None
    waits: list[float] = field(default_factory=list)
    holder_here: FakeHolder | None = None
    left: list[InvokeRequest] = field(default_factory=list)
    scheduled: list[ScheduleView] = field(default_factory=list)
    events: list[EventView] = field(default_factory=list)
    sets: list[SetRequest] = field(default_factory=list)
    answered: Scheduled | None = None

    def agents(self) -> Sequence[str]:
        return sorted({*self.journals, *self.audits, *self.asides})

    def journal(self, agent: str) -> JournalView:
        def numbered(bodies: Iterable[bytes]) -> list[JournalLine]:
            return [JournalLine(number, body) for number, body in enumerate(bodies, start=1)]

        lines = numbered(self.journals.get(agent, ()))
        texts = numbered(self.texts) if self.texts else lines
        return JournalView(agent, f"/srv/agents/{agent}/journal", lines, texts, self.damaged, False)

    def audit(self, agent: str) -> Sequence[str]:
        return self.audits.get(agent, [])

    def set_aside(self, agent: str) -> Sequence[SetAsideView]:
        return self.asides.get(agent, [])

    def set_aside_text(self, agent: str) -> bytes:
        return self.text

    def states(self, agent: str) -> Mapping[Address, bytes]:
        return {each: state for each, state in self.kept.items() if each.agent == agent}

    def holder(self, agent: str) -> HolderView | None:
        return HolderView(1, "here", "agentctl run", "") if self.holder_here else None

    def carry_out(self, change: Change, wait_s: float = 5.0) -> Answer:
        self.requests.append(change)
        self.waits.append(wait_s)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        if not isinstance(change, DropRequest):
            return RequeuedAll(tuple(self.requeued))
        if not any(view.event.event == change.event for view in self.set_aside(change.agent)):
            raise NotFound(f"{change.agent}#{change.event} isn't set aside", hint="nothing is")
        return Dropped(str(Address(change.agent, (), change.event)))

    def invoke(
        self, agent: str, alone: Callable[[], T], beside: Callable[[Holder], T], wait_s: float
    ) -> T:
        self.waits.append(wait_s)
        return alone() if self.holder_here is None else beside(self.holder_here)

    def schedules(self, agent: str) -> Sequence[ScheduleView]:
        return [one for one in self.scheduled if one.instance.agent == agent]

    def schedule(self, cls: type[Agent], request: SetRequest) -> Scheduled:
        self.sets.append(request)
        return scheduled(request, self.answered)

    def look(self, agent: str, *, ended: bool = False) -> AgentView:
        events = [one for one in self.events if one.event.agent == agent]
        return AgentView(agent, self.holder(agent), events, {}, 0, 0)

    def instances(self, agent: str) -> Sequence[InstanceView]:
        return [InstanceView(one, len(state), 0) for one, state in sorted(self.kept.items())]

    def leave(self, cls: type[Agent], request: InvokeRequest) -> Accepted:
        self.left.append(request)
        return Accepted(str(Address(request.agent, request.identity, len(self.left))))


def view(name: str = "report", **changes: Any) -> ScheduleView:
    """A schedule of Bot, each hour."""
    fields: dict[str, Any] = {
        "instance": Address("Bot"),
        "name": name,
        "handler": "request",
        "args": b"[7]",
        "kwargs": None,
        "due_us": FAR,
        "begins_us": FAR,
        "period_us": HOUR_US,
        "cron": None,
        "tz": None,
        "missed": "coalesce",
        "overlap": "skip",
        "jitter_us": 0,
        "late_us": None,
        "source": "shell",
        "paused": False,
        "set_us": AT,
    }
    return ScheduleView(**{**fields, **changes})
