"""How agents stand: what one program warns of is told once, also where it runs several agents."""

from __future__ import annotations

from typing import Any

from agentctl.engines.views import CountView, Inside
from agentctl.ops.health import status_of

AT = 1_773_570_600_000_000


class FakeDesk:
    """Agents of one program, which warned of these things."""

    def __init__(self, *warnings: str) -> None:
        self.inside = Inside(AT, [], {}, [], [(AT, text) for text in warnings])  # type: ignore[arg-type]

    def count(self, agent: str) -> CountView:
        return CountView(agent, None, {}, 0, None, 0, 0, inside=self.inside)


def warnings_of(desk: Any, *agents: str) -> dict[str, list[str]]:
    document, _ = status_of(desk, agents, frozenset(), lambda _: "")
    return {
        one.agent: [text.removesuffix(" (2026-03-15T10:30:00.000000Z)") for text in one.warnings]
        for one in document.agents
    }


def test_a_warning_is_told_once_at_the_agent_that_it_names() -> None:
    desk = FakeDesk("Bo#1 blocked its turn", 'Poller("a")#2 blocked its turn', "the disk is slow")
    assert warnings_of(desk, "Bot", "Bo", "Poller") == {
        "Bot": ["the disk is slow"],
        "Bo": ["Bo#1 blocked its turn"],
        "Poller": ['Poller("a")#2 blocked its turn'],
    }


def test_what_another_agent_of_the_program_did_is_told_if_only_one_is_asked_about() -> None:
    assert warnings_of(FakeDesk("Poller#2 blocked"), "Bot") == {"Bot": ["Poller#2 blocked"]}
