"""A program on a store that writes down what was promised to it, for the crash tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentctl.storage.faulty import FaultyDisk
from agentctl.storage.memory import memory_store
from agentctl.storage.port import Holder

ME = Holder(pid=1, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")


@dataclass
class Possible:
    """One journal that may be found after a crash: all of it in order, at least `durable`."""

    bodies: list[bytes]
    durable: int = 0

    def allows(self, read: list[bytes]) -> bool:
        return len(read) >= self.durable and read == self.bodies[: len(read)]


@dataclass
class Promises:
    """What the next program must find."""

    journals: list[Possible] = field(default_factory=lambda: [Possible([])])
    set_aside: list[bytes] = field(default_factory=lambda: [b""])
    audit: list[str] = field(default_factory=list)
    audit_durable: int = 0

    @property
    def journal(self) -> Possible:
        return self.journals[-1]


def record(number: int) -> bytes:
    return b'{"event":%d,"handler":"request","args":["%s"]}' % (number, b"x" * (number % 7 * 9))


def open_store(disk):
    return memory_store(disk=disk)


def run(disk: FaultyDisk, promises: Promises, *, events: int = 10) -> None:
    """Start, recover, accept events, set one aside, compact, go on, stop."""
    store = open_store(disk)
    store.lock(ME, 0)
    found = [line.body for line in store.scan().lines]
    assert any(possible.allows(found) for possible in promises.journals), (found, promises)
    rewrite(store, promises, found or [b'{"journal":1,"agent":"Bot","next":1}'], found)
    assert store.read_set_aside() in promises.set_aside
    promises.set_aside = [store.read_set_aside()]
    tail = list(store.audit_tail(1000))
    assert len(tail) >= promises.audit_durable
    assert tail == promises.audit[: len(tail)]
    del promises.audit[len(tail) :]
    first = len(promises.journal.bodies)
    for number in range(first, first + events):
        append(store, promises, [record(number), b'{"start":%d}' % number][: 1 + number % 2])
        if number % 3 == 0:
            sync(store, promises)
            audit(store, promises, [f"accepted {number}"])
        if number == first + 3:
            set_aside(store, promises, b'{"event":%d}\n' % number)
            store.audit_sync()
            promises.audit_durable = len(promises.audit)
            kept = promises.journal.bodies[:1] + promises.journal.bodies[-3:]
            rewrite(store, promises, kept, promises.journal.bodies)
            set_aside(store, promises, b"")
    write_anew(store, promises)
    append(store, promises, [record(99)])
    append(store, promises, [b'{"stop":1}'])
    sync(store, promises)
    store.close()


def append(store, promises, bodies):
    for possible in promises.journals:
        possible.bodies += bodies
    store.append(bodies)


def write_anew(store, promises):
    """Compact while appends go on: at every step something is appended."""
    place = store.sync()
    promises.journal.durable = covered = len(promises.journal.bodies)
    anew = store.anew(place)
    append(store, promises, [record(90)])
    found = [line.body for line in anew.lines()]
    assert found == promises.journal.bodies[:covered]
    append(store, promises, [record(91), record(92)])
    for body in (found[0], *found[-2:]):
        anew.write([body])
    append(store, promises, [record(93)])
    anew.sync()
    store.audit_sync()
    promises.audit_durable = len(promises.audit)
    while anew.copy():
        pass
    sync(store, promises)
    append(store, promises, [record(94)])
    anew.take_over()
    append(store, promises, [record(95)])
    old = promises.journal
    new = [found[0], *found[-2:], *old.bodies[covered:]]
    promises.journals = [Possible(new, len(new)), old]
    append(store, promises, [])
    store.sync()
    promises.journals = promises.journals[:1]
    assert [line.body for line in store.scan().lines] == new


def sync(store, promises):
    count = len(promises.journal.bodies)
    store.sync()
    promises.journal.durable = count


def rewrite(store, promises, bodies, before):
    old = Possible(list(before), max(p.durable for p in promises.journals if p.allows(before)))
    promises.journals = [old, Possible(list(bodies), len(bodies))]
    store.rewrite(bodies)
    del promises.journals[0]


def set_aside(store, promises, content):
    promises.set_aside.append(content)
    store.write_set_aside(content)
    del promises.set_aside[:-1]


def audit(store, promises, lines):
    promises.audit += lines
    store.audit_append(lines)
