"""R8, R9: completed, failed, or stuck; what is dropped, and what may or may not have happened."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agentctl import (
    Agent,
    AgentError,
    Capability,
    bind,
    handler,
    sleep,
    timeout,
    uses,
)
from agentctl.engines.port import Ended
from agentctl.errors import CallFailed, Stuck
from agentctl.names import Address
from agentctl.storage.faulty import SimulatedDeath


class Declined(AgentError):
    pass


class Picky(Exception):
    """Can't be built from its recorded arguments: it takes three."""

    def __init__(self, code: int, reason: str, who: str) -> None:
        super().__init__(f"{code} {reason} {who}")


class Api(Capability):
    async def get(self, what: str) -> str: ...


class Real(Api):
    def __init__(self, *die_at):
        self.made = []
        self.die_at = set(die_at)
        self.gate = asyncio.Event()

    def _note(self, what):
        self.made.append(what)
        if what in self.die_at:
            raise SimulatedDeath

    async def get(self, what: str) -> str:
        self._note(what)
        if what == "declined":
            raise Declined("no")
        if what == "value error":
            raise ValueError("bad")
        if what == "picky":
            raise Picky(7, "no", "me")
        if what == "never":
            await self.gate.wait()
        return what


class Bot(Agent):
    api: Api
    narrow: Api = uses("get")

    @handler
    async def get(self, what: str) -> str:
        return await self.api.get(what)

    @handler
    async def caught(self, what: str) -> str:
        try:
            await self.api.get(what)
        except Exception as error:
            return f"{type(error).__module__}.{type(error).__qualname__}: {error}"
        return "nothing"

    @handler
    async def own(self, kind: str) -> str:
        if kind == "declared":
            raise Declined("mine")
        if kind == "bug":
            raise KeyError("total")
        if kind == "group":
            raise ExceptionGroup("both", [Declined("a"), TimeoutError("b")])
        if kind == "mixed group":
            raise ExceptionGroup("both", [Declined("a"), KeyError("b")])
        if kind == "nested group":
            raise ExceptionGroup("out", [ExceptionGroup("in", [Declined("a")])])
        if kind == "cancelled":
            raise asyncio.CancelledError
        async with timeout(5):
            await sleep(10)
        return ""

    @handler(fails_on=(LookupError,))
    async def lenient(self) -> None:
        raise KeyError("total")

    @handler
    async def chained(self) -> str:
        try:
            return await self.api.get("value error")
        except ValueError as error:
            raise RuntimeError("wrapped") from error

    @handler
    async def group(self, one: str, other: str) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name in (one, other):
                tasks.create_task(self._part(name))

    async def _part(self, name: str) -> None:
        if name == "bug":
            raise KeyError("total")
        await self.api.get(name)

    @handler
    async def leaves_branches(self) -> str:
        async def branch() -> None:
            try:
                await self.api.get("never")
            finally:
                await self.api.get("clean-up")

        self._kept = asyncio.create_task(branch(), name="the branch")
        await self.api.get("x")
        return "returned"

    @handler
    async def waits_for_nothing(self) -> None:
        await asyncio.get_running_loop().create_future()


def run(world, handler_name, *args, api=None, **options):
    api = api or Real()
    return world.invoke(bind(Bot, api=api, narrow=api, **options), handler_name, *args)


@pytest.mark.parametrize(
    ("kind", "status", "text"),
    [
        ("declared", "failed", "mine"),
        ("timeout", "failed", ""),
        ("group", "failed", "both (2 sub-exceptions)"),
        ("nested group", "failed", "out (1 sub-exception)"),
        ("bug", "stuck", "KeyError: 'total'"),
        ("mixed group", "stuck", "both (2 sub-exceptions)"),
        ("cancelled", "stuck", ""),
    ],
)
def test_r8_what_ends_an_event_and_what_makes_it_stuck(world, kind, status, text):
    ended = run(world, "own", kind)
    assert ended.status == status
    assert text in ended.text


def test_r8_a_handler_can_name_errors_that_end_it(world):
    assert run(world, "lenient").status == "failed"


@pytest.mark.parametrize("what", ["declined", "value error", "picky"])
def test_r8_an_error_that_came_out_of_a_call_ends_the_event(world, what):
    assert run(world, "get", what).status == "failed"


def test_r8_an_error_made_of_another_by_the_handler_is_a_bug(world):
    assert run(world, "chained").status == "stuck"


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        ("declined", "value error", "failed"),
        ("declined", "bug", "stuck"),
        ("x", "bug", "stuck"),
        ("x", "y", "completed"),
    ],
)
def test_h10_a_task_group_fails_by_declared_errors_and_is_stuck_by_a_bug(world, one, other, status):
    assert run(world, "group", one, other).status == status


def test_a_bug_names_the_line_and_runs_on_with_a_mended_program(world):
    ended = run(world, "own", "bug")
    assert ended.line is not None
    assert ended.line.startswith("tests/unit/engine/test_endings.py:")
    line = int(ended.line.rpartition(":")[2])
    assert "KeyError" in Path(__file__).read_text().splitlines()[line - 1]


def test_a_stuck_event_s_caller_gets_the_bug_as_its_cause(world):
    api = Real()
    with pytest.raises(Stuck, match="Bot#1 is stuck: KeyError: 'total'") as stuck:
        world.run(Bot, "own", "bug", api=api, narrow=api)
    assert isinstance(stuck.value.__cause__, KeyError)
    assert stuck.value.hint


def test_a_failed_event_s_caller_gets_the_error_itself(world):
    api = Real()
    with pytest.raises(Declined, match="no"):
        world.run(Bot, "get", "declined", api=api, narrow=api)
    with pytest.raises(CallFailed, match="Picky: 7 no me"):
        world.run(Bot, "get", "picky", api=api, narrow=api)


def test_p6_an_error_that_can_t_be_built_again_is_the_same_in_both_runs(world, request_of):
    first = run(world, "caught", "picky")
    assert json.loads(first.result).startswith("agentctl.errors.CallFailed: ")
    assert json.loads(first.result).endswith("Picky: 7 no me")

    class Then(Agent):
        api: Api

        @handler
        async def run(self) -> str:
            try:
                await self.api.get("picky")
            except Exception as error:
                seen = f"{type(error).__name__}: {error}"
            await self.api.get("kill")
            return seen

    api = Real("kill")
    world.dies(bind(Then, api=api), requests=[request_of(Then, "run")])
    api.die_at.clear()
    world.start(bind(Then, api=api))
    (done,) = [one for one in world.records("Then") if "done" in one]
    assert done["value"].startswith("CallFailed: ")
    assert done["value"].endswith("Picky: 7 no me")
    assert api.made == ["picky", "kill", "kill"]


def test_p6_an_error_of_a_known_type_is_of_that_type_in_both_runs(world):
    assert json.loads(run(world, "caught", "value error").result) == "builtins.ValueError: bad"
    assert json.loads(run(world, "caught", "declined").result).endswith("Declined: no")


def test_r8_branches_still_running_are_cancelled_cleaned_up_and_named_in_a_warning(world):
    api = Real()
    ended = run(world, "leaves_branches", api=api)
    assert ended.status == "completed"
    # Whether the branch's own call had begun by then is nobody's promise.
    assert [one for one in api.made if one != "never"] == ["x", "clean-up"]
    assert any("the branch" in text for text in world.heard.warnings)
    kinds = world.kinds()
    assert kinds.index("dropped") < kinds.index("done")


def test_r8_waiting_for_what_nothing_can_bring_about_is_stuck(world):
    ended = run(world, "waits_for_nothing")
    assert ended.status == "stuck"
    assert "nothing can bring about" in ended.text


def test_k14_a_failure_after_a_restart_leaves_an_audit_line_and_is_told(world, request_of):
    class Late(Agent):
        api: Api

        @handler
        async def run(self) -> None:
            await self.api.get("kill")
            raise Declined("too late")

    api = Real("kill")
    world.dies(bind(Late, api=api), requests=[request_of(Late, "run")])
    api.die_at.clear()
    world.start(bind(Late, api=api))
    assert world.heard.ends == [("Late#1", "failed", False)]
    log = world.folder_file("audit.log", "Late").splitlines()
    assert any(
        line.endswith("Declined: too late)") and " Late failed: event #1 of run (" in line
        for line in log
    )
    twin = world.after_kill()
    twin.start(bind(Late, api=api))
    assert twin.heard.starts == []


def test_k14_without_a_listener_a_failure_that_nobody_waited_for_goes_to_stderr(
    world, request_of, caplog
):
    from agentctl.engines.local.log import LogListener

    world.dies(
        bind(Bot, api=(api := Real("declined")), narrow=api),
        requests=[request_of(Bot, "get", "declined")],
    )
    api.die_at.clear()

    async def life():
        world.heard = LogListener()
        async with world.host(bind(Bot, api=api, narrow=api)) as host:
            await host.idle(float("inf"))

    with caplog.at_level("ERROR", "agentctl"):
        asyncio.run(life())
    assert any("Bot#1 failed" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("end", "level", "said"),
    [
        (Ended(Address("Bot", (), 1), "get", "cancelled"), "INFO", "Bot#1 cancelled"),
        (
            Ended(Address("Bot", (), 1), "get", "missed", text="it was due 3h ago"),
            "WARNING",
            "Bot#1 was missed: it was",
        ),
        (
            Ended(Address("Bot", (), 1), "get", "stuck", text="KeyError"),
            "ERROR",
            "Bot#1 is stuck: KeyError",
        ),
    ],
)
def test_without_a_listener_each_end_is_told_in_its_own_word(caplog, end, level, said):
    from agentctl.engines.local.log import LogListener

    with caplog.at_level("INFO", "agentctl"):
        LogListener().ended(end, heard=False)
    (record,) = caplog.records
    assert (record.levelname, record.getMessage().startswith(said)) == (level, True)
