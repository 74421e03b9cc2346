"""What a face asks about schedules, what it is answered, and how it sees one.

As in `changes`: one request and one answer a change, both JSON; what was carried out under an `id`
is answered again, and not made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from agentctl.core.lanes import Priority
from agentctl.core.lifecycle import Cancellation
from agentctl.core.timing import Source, Timing
from agentctl.names import Address, Identity


class SetRequest(Struct, frozen=True, tag_field="do", tag="schedule"):
    """Set a schedule: a handler of one instance, at a timing that has a name.

    The same again changes nothing and keeps the grid; anything else takes its place.

    Attributes:
        args, kwargs, words, text: the arguments, as in `InvokeRequest`.
        source: who sets it; what another source has set is replaced only with `force`.
    """

    agent: str
    id: str
    handler: str
    timing: Timing
    identity: Identity = ()
    args: Sequence[object] = ()
    kwargs: Mapping[str, object] | None = None
    words: Sequence[str] | None = None
    text: str | None = None
    source: Source = "shell"
    force: bool = False
    by: str = ""


class Scheduled(Struct, frozen=True):
    """A schedule that is on record.

    Attributes:
        instance: `Poller/my-poller`.
        due_us: when it fires next.
        changed: false: it was there already, just so.
        replaced: it took the place of another.
        paused: it doesn't fire until it is resumed.
    """

    instance: str
    name: str
    due_us: int
    changed: bool = True
    replaced: bool = False
    paused: bool = False


class UnscheduleRequest(Struct, frozen=True, tag_field="do", tag="unschedule"):
    """Cancel a schedule; what it has made already stays.

    Attributes:
        due_us: only the one that is due then; else the answer tells what became of that.
    """

    agent: str
    id: str
    name: str
    identity: Identity = ()
    due_us: int | None = None
    by: str = ""


class Unscheduled(Struct, frozen=True):
    """What came of cancelling a schedule; the words are those of an event's cancellation."""

    answer: Cancellation
    instance: str
    name: str


class PauseRequest(Struct, frozen=True, tag_field="do", tag="pause"):
    """Pause a schedule, or with `pause` false let it fire again."""

    agent: str
    id: str
    name: str
    identity: Identity = ()
    pause: bool = True
    by: str = ""


class Paused(Struct, frozen=True):
    """Whether a schedule is paused now.

    Attributes:
        changed: false: it was so already.
        due_us: when it fires next, unless it is paused.
        skipped: how many due times passed while it was paused.
    """

    instance: str
    name: str
    paused: bool
    changed: bool
    due_us: int
    skipped: int = 0


class FireRequest(Struct, frozen=True, tag_field="do", tag="fire"):
    """Run a schedule's handler once now, beside its grid; answered as an invocation is."""

    agent: str
    id: str
    name: str
    identity: Identity = ()
    by: str = ""


class ScheduleView(Struct, frozen=True):
    """One schedule as the journal tells it.

    Attributes:
        args: the arguments by position, a JSON list.
        due_us: the next due time on the grid; `begins_us` with its shift within the jitter.
    """

    instance: Address
    name: str
    handler: str
    args: bytes
    kwargs: bytes | None
    due_us: int
    begins_us: int
    period_us: int | None
    cron: str | None
    tz: str | None
    missed: str
    overlap: str
    jitter_us: int
    late_us: int | None
    source: str
    paused: bool
    set_us: int
    by: str = ""
    priority: Priority = "medium"
