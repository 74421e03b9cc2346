"""What a face asks of an agent's folder, whether or not a program runs the agent.

All values are JSON as recorded, so that no face needs the user's types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from agentctl.engines.changes import Accepted, Answer, Change, Invoked
from agentctl.engines.port import Ended, InvokeRequest
from agentctl.engines.schedules import Scheduled, ScheduleView, SetRequest
from agentctl.engines.views import (
    AgentView,
    ArchivedView,
    CountView,
    HolderView,
    Inside,
    InstanceView,
    JournalLine,
    JournalView,
    LockView,
    SetAsideView,
)
from agentctl.names import Address

if TYPE_CHECKING:
    from agentctl.sdk.agent import Agent

T = TypeVar("T")


@dataclass(frozen=True)
class Unanswered:
    """A program that hasn't answered yet; who asked goes on waiting.

    Attributes:
        pid: 0 where it isn't known.
        once: what was asked isn't done twice if it is asked again.
    """

    agent: str
    pid: int
    once: bool


class Holder(Protocol):
    """The program that holds an agent's folder, as another one reaches it.

    Each method raises what the same thing would raise here, and `ControlGone` (exit code 5) if
    the program ends before it answers: who asks asks again, under the same id.
    """

    def invoke(self, request: InvokeRequest, timeout_s: float | None) -> Invoked:
        """Have an event accepted, durably; or have a query read.

        Raises:
            TimeoutError: no answer yet; whether it was accepted isn't known.
        """
        ...

    def wait(self, event: Address, timeout_s: float | None) -> Ended:
        """Wait until an event comes to rest.

        Raises:
            TimeoutError: it hasn't yet.
        """
        ...

    def schedule(self, request: SetRequest) -> Scheduled:
        """Have a schedule set, durably; its handler there checks the arguments."""
        ...

    def look(self) -> Inside:
        """Look into the program."""
        ...


class Desk(Protocol):
    """What can be asked of an agent's folder; reading takes no lock and changes nothing."""

    def agents(self) -> Sequence[str]:
        """The agents that have a folder, sorted."""
        ...

    def journal(self, agent: str) -> JournalView:
        """Read a journal, as far as it can be read."""
        ...

    def follow(self, agent: str) -> Callable[[], Sequence[JournalLine]]:
        """Follow a journal, also over its replacement: each call of it reads what is new."""
        ...

    def audit(self, agent: str) -> Sequence[str]:
        """Read the audit log's lines."""
        ...

    def set_aside(self, agent: str) -> Sequence[SetAsideView]:
        """Read what is set aside."""
        ...

    def set_aside_text(self, agent: str) -> bytes:
        """Read the file `set-aside` as it is."""
        ...

    def states(self, agent: str) -> Mapping[Address, bytes]:
        """Read each instance's committed state, as JSON."""
        ...

    def look(self, agent: str, *, ended: bool = False) -> AgentView:
        """Look at an agent's events one by one; with `ended` also at what is kept of those over.

        Raises:
            FormatTooNew: a later version wrote the journal.
        """
        ...

    def count(self, agent: str) -> CountView:
        """Count where an agent's events stand; raises as `look`."""
        ...

    def instances(self, agent: str) -> Sequence[InstanceView]:
        """Read what is kept of each instance, sorted.

        Raises:
            JournalDamaged, FormatTooNew: what it says of any can't be trusted.
        """
        ...

    def schedules(self, agent: str) -> Sequence[ScheduleView]:
        """Read an agent's schedules, sorted by instance and name; raises as `instances`."""
        ...

    def holder(self, agent: str) -> HolderView | None:
        """Tell which program holds an agent's folder."""
        ...

    def inside(self, agent: str) -> Inside | None:
        """Look into the program that runs an agent; None if none does, or it doesn't answer."""
        ...

    def lock(self, agent: str) -> LockView:
        """Read the lock's note, and whether a program holds the lock; doesn't take it."""
        ...

    def backup(self, agents: Sequence[str], target: Path) -> Sequence[ArchivedView]:
        """Write one archive (tar.gz) of these agents' folders, also beside running programs.

        Raises:
            Conflict, JournalDamaged: no archive was written.
        """
        ...

    def carry_out(self, change: Change, wait_s: float = 5.0) -> Answer:
        """Carry out a change: under the folder's lock, or through the program that holds it.

        Args:
            wait_s: how long nobody may be reached.

        Raises:
            NotFound, Conflict, UsageError: as each change says; nothing was changed.
            Locked: a program holds the folder and doesn't answer.
        """
        ...

    def invoke(
        self, agent: str, alone: Callable[[], T], beside: Callable[[Holder], T], wait_s: float
    ) -> T:
        """Do something beside the program that runs an agent, or without one.

        Args:
            alone: does it where no program runs the agent; raises `Locked` if one does by now.
            beside: has it done by the one that does.
            wait_s: how long nobody may be reached.

        Raises:
            Locked: a program holds the folder and doesn't answer.
        """
        ...

    def leave(self, cls: type[Agent], request: InvokeRequest) -> Accepted:
        """Accept an event that begins when a program next runs the agent.

        Raises:
            NotFound, BadArguments, KeyReused, SetAside: nothing was accepted.
            Locked: a program runs the agent.
        """
        ...

    def schedule(self, cls: type[Agent], request: SetRequest) -> Scheduled:
        """Set a schedule, which fires while a program runs the agent.

        Raises:
            NotFound, BadArguments, UsageError, Conflict: nothing was set.
            Locked: a program runs the agent.
        """
        ...
