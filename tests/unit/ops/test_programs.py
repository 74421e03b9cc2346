"""What stands in kavach.toml fits the code, or the line is named before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentctl import Agent, Capability, handler
from agentctl.errors import ProjectError
from agentctl.ops.programs import load_agents
from agentctl.project.config import Flags, load_project
from agentctl.project.loading import LoadedAgent


class Payments(Capability):
    async def refund(self, order_id: int) -> str:
        return f"r{order_id}"


class Bot(Agent):
    payments: Payments

    @handler
    async def request(self, order_id: int) -> str:
        return await self.payments.refund(order_id)


@pytest.fixture
def denying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load a project that denies one call."""

    def load(call: str) -> Any:
        toml = f'[agents.Bot]\nclass = "bot:Bot"\n\n[agents.Bot.deny]\n"{call}" = "audit"\n'
        (tmp_path / "kavach.toml").write_text(toml, encoding="utf-8")
        loaded = LoadedAgent(Bot, {"payments": Payments()}, Bot.settings, {call: "audit"})
        monkeypatch.setattr("agentctl.ops.programs.load_agent", lambda project, name: loaded)
        return load_agents(load_project(tmp_path, flags=Flags(), environ={}), ["Bot"])

    return load


@pytest.mark.parametrize("call", ["payments.refnd", "payment.refund", "payments._secret"])
def test_a_denied_call_that_doesnt_exist_is_refused_with_its_line(denying: Any, call: str) -> None:
    with pytest.raises(
        ProjectError, match=rf"kavach\.toml:5: .*Bot has no call '{call}'"
    ) as caught:
        denying(call)
    assert "payments.refund" in str(caught.value.hint)


def test_a_denied_call_that_exists_is_taken(denying: Any) -> None:
    assert [one.deny for one in denying("payments.refund")] == [{"payments.refund": "audit"}]
