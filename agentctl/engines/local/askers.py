"""What the asked and the asking side of a question tell each other once it is answered (R16)."""

from __future__ import annotations

from agentctl.core.kept import Asking
from agentctl.engines.local.agent import AgentRuntime
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


def tell_again(agent: AgentRuntime) -> None:
    """Say which answers an agent has on record, in case a crash kept them from being told of.

    Those of kept events, which had ended; an open one tells when it is replayed.
    """
    told: dict[str, list[Asking]] = {}
    for event in agent.history.kept.events.values():
        for path, call in event.calls.items():
            if call.fn == "ask" and call.to is not None:
                asking = (agent.key(event.accepted, path), event.accepted.nonce)
                told.setdefault(call.to.partition("/")[0], []).append(asking)
    for name, askings in told.items():
        agent.program.tell(name, askings)
