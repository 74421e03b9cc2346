"""Leaving an event in the journal of an agent that no program runs: it begins at the next start."""

from __future__ import annotations

from agentctl.core.event_history import EventHistory
from agentctl.engines.changes import Accepted
from agentctl.engines.local.changing.cold import ColdGround
from agentctl.engines.local.changing.operations import answered
from agentctl.engines.local.options import random_part
from agentctl.engines.local.running.accepting import Wanted, find_same
from agentctl.names import Address, Identity
from agentctl.record_kept import OutcomeRecord
from agentctl.records import Record


def leave(ground: ColdGround, wanted: Wanted) -> Accepted:
    """Accept an event, or find the one that its key stands for; it is durable on return.

    Raises:
        KeyReused, SetAside: the key stands for something else, or for what is set aside.
    """
    same = find_same(ground.agent, ground.history, wanted)
    if same is not None:
        number = same.outcome if isinstance(same, OutcomeRecord) else same
        return Accepted(_address(ground, wanted.identity, number), joined=True)
    number = ground.history.next_event
    done = Accepted(_address(ground, wanted.identity, number))
    record = wanted.record(number, random_part(), ground.now_us())
    records: list[Record] = []
    if wanted.request:
        # In front: a write that a crash cuts short must not leave the event without it.
        records += answered(ground, (wanted.request, "invoke"), done)
    ground.commit([*records, record])
    # Crash here: accepted; the next start runs it.
    ground.history.begin(EventHistory(record, b""))
    return done


def _address(ground: ColdGround, of: Identity, number: int) -> str:
    return str(Address(ground.agent, of, number))
