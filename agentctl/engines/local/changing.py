"""Putting set-aside events back, and dropping them, without a program (R10).

The folder's lock is held from before the journal is read until the last write. One batch in the
journal decides; `set-aside` follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from msgspec import Raw

from agentctl.core import set_aside
from agentctl.core.history import JournalHistory
from agentctl.core.set_aside import SetAsideEvent
from agentctl.engines.local import moving, recovery
from agentctl.engines.local.options import random_part
from agentctl.engines.port import Requeued, RequeueRequest
from agentctl.errors import NotFound, UsageError
from agentctl.names import Address, is_agent_name
from agentctl.records import AsideRecord, DropRecord, decode, encode
from agentctl.storage.files.disk import Disk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import this_program
from agentctl.storage.files.places import agent_folder
from agentctl.times import Clock
from agentctl.value_errors import clean

DROP_LOCK_WAIT_S = 5.0


class Changing:
    """What changes an agent's folder from outside a program."""

    def __init__(self, root: Path, clock: Clock, disk: Disk) -> None:
        self._root = root
        self._clock = clock
        self._disk = disk

    @contextmanager
    def _opened(self, agent: str, wait_s: float) -> Iterator[recovery.Opened]:
        if not is_agent_name(agent) or self._disk.kind(agent_folder(self._root, agent)) != "folder":
            raise NotFound(
                f"{agent} has no folder: it never ran here", hint="look at: agentctl run"
            )
        store = FilesStore(self._root, agent, self._disk, clock=self._clock)
        store.lock(this_program("agentctl", self._clock), wait_s)
        try:
            yield recovery.read(agent, store)
        finally:
            store.close()

    def requeue(self, request: RequeueRequest) -> Sequence[Requeued]:
        """Put set-aside events back (R10).

        Raises:
            NotFound: there is none, or not this one.
            UsageError: several, and none was named; edited arguments without `fresh`.
            Locked: a program holds the folder.
        """
        with self._opened(request.agent, request.lock_wait_s) as opened:
            chosen = self._choose(opened, request)
            if not request.fresh:
                for event in chosen:
                    _refuse_edited(event, opened.history)
            return self._requeue(opened, chosen, request)

    def _choose(self, opened: recovery.Opened, request: RequeueRequest) -> Sequence[SetAsideEvent]:
        path = f"{opened.store.path}/set-aside"
        lying = set_aside.parse(opened.store.read_set_aside(), path)
        there = {one.number: one for one in lying if one.number in opened.history.asides}
        agent = request.agent
        if not there:
            what = ", ".join(f"{agent}#{number}" for number in request.events)
            raise NotFound(
                f"{what} isn't set aside" if what else f"nothing of {agent} is set aside",
                hint=f"nothing of {agent} is; see: agentctl inspect set-aside {agent}",
            )
        known = ", ".join(f"{agent}#{number}" for number in there)
        for number in request.events:
            if number not in there:
                raise NotFound(f"{agent}#{number} isn't set aside", hint=f"set aside are: {known}")
        if request.events:
            return [there[number] for number in dict.fromkeys(request.events)]
        if len(there) > 1 and not request.every:
            raise UsageError(
                f"several events are set aside: {known}", hint="name one, or give --all"
            )
        return list(there.values())

    def _requeue(
        self, opened: recovery.Opened, chosen: Sequence[SetAsideEvent], request: RequeueRequest
    ) -> Sequence[Requeued]:
        done: list[Requeued] = []
        bodies: list[bytes] = []
        now_us, fresh_number = self._clock.now_us(), opened.history.next_event
        for event in chosen:
            aside = opened.history.asides[event.number]
            if request.fresh:
                bodies += _fresh(event, fresh_number, request.args, now_us)
                done.append(_as_fresh(request.agent, event, fresh_number, aside))
                fresh_number += 1
            else:
                bodies += set_aside.requeue_bodies(event, aside, now_us)
                was = Address(request.agent, event.of, event.number)
                done.append(Requeued(was, None, ()))
        if not request.dry_run:
            numbers = frozenset(event.number for event in chosen)
            self._commit(opened, request.agent, bodies, numbers)
        return done

    def _commit(
        self, opened: recovery.Opened, agent: str, bodies: Sequence[bytes], gone: frozenset[int]
    ) -> None:
        """One batch in the journal decides; then `set-aside` follows."""
        store, header, now_us = opened.store, opened.history.header, self._clock.now_us()
        assert header is not None  # something is set aside, so there is a journal
        if header.audit:
            recovery.complete_audit(opened)
        by = recovery.Rewriting(agent, header.id, now_us, start=False, audit=header.audit)
        recovery.rewrite(opened, by)
        moving.commit(store, agent, [decode(body) for body in bodies], audit=header.audit)
        # Crash here: the journal has it; the next start takes the lines out of `set-aside`.
        path = f"{store.path}/set-aside"
        rest = [e for e in set_aside.parse(store.read_set_aside(), path) if e.number not in gone]
        store.write_set_aside(set_aside.render(rest))

    def drop(self, agent: str, event: int, reason: str) -> None:
        """Remove a set-aside event for good.

        Raises:
            NotFound: it isn't set aside.
            Locked: a program holds the folder.
        """
        with self._opened(agent, DROP_LOCK_WAIT_S) as opened:
            self._choose(opened, RequeueRequest(agent, events=(event,)))
            of = opened.history.asides[event].of
            record = DropRecord(event, clean(reason), of, at=self._clock.now_us())
            self._commit(opened, agent, [encode(record)], frozenset([event]))


def _fresh(event: SetAsideEvent, number: int, args: bytes | None, now_us: int) -> list[bytes]:
    if args is not None:
        event = replace(event, args=Raw(args), kwargs=None)
    return set_aside.fresh_bodies(event, number, random_part(), now_us)


def _as_fresh(agent: str, event: SetAsideEvent, number: int, aside: AsideRecord) -> Requeued:
    was = Address(agent, event.of, event.number)
    twice = [*event.finished_calls, *set_aside.calls_under_way(event, aside)]
    return Requeued(replace(was, event=number), was, twice)


def _refuse_edited(event: SetAsideEvent, history: JournalHistory) -> None:
    gone = sorted(history.asides[event.number].times.keys() - event.outcomes)
    if gone:
        raise UsageError(
            f"the outcomes of {', '.join(gone)} were taken out of set-aside: "
            "what was done would be done again",
            hint="put the lines back; or requeue it as a new event: --fresh",
        )
    if event.edited(history.asides[event.number]):
        raise UsageError(
            f"the line of event {event.number} in set-aside was edited: "
            "its recorded calls belong to what it was before",
            hint="requeue it as a new event: --fresh",
        )
