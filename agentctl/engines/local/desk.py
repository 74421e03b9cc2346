"""FilesDesk: reading agents' folders; what changes something goes through the `Door`.

Reading takes no lock and changes nothing, and loads only what it needs: neither the user's code
nor an event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentctl.engines.desk import Holder, Unanswered
from agentctl.engines.port import InvokeRequest
from agentctl.engines.views import JournalLine, JournalView, SetAsideView
from agentctl.errors import Damaged
from agentctl.names import Address
from agentctl.storage.files.beside import AUDIT, SET_ASIDE, read_beside
from agentctl.storage.files.disk import Disk, SystemDisk
from agentctl.storage.files.places import agent_folder, list_agents
from agentctl.storage.files.reading import read_journal
from agentctl.storage.port import Line
from agentctl.times import Clock, SystemClock

if TYPE_CHECKING:
    from agentctl.core.set_aside import SetAsideEvent
    from agentctl.engines.changes import Accepted, Answer, Change
    from agentctl.engines.local.door import Door
    from agentctl.engines.local.looking.look import Looking
    from agentctl.engines.schedules import Scheduled, ScheduleView, SetRequest
    from agentctl.engines.views import (
        AgentView,
        ArchivedView,
        CountView,
        HolderView,
        Inside,
        InstanceView,
        LockView,
    )
    from agentctl.record_moves import AsideRecord
    from agentctl.sdk.agent import Agent

T = TypeVar("T")


class FilesDesk:
    """Implements `Desk` over the folders below `root` on `disk`."""

    def __init__(
        self,
        root: Path,
        clock: Clock | None = None,
        disk: Disk | None = None,
        *,
        unanswered: Callable[[Unanswered], None] | None = None,
    ) -> None:
        self._root = root
        self._unanswered = unanswered
        self._disk = disk or SystemDisk()
        self._clock = clock or SystemClock()

    def agents(self) -> Sequence[str]:
        """The agents that have a folder, sorted."""
        return list_agents(self._root, self._disk)

    def _path(self, agent: str, name: str) -> str:
        return f"{agent_folder(self._root, agent)}/{name}"

    def journal(self, agent: str) -> JournalView:
        """Read a journal, as far as it can be read."""
        path = self._path(agent, "journal")
        read = read_journal(path, self._disk)
        return JournalView(
            agent,
            path,
            _Lines(lambda: read.walk(marks=True)),
            _Lines(read.texts),
            read.damaged,
            read.unfinished is not None,
        )

    def follow(self, agent: str) -> Callable[[], Sequence[JournalLine]]:
        """Follow a journal: each call of the answer reads the lines that are new since the last."""
        from agentctl.storage.files.following import Follower

        follower = Follower(self._path(agent, "journal"), self._disk)
        return lambda: [JournalLine(line.number, line.body) for line in follower.read()]

    def audit(self, agent: str) -> Sequence[str]:
        """Read the audit log's lines."""
        content = read_beside(self._path(agent, AUDIT), self._disk)
        return content.decode("utf-8", "replace").splitlines()

    def set_aside_text(self, agent: str) -> bytes:
        """Read the file `set-aside` as it is."""
        return read_beside(self._path(agent, SET_ASIDE), self._disk)

    def set_aside(self, agent: str) -> Sequence[SetAsideView]:
        """Read what is set aside.

        Raises:
            SetAsideDamaged: a line of the file can't be read.
        """
        from agentctl.core import set_aside

        content = self.set_aside_text(agent)
        events = set_aside.parse(content, self._path(agent, SET_ASIDE))
        asides = self._asides(agent) if events else {}
        return [_view(agent, one, asides.get(one.number)) for one in events]

    def _asides(self, agent: str) -> Mapping[int, AsideRecord]:
        """What the journal keeps of each set-aside event, where it can be read."""
        try:
            return self._looking().whole(agent).asides
        except Damaged:
            return {}

    def states(self, agent: str) -> Mapping[Address, bytes]:
        """Read each instance's committed state, as JSON.

        Raises:
            JournalDamaged, FormatTooNew: what it says of any state can't be trusted.
        """
        states = self._looking().whole(agent).states
        return {Address(agent, of): bytes(one.state) for of, one in sorted(states.items())}

    # -- looking, as `Looking` and `counting` do

    def look(self, agent: str, *, ended: bool = False) -> AgentView:
        """Look at an agent's events one by one; with `ended` also at what is kept of those over.

        Raises:
            FormatTooNew: a later version wrote the journal.
        """
        return self._looking().look(agent, ended=ended)

    def count(self, agent: str) -> CountView:
        """Count where an agent's events stand.

        Raises:
            FormatTooNew: a later version wrote the journal.
        """
        from agentctl.engines.local.looking import counting

        folder = agent_folder(self._root, agent)
        return counting.count(agent, folder, self._disk, now_us=self._clock.now_us())

    def instances(self, agent: str) -> Sequence[InstanceView]:
        """Read what is kept of each instance, sorted.

        Raises:
            JournalDamaged, FormatTooNew: what it says of any can't be trusted.
        """
        return self._looking().instances(agent)

    def schedules(self, agent: str) -> Sequence[ScheduleView]:
        """Read an agent's schedules, sorted by instance and name.

        Raises:
            JournalDamaged, FormatTooNew: what it says of any can't be trusted.
        """
        return self._looking().schedules(agent)

    def holder(self, agent: str) -> HolderView | None:
        """Tell which program holds an agent's folder."""
        from agentctl.engines.local.looking import counting

        return counting.holder(agent_folder(self._root, agent), self._disk)

    def inside(self, agent: str) -> Inside | None:
        """Look into the program that runs an agent; None if none does, or it doesn't answer."""
        from agentctl.engines.local.looking import counting

        return counting.inside(agent_folder(self._root, agent), self._disk)

    def lock(self, agent: str) -> LockView:
        """Read the lock's note, and whether a program holds the lock; doesn't take it."""
        from agentctl.engines.local.looking import counting

        return counting.lock(agent, agent_folder(self._root, agent), self._disk)

    def backup(self, agents: Sequence[str], target: Path) -> Sequence[ArchivedView]:
        """Write one archive of these agents' folders; takes no lock.

        Raises:
            Conflict: the file exists.
            JournalDamaged: a journal is damaged; no archive is written.
        """
        from agentctl.engines.local.looking.backing_up import backup

        return backup(self._root, agents, target, self._disk)

    def _looking(self) -> Looking:
        from agentctl.engines.local.looking.look import Looking

        return Looking(self._root, self._clock, self._disk)

    # -- changing

    def carry_out(self, change: Change, wait_s: float = 5.0) -> Answer:
        """Carry out a change: under the folder's lock, or through the program that holds it."""
        return self._door().carry_out(change, wait_s)

    def invoke(
        self, agent: str, alone: Callable[[], T], beside: Callable[[Holder], T], wait_s: float
    ) -> T:
        """Do something beside the program that runs an agent, or without one."""
        return self._door().invoke(agent, alone, beside, wait_s)

    def leave(self, cls: type[Agent], request: InvokeRequest) -> Accepted:
        """Accept an event that begins when a program next runs the agent."""
        return self._door().leave(cls, request)

    def schedule(self, cls: type[Agent], request: SetRequest) -> Scheduled:
        """Set a schedule in a folder that nobody runs."""
        return self._door().schedule(cls, request)

    def _door(self) -> Door:
        from agentctl.engines.local.door import Door

        return Door(self._root, self._clock, self._disk, unanswered=self._unanswered)


class _Lines(Iterable[JournalLine]):
    """A journal's lines, read from the file as they are asked for."""

    def __init__(self, walk: Callable[[], Iterator[Line]]) -> None:
        self._walk = walk

    def __iter__(self) -> Iterator[JournalLine]:
        return (JournalLine(line.number, line.body) for line in self._walk())


def _view(agent: str, event: SetAsideEvent, aside: AsideRecord | None) -> SetAsideView:
    from agentctl.core.set_aside import calls_under_way

    return SetAsideView(
        Address(agent, event.of, event.number),
        event.handler,
        bytes(event.args),
        event.starts if aside is None else aside.starts,
        event.lines,
        () if aside is None else calls_under_way(event, aside),
        None if event.kwargs is None else bytes(event.kwargs),
    )
