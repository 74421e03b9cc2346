"""What waits for a person, answered from a second process: with a program, without one, at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .desk import GATES, closing, ends_on_record, open_gate, serve, submit, until_noted, until_state
from .support import Project, Result

OFFICE = """
from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from datetime import date

import asyncio

from agentctl import (
    Agent, Capability, Secret, WaitForInput, call_key, handler, question, resume_input, step,
    wait_for_input,
)
from gates import is_open
from ledger import note


@dataclass
class Terms:
    amount: int
    due: date
    token: Secret[str] | None = None


class World(Capability):
    @abstractmethod
    async def pay(self, order: str, amount: int) -> None: ...

    @abstractmethod
    async def post(self, order: str, key: str) -> None: ...


class Real(World):
    async def pay(self, order: str, amount: int) -> None:
        note("pay", order, amount)

    async def post(self, order: str, key: str) -> None:
        note("post", order, key)
        while not is_open(order):
            await asyncio.sleep(0.01)


class Office(Agent):
    world: World

    @handler
    async def refund(self, order: str, seconds: float = 3600) -> str:
        ask = await question(f"refund {order}?", bool, timeout=seconds)
        await self.world.post(order, ask.key)
        try:
            if not await ask:
                return "refused"
        except TimeoutError:
            return "nobody decided"
        await self.world.pay(order, 900)
        return "refunded"

    @handler
    async def terms(self, order: str) -> int:
        asked = await wait_for_input(f"terms of {order}?", Terms)
        await self.world.pay(order, asked.amount)
        return asked.amount

    @handler
    async def both(self) -> str:
        one, two = await question("one?", str), await question("two?", str)
        return await one + await two

    @handler
    async def stepwise(self, order: str) -> str:
        return await step("sign", self.signed, order)

    async def signed(self, order: str) -> str:
        note("step", order)
        if (by := resume_input(str)) is None:
            raise WaitForInput(f"who signs {order}?", str)
        return by
"""


def make_office(project: Project) -> Project:
    project.write("gates.py", GATES)
    project.write("office.py", OFFICE)
    project.write(
        "kavach.toml",
        """
        [agents.Office]
        class = "office:Office"

        [agents.Office.capabilities]
        world = "office:Real"

        [agents.Office.settings]
        audit = true
        grace = "100ms"
        """,
    )
    return project


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A module's office, whose program runs; its tests use orders of their own."""
    with closing(make_office(Project.create(tmp_path_factory.mktemp("office")))) as project:
        serve(project, watched="Office")
        yield project


def key_of(event: str, path: str = "1") -> str:
    return f"{event.replace('#', '-')}-{path}"


def decide(project: Project, verb: str, *words: str) -> Result:
    return project.agentctl("approval", verb, *words)


def answers(project: Project, event: str) -> list[object]:
    number = event.partition("#")[2]
    return [
        record["value"]
        for record in project.records("Office")
        if str(record.get("answer", "")).startswith(f"{number}-")
    ]


def test_a_person_sees_what_waits_and_decides_beside_the_program(office: Project) -> None:
    event = submit(office, "Office", "refund", "beside")
    open_gate(office, "beside")
    until_state(office, event, "waiting")
    key = key_of(event)
    assert office.ledger("post beside") == [f"post beside {key}"]
    listed = office.agentctl("approval", "list", "--json").json["approvals"]
    (seen,) = [one for one in listed if one["call"] == key]
    assert (seen["question"], seen["type"], seen["status"]) == ("refund beside?", "bool", "waiting")
    assert seen["until"] > seen["asked"]
    told = decide(office, "approve", key, "--as", "ana", "--note", "as agreed").expect(0)
    assert (told.out, told.err) == (f"approved {key}\n", "")
    until_state(office, event, "completed")
    assert office.ledger("pay beside") == ["pay beside 900"]
    assert f"Office asked: {key}: refund beside? (bool, until {seen['until']})" in (
        office.audit("Office")
    )
    assert f"Office answered: {key} by ana: true (as agreed)" in office.audit("Office")
    second = decide(office, "deny", key, "--as", "bob")
    second.expect_error(4, f"{key} is already decided: by ana")
    assert answers(office, event) == [True]


def test_q15_an_answer_before_the_handler_waits_is_kept_and_given(office: Project) -> None:
    event = submit(office, "Office", "refund", "early")
    until_noted(office, "post early")
    decide(office, "deny", event).expect(0)
    decide(office, "approve", event).expect_error(4, "already decided")
    open_gate(office, "early")
    until_state(office, event, "completed")
    assert office.ledger("pay early") == []


def test_q15_two_at_once_decide_once(office: Project) -> None:
    open_gate(office, *(f"race{number}" for number in range(3)))
    for number in range(3):
        event = submit(office, "Office", "refund", f"race{number}")
        until_state(office, event, "waiting")
        pair = [
            office.start_agentctl("approval", verb, key_of(event)) for verb in ("approve", "deny")
        ]
        codes = [one.end().code for one in pair]
        assert sorted(codes) == [0, 4]
        until_state(office, event, "completed")
        assert answers(office, event) == [codes[0] == 0]
        assert len(office.ledger(f"pay race{number}")) == (codes[0] == 0)


def test_q15_input_of_a_wrong_type_is_refused_and_the_right_one_is_read(office: Project) -> None:
    event = submit(office, "Office", "terms", "typed")
    until_state(office, event, "waiting")
    key = key_of(event)
    resume = ("invocation", "resume", key, "--input")
    for text, said in (
        ("5", "answer: expected Terms"),
        ('{"amount": "5", "due": "2026-01-01"}', "answer.amount: expected int"),
        ('{"amount": 5, "due": "soon"}', "answer.due: expected date"),
        ('{"amount": 5}', "'due' is missing"),
    ):
        office.agentctl(*resume, text).expect_error(2, key, said)
    decide(office, "approve", key).expect_error(2, f"agentctl invocation resume {key} --input JSON")
    assert answers(office, event) == []
    given = '{"amount": 5, "due": "2026-01-01", "token": "hunter2"}'
    assert office.agentctl(*resume, given).expect(0).out == f"resumed {key}\n"
    until_state(office, event, "completed")
    assert office.ledger("pay typed") == ["pay typed 5"]
    assert answers(office, event) == [
        {"amount": 5, "due": "2026-01-01", "token": {"$secret": "hunter2"}}
    ]
    assert "hunter2" not in "".join(office.audit("Office"))


def test_q15_of_two_open_questions_one_must_be_named(office: Project) -> None:
    event = submit(office, "Office", "both")
    until_state(office, event, "waiting")
    one, two = key_of(event, "1"), key_of(event, "2")
    resume = ("invocation", "resume")
    office.agentctl(*resume, event, "--input", "x").expect_error(2, one, two)
    office.agentctl(*resume, two, "--input", "b").expect(0)
    office.agentctl(*resume, event, "--input", "-", stdin="a\n").expect(0)
    assert office.agentctl("invocation", "wait", event).expect(0)
    shown = office.agentctl("invocation", "show", event, "--json").json
    assert shown["result"] == "ab"
    assert [one["state"] for one in shown["calls"]] == ["answered", "answered"]
    office.agentctl(*resume, "Office#999", "--input", "x").expect_error(3)


def test_a_step_that_waits_runs_again_with_its_input(office: Project) -> None:
    event = submit(office, "Office", "stepwise", "contract")
    until_state(office, event, "waiting")
    rows = [line.split("\t") for line in office.agentctl("approval", "list").out.splitlines()]
    (row,) = [row for row in rows if row[0] == key_of(event)]
    assert (row[1], row[4]) == ("str", "who signs contract?")
    office.agentctl("invocation", "resume", event, "--input", "ana").expect(0)
    until_state(office, event, "completed")
    shown = office.agentctl("invocation", "show", event, "--json").json
    assert shown["result"] == "ana"
    assert office.ledger("step contract") == ["step contract"] * 2


def test_nobody_answers_in_time(office: Project) -> None:
    open_gate(office, "late")
    event = submit(office, "Office", "refund", "late", "0.3")
    until_state(office, event, "completed")
    assert office.ledger("pay late") == []
    decide(office, "approve", key_of(event)).expect_error(4, "its time was over")
    assert answers(office, event) == []


def test_an_answer_without_a_program_counts_at_the_next_start(project: Project) -> None:
    make_office(project)
    open_gate(project, "alone")
    program = serve(project, watched="Office")
    event = submit(project, "Office", "refund", "alone")
    until_state(project, event, "waiting")
    program.cut_power()
    asks = f"{key_of(event)} asks: refund alone?; agentctl approval approve {key_of(event)}"
    assert asks in program.err
    told = decide(project, "approve", "--as", "ana").expect(0)
    assert told.out == f"approved {key_of(event)}\n"
    assert "agentctl run Office" in told.err
    decide(project, "deny", event, "--as", "bob").expect_error(4, "already decided", "by ana")
    before = Path(project.journal_path("Office")).read_bytes()
    decide(project, "approve").expect_error(3)
    assert project.journal_path("Office").read_bytes() == before
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger("pay alone") == ["pay alone 900"]
    assert project.ledger("post alone") == [f"post alone {key_of(event)}"]
    assert ends_on_record(project, 1, "Office") == ["done"]
    audited = project.audit("Office")
    assert audited.count(f"Office answered: {key_of(event)} by ana: true") == 1
    assert len([line for line in audited if line.startswith("Office asked: ")]) == 1
