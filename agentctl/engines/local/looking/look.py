"""Looking at an agent from outside: its events and its instances, one by one.

Owns nothing of what is true: the journal's fold says what happened, `core.states` in which word.
Invariant: takes no lock, changes nothing, and shows a damaged journal as far as it can be trusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentctl.core.history import JournalHistory
from agentctl.engines.changes import State
from agentctl.engines.local.looking import showing
from agentctl.engines.local.looking.counting import holder, inside, nothing_collected
from agentctl.engines.local.starting import recovery
from agentctl.engines.schedules import ScheduleView
from agentctl.engines.views import (
    AgentView,
    EventView,
    InstanceView,
    KeyView,
)
from agentctl.errors import JournalDamaged, SetAsideDamaged
from agentctl.names import Address, Identity
from agentctl.storage.files.beside import SET_ASIDE, read_beside
from agentctl.storage.files.disk import Disk
from agentctl.storage.files.places import agent_folder
from agentctl.storage.files.reading import ReadJournal, read_journal
from agentctl.storage.port import Scan
from agentctl.times import Clock


class Looking:
    """Reads the folders below `root` for whoever looks at agents."""

    def __init__(self, root: Path, clock: Clock, disk: Disk) -> None:
        self._root = root
        self._clock = clock
        self._disk = disk

    def _folder(self, agent: str) -> str:
        return agent_folder(self._root, agent)

    def look(self, agent: str, *, ended: bool = False) -> AgentView:
        """Look at an agent's events one by one.

        Raises:
            FormatTooNew: a later version wrote the journal.
        """
        holds = holder(self._folder(agent), self._disk)
        with nothing_collected():
            history, read, damaged = self._fold(agent)
            seen = None if holds is None else inside(self._folder(agent), self._disk)
            as_of = showing.AsOf(
                agent,
                held=holds is not None,
                now_us=self._clock.now_us(),
                unable={} if seen is None else seen.unable,
            )
            open_events = [
                as_of.open_event(history.open[number]) for number in sorted(history.open)
            ]
            events = showing.with_holders(open_events, seen) if as_of.held else open_events
            shown = [*events, *self._aside(history, as_of)]
            if ended:
                shown += as_of.ended_events(history)
        return AgentView(
            agent,
            holds,
            shown,
            Counter(one.state for one in open_events),
            len(history.asides),
            read.size,
            damaged,
        )

    def _aside(self, history: JournalHistory, as_of: showing.AsOf) -> Iterator[EventView]:
        """The events that are set aside; the arguments stand in the file, where it can be read."""
        if not history.asides:
            return
        from agentctl.core.set_aside import parse

        path = f"{self._folder(as_of.agent)}/{SET_ASIDE}"
        try:
            lying = {one.number: one for one in parse(read_beside(path, self._disk), path)}
        except SetAsideDamaged:
            lying = {}
        for number, aside in sorted(history.asides.items()):
            yield as_of.aside_event(aside, lying.get(number))

    def instances(self, agent: str) -> Sequence[InstanceView]:
        """Read what is kept of each instance, sorted.

        Raises:
            JournalDamaged, FormatTooNew: what it says of any can't be trusted.
        """
        as_of = showing.AsOf(agent, held=False, now_us=self._clock.now_us())
        with nothing_collected():
            return list(_instances(self.whole(agent), as_of))

    def schedules(self, agent: str) -> Sequence[ScheduleView]:
        """Read an agent's schedules, sorted by instance and name.

        Raises:
            JournalDamaged, FormatTooNew: what it says of any can't be trusted.
        """
        live = self.whole(agent).schedules.live
        return [showing.schedule(agent, live[at]) for at in sorted(live)]

    # -- the journal

    def whole(self, agent: str) -> JournalHistory:
        """What an undamaged journal says.

        Raises:
            JournalDamaged, FormatTooNew: what it says of anything can't be trusted.
        """
        history, _, damaged = self._fold(agent)
        if damaged is not None:
            # What stands behind the damage may be whole, and yet not follow from what was lost.
            raise _damaged(agent, f"{self._folder(agent)}/journal", *damaged)
        return history

    def _fold(self, agent: str) -> tuple[JournalHistory, ReadJournal, tuple[int, str] | None]:
        """The history as far as it can be trusted, and what stops it there."""
        path = f"{self._folder(agent)}/journal"
        read, history = read_journal(path, self._disk), JournalHistory()
        damaged = read.damaged
        scan = Scan(read.trusted, None, exists=read.exists, end=0)
        try:
            recovery.fold_into(history, agent, path, scan)
        except JournalDamaged as error:
            damaged = damaged or (error.line or 1, error.reason or error.message)
        return history, read, damaged


def _instances(history: JournalHistory, as_of: showing.AsOf) -> Iterator[InstanceView]:
    """Whatever has state, an open event or a key is kept."""
    keys: dict[Identity, dict[str, KeyView]] = {}
    for (of, key), outcome in history.outcomes.items():
        address = Address(as_of.agent, of, outcome.outcome)
        keys.setdefault(of, {})[key] = KeyView(key, address, State(outcome.status))
    open_events: dict[Identity, list[EventView]] = {}
    for event in history.open.values():
        seen, of = as_of.open_event(event), event.accepted.of
        open_events.setdefault(of, []).append(seen)
        if seen.key is not None:
            keys.setdefault(of, {})[seen.key] = KeyView(seen.key, seen.event, seen.state)
    dues: dict[Identity, list[int]] = {}
    for (of, _), one in history.schedules.live.items():
        dues.setdefault(of, []).extend(() if one.paused else (one.due,))
    for of in sorted({*history.states, *open_events, *keys, *dues}):
        here, record = open_events.get(of, []), history.states.get(of)
        state = None if record is None else bytes(record.state)
        yield InstanceView(
            Address(as_of.agent, of),
            0 if state is None else len(state),
            len(here),
            min((*_moments(here), *dues.get(of, ())), default=None),
            state,
            [one for _, one in sorted(keys.get(of, {}).items())],
        )


def _moments(events: Sequence[EventView]) -> Iterator[int]:
    """When each event that waits for time goes on."""
    return (one.next_us for one in events if one.next_us is not None)


def _damaged(agent: str, path: str, line: int, reason: str) -> JournalDamaged:
    hint = f"nothing was changed; see what is readable: agentctl inspect journal {agent}"
    return JournalDamaged(path, line, reason, hint=hint)
