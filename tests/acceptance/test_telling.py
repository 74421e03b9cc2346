"""What `run` tells: a line for all that happens to an event, and the user's own lines once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .shop import make_agents
from .support import CRASH, Project

CREW = """
from __future__ import annotations

import logging
import os
import time

from agentctl import Agent, Capability, handler

log = logging.getLogger("crew")


class World(Capability):
    async def work(self, what: str) -> str:
        log.info("working on %s", what)
        if os.environ.get("DIE_IN") == what:
            os._exit(9)
        return what


Real = World


class Bot(Agent):
    world: World

    @handler
    async def go(self) -> None:
        log.info("began")
        first = await self.world.work("one")
        log.info("have %s", first)
        second = await self.world.work("two")
        log.info("have %s", second)

    @handler
    async def slow(self) -> None:
        time.sleep(1.1)
"""


@pytest.fixture
def crew(project: Project) -> Project:
    project.write("crew.py", CREW)
    return make_agents(project, Bot="crew:Bot")


def lines(err: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in err.splitlines()]


def own(err: str) -> list[str]:
    return [line["message"] for line in lines(err) if line["logger"] == "crew"]


def test_what_a_handler_logs_is_not_repeated_when_its_event_is_recovered(crew: Project) -> None:
    died = crew.agentctl("invoke", "Bot", "go", env={"DIE_IN": "two"}).expect(CRASH)
    for told in ("began", "working on one", "have one", "working on two"):
        assert told in died.err
    again = crew.agentctl("run", "--until-idle", "--log-format", "json").expect(0)
    assert own(again.err) == ["working on two", "have two"]


def test_with_vv_what_is_logged_while_replaying_is_shown_too(crew: Project) -> None:
    crew.agentctl("invoke", "Bot", "go", env={"DIE_IN": "two"}).expect(CRASH)
    again = crew.agentctl("run", "--until-idle", "--log-format", "json", "-vv").expect(0)
    assert own(again.err) == ["began", "have one", "working on two", "have two"]


def test_json_lines_say_whose_they_are(crew: Project) -> None:
    crew.agentctl("invoke", "Bot", "go", env={"DIE_IN": "one"}).expect(CRASH)
    told = lines(crew.agentctl("run", "--until-idle", "--log-format", "json", "-v").expect(0).err)
    by_message = {line["message"]: line for line in told}
    at = ("agent", "event", "call")
    called = by_message["Bot-1-1 World.work"]
    assert [called[name] for name in at] == ["Bot", "Bot#1", "Bot-1-1"]
    worked = by_message["working on two"]
    assert [worked[name] for name in at] == ["Bot", "Bot#1", "Bot-1-2"]
    have = by_message["have two"]
    assert [have.get(name) for name in at] == ["Bot", "Bot#1", None]
    for line in told:
        assert line["schema"] == "agentctl.log/1"
        assert line["at"].endswith("Z")


def test_run_tells_a_line_for_the_start_and_the_end_of_an_event(crew: Project) -> None:
    crew.agentctl("invoke", "Bot", "go", env={"DIE_IN": "two"}).expect(CRASH)
    told = [line.split(" ", 1)[1] for line in crew.agentctl("run", "--until-idle").err.splitlines()]
    assert "Bot#1 runs again: go" in told
    assert "Bot#1 completed" in told
    assert not [line for line in told if line.startswith("Bot-1-")], "calls are told with -v only"


def test_run_tells_what_is_stuck_and_set_aside_and_what_to_do(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "broken", "7").expect(1)
    stuck = shop.agentctl("run", "--until-idle").expect(1).err
    assert "Bot#1 is stuck: " in stuck
    assert "mend the code, it runs again at the next start, until it is set aside" in stuck
    shop.until_set_aside(1)
    lies = shop.agentctl("run", "--until-idle").expect(0).err
    assert "put back with: agentctl requeue set-aside Bot" in lies


def test_run_tells_that_an_event_was_cancelled(crew: Project) -> None:
    crew.agentctl("invoke", "Bot", "go", env={"DIE_IN": "two"}).expect(CRASH)
    crew.agentctl("invocation", "cancel", "Bot#1").expect(0)
    told = [line.split(" ", 1)[1] for line in crew.agentctl("run", "--until-idle").err.splitlines()]
    assert "Bot#1 cancelled" in told
    assert not [line for line in told if "stuck" in line]


def test_h8_a_handler_that_blocks_its_turn_is_named(crew: Project) -> None:
    told = crew.agentctl("invoke", "Bot", "slow").expect(0).err
    assert "warning: Bot#1 blocked its turn for 1.1 s" in told
    assert "@blocking" in told
