"""What stands in kavach.toml fits the code, or the line is named before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentctl import Agent, Capability, handler
from agentctl.core.timing import Timing
from agentctl.engines.schedules import SetRequest
from agentctl.errors import ProjectError, UsageError
from agentctl.ops.filed import filed
from agentctl.ops.programs import load_agents
from agentctl.project.config import Flags, load_project
from agentctl.project.loading import LoadedAgent
from agentctl.sdk.settings import AgentSettings


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


SCHEDULE = """\
[agents.Bot]
class = "bot:Bot"

[schedules.daily]
agent = "Bot"
every = "1h"
handler = "request"
"""


class Poller(Agent):
    number: int

    @handler
    async def poll(self, url: str = "") -> None: ...


def ask(folder: Path, toml: str, *settings: str) -> Sequence[SetRequest]:
    (folder / "kavach.toml").write_text(toml, encoding="utf-8")
    project = load_project(folder, flags=Flags(settings=settings), environ={})
    known: dict[str, type[Agent]] = {"Bot": Bot, "Poller": Poller}
    agents = [LoadedAgent(known[name], {}, AgentSettings(), {}) for name in project.agents]
    return filed(project, agents)


def test_a_schedule_of_the_file_is_asked_for_with_its_source(tmp_path: Path) -> None:
    (asked,) = ask(tmp_path, SCHEDULE + "args = [7]\n")
    assert (asked.agent, asked.handler, asked.args) == ("Bot", "request", (7,))
    assert (asked.timing, asked.source) == (Timing("daily", period_us=3_600_000_000), "file")


def test_only_those_of_the_agents_that_run_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "kavach.toml").write_text(SCHEDULE, encoding="utf-8")
    project = load_project(tmp_path, flags=Flags(), environ={})
    assert filed(project, []) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("request", "reqest", 7, "schedules.daily.handler: .*'reqest'"),
        ("", "", 4, "schedules.daily.args: .*order_id"),
        ('every = "1h"', 'every = "1h"\nargs = ["seven"]', 7, "schedules.daily.args: "),
        ('every = "1h"', 'every = "1h"\nargs = [7]\ninstances = ["x"]', 8, "daily.instances: Bot "),
        (
            'every = "1h"\nhandler = "request"',
            'handler = "poll"\nevery = "1h"\ninstances = ["7", "07"]',
            8,
            "daily.instances: Poller/7 stands there twice",
        ),
    ],
)
def test_a_schedule_that_doesnt_fit_the_code_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, says: str
) -> None:
    toml = SCHEDULE.replace(old, new) if old else SCHEDULE
    if "poll" in new:
        toml = toml.replace("Bot", "Poller")
    with pytest.raises(ProjectError, match=rf"kavach\.toml:{line}: .*{says}"):
        ask(tmp_path, toml)


def test_one_that_set_made_wrong_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--set schedules\.daily\.args"):
        ask(tmp_path, SCHEDULE + "args = [7]\n", 'schedules.daily.args=["x"]')
