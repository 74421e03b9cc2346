"""Forgetting an answer once who asked has it on record (R16)."""

from __future__ import annotations

from agentctl.core.kept import Asking
from agentctl.engines.local.running.agent import AgentRuntime


def take_note(agent: AgentRuntime, asking: Asking) -> None:
    """Take note that who asked an agent needs the answer no more; it may be forgotten here."""
    record = agent.history.told_record(asking, agent.program.now_us())
    if record is None:
        return
    agent.append(record)
    # Crash here: it may not be durable; the asker's next start says it again.
    agent.durable_soon()
    agent.history.take_told(record)
