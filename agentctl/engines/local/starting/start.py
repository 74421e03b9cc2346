"""What a start does across the agents of one program: read, decide, rewrite, set aside (R3, R10).

All journals are read before the first is changed: whose turn it is, and who is set aside, is
decided across all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentctl.core.audit import audit_lines
from agentctl.core.compaction import Keeping
from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.core.suspicion import EventId, StartPlan, plan_start
from agentctl.engines.local.options import random_part
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.engines.local.running.binding import Binding
from agentctl.engines.local.running.fitting import why_unable
from agentctl.engines.local.running.instances import goes_first
from agentctl.engines.local.running.program import ProgramCore
from agentctl.engines.local.starting import moving, recovery
from agentctl.engines.port import Recovered
from agentctl.names import Address
from agentctl.record_moves import AsideRecord, CancelledRecord
from agentctl.records import encode
from agentctl.sdk.settings import AgentSettings
from agentctl.storage.port import Store
from agentctl.times import to_us


def start_agents(
    bindings: Mapping[str, Binding[Any]],
    stores: Mapping[str, Store],
    program: ProgramCore,
    *,
    counts: bool,
) -> tuple[dict[str, AgentRuntime], list[Recovered]]:
    """Open every agent's journal and queue what is unfinished; nothing of it runs yet.

    Args:
        counts: this start counts for who is set aside (R10).

    Raises:
        JournalDamaged, FormatTooNew: a journal can't be trusted; nothing was changed.
        DiskTrouble: a journal can't be written.
    """
    opened = {
        name: recovery.read(name, store, bindings[name].settings.keep)
        for name, store in stores.items()
    }
    histories = {name: one.history for name, one in opened.items()}
    most = {name: binding.settings.max_starts for name, binding in bindings.items()}
    plan = plan_start(histories, most) if counts else StartPlan()
    program.counted = plan.counted
    agents: dict[str, AgentRuntime] = {}
    recovered = []
    for name in sorted(opened):
        moved = _open(bindings[name], opened[name], plan, program)
        agents[name] = AgentRuntime(
            bindings[name], opened[name].store, opened[name].history, program
        )
        recovered.append(_found(agents[name], opened[name], moved))
    ready: set[EventId] = set()
    for name, agent in agents.items():
        suspects = frozenset(number for owner, number in plan.turns if owner == name)
        ready.update((name, number) for number in _queue(agent, suspects))
    program.take_turns([event for event in plan.turns if event in ready])
    return agents, recovered


def _queue(agent: AgentRuntime, suspects: frozenset[int]) -> frozenset[int]:
    """Queue what is on record: those that held their instance first, then by number.

    Returns:
        The suspects that can take turns: who waits for an instance begins with it.
    """
    ready: set[int] = set()
    events = sorted(agent.open.values(), key=lambda one: (not goes_first(one), one.number))
    for event in events:
        event.bodies.clear()  # they were for the rewrite
        if event.number not in suspects:
            agent.queue_in_time(event)
        elif agent.may_begin(event.accepted):
            ready.add(event.number)
    return frozenset(ready)


def _open(
    binding: Binding[Any], opened: recovery.Opened, plan: StartPlan, program: ProgramCore
) -> list[EventHistory]:
    """Rewrite one journal, and set aside what is to be; returns that."""
    name, history, store = binding.spec.name, opened.history, opened.store
    audit = binding.settings.audit
    if audit:
        recovery.complete_audit(opened)
    suspects = [history.open[number] for owner, number in plan.set_aside if owner == name]
    moved = [event for event in suspects if event.cancel is None]
    now_us = max(program.now_us(), history.latest_us)
    recovery.rewrite(
        opened,
        recovery.Rewriting(
            name,
            random_part() + random_part(),
            now_us,
            start=True,
            audit=audit,
            leaving=len(suspects),
            keep=binding.settings.keep,
            keeping=_keeping(binding.settings),
        ),
    )
    # Only now: `set-aside` must not follow records that a power cut could still take.
    moves, trouble = moving.reconcile(store, history, moved, now_us)
    if trouble is not None:
        program.listener.warned(f"{trouble.message}; {trouble.hint}")
    moving.commit(store, name, moves, history, audit=audit)
    _take_note(history, moves)
    _end_cancelled(opened, name, [event for event in suspects if event not in moved], now_us)
    return moved


def _keeping(settings: AgentSettings) -> Keeping:
    return Keeping(to_us(settings.retention), to_us(settings.keep_failed))


def _take_note(history: JournalHistory, moves: list[Any]) -> None:
    for record in moves:
        if isinstance(record, AsideRecord):
            history.set_aside(history.open[record.aside], record)
        else:
            del history.asides[record.drop]


def _end_cancelled(
    opened: recovery.Opened, name: str, events: list[EventHistory], now_us: int
) -> None:
    """End cancelled events whose clean-up kills the program: it isn't tried again."""
    for event in events:
        record = CancelledRecord(event.number, ran=True, at=now_us)
        opened.store.append([encode(record)])
        opened.store.sync()
        if opened.history.header is not None and opened.history.header.audit:
            opened.store.audit_append(audit_lines(name, record, event.accepted))
        event.end = record
        opened.history.finish(event, record)


def _found(agent: AgentRuntime, opened: recovery.Opened, moved: list[EventHistory]) -> Recovered:
    name, history = agent.name, opened.history
    aside = {one.number for one in moved}
    addresses = {number: agent.address(one.accepted) for number, one in history.open.items()}
    fit = ((n, why_unable(agent.spec, one.accepted)) for n, one in history.open.items())
    return Recovered(
        name,
        opened.store.path,
        list(addresses.values()),
        [agent.address(one.accepted) for one in moved],
        [(addresses[number], why) for number, why in fit if why is not None],
        opened.cut,
        [
            Address(name, one.of, number)
            for number, one in sorted(history.asides.items())
            if number not in aside
        ],
        [addresses[number] for number, one in history.open.items() if one.started_us is None],
    )
