"""Forgetting an answer once who asked has it on record (R16)."""

from __future__ import annotations

from agentctl.core.kept import Asking
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.record_moves import ToldRecord


def take_note(agent: AgentRuntime, asking: Asking) -> None:
    """Take note that who asked an agent needs the answer no more; it may be forgotten here."""
    history = agent.history
    number = history.kept.untold.get(asking) or history.asked.get(asking)
    if number is None:
        return
    agent.append(ToldRecord(asking[0], number, at=agent.program.now_us()))
    agent.durable_soon()
    if number in agent.open:
        history.told(agent.open[number])
    else:
        history.kept.told(asking)
