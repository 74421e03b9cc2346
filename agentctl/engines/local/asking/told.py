"""Forgetting an answer once who asked has it on record (R16)."""

from __future__ import annotations

from agentctl.core.kept import Asking
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.record_moves import ToldRecord


def take_note(agent: AgentRuntime, asking: Asking) -> None:
    """Take note that who asked an agent needs the answer no more; it may be forgotten here."""
    history = agent.history
    number = history.event_for(asking)
    if number is None:
        return
    agent.append(ToldRecord(asking[0], number, at=agent.program.now_us()))
    # Crash here: it may not be durable; the asker's next start says it again.
    agent.durable_soon()
    history.told(agent.open.get(number) or history.kept.events[number])
