"""The templates: each runs, and its tests pass, as it comes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from .support import Project, Running, wait_until

TEMPLATES = ["heartbeat", "cleanup", "poller", "approval", "workflow", "assistant"]
POLLER = 'Poller("mine")'


@pytest.mark.parametrize(
    ("template", "agent"),
    [
        *((template, None) for template in ("heartbeat", "cleanup", "poller")),
        *((template, "OrderKeeper") for template in TEMPLATES),
    ],
)
def test_the_tests_of_a_new_project_pass_within_seconds(
    project: Project, template: str, agent: str | None
) -> None:
    named = ("--agent", agent) if agent else ()
    project.agentctl("new", "store", "--template", template, *named).expect(0)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if not importlib.metadata.entry_points(group="pytest11", name="agentctl"):
        command += ["-p", "agentctl.testing.plugin"]  # a checkout that isn't installed
    ran = project.run_program(tuple(command), cwd=project.root / "store", timeout=60).expect(0)
    told = re.search(r"(\d+) passed in (\d+\.\d+)s", ran.out)
    assert told, ran.both
    assert "skipped" not in ran.out
    assert float(told[2]) < 10  # days of ticks, on a busy machine


@pytest.mark.parametrize("template", TEMPLATES)
def test_an_agent_of_it_comes_into_a_project_that_is_there(project: Project, template: str) -> None:
    project.agentctl("new", "shop").expect(0)
    shop = project.root / "shop"
    added = project.agentctl("add", "Keeper", "--template", template, cwd=shop).expect(0)
    assert added.err.count("Keeper") >= 1
    project.agentctl("config", "show", cwd=shop).expect(0)
    assert template in project.agentctl("new", "--list").expect(0).out


def made_of(project: Project, template: str) -> None:
    project.agentctl("new", ".", "--template", template).expect(0)


def run(project: Project, *words: str) -> Running:
    program = project.start_agentctl("run", *words)
    wait_until(lambda: "serving" in program.err, "the program to serve")
    return program


def count(program: Running, what: str) -> int:
    return (program.out + program.err).count(what)


def stop(program: Running) -> None:
    program.send(signal.SIGTERM)
    program.end().expect(0)


def test_the_heart_beats_by_kavach_toml_also_after_a_crash(project: Project) -> None:
    made_of(project, "heartbeat")
    often = ("--set", "schedules.heartbeat.every=100ms")
    first = run(project, *often)
    wait_until(lambda: count(first, "[signal] alive at ") >= 3, "three beats")
    first.cut_power()
    second = run(project, *often)
    wait_until(lambda: count(second, "[signal] alive at ") >= 3, "three more beats")
    stop(second)
    listed = project.agentctl("schedule", "list").expect(0).out.splitlines()
    assert len(listed) == 1
    assert {"Heartbeat", "heartbeat", "beat", "file"} <= set(listed[0].split("\t"))


def test_taken_out_of_kavach_toml_the_heart_beats_no_more(project: Project) -> None:
    made_of(project, "heartbeat")
    program = run(project, "--set", "schedules.heartbeat.every=100ms")
    wait_until(lambda: count(program, "[signal] alive at "), "a beat")
    stop(program)
    stop(run(project, "--set", "schedules.heartbeat.enabled=false"))
    assert project.agentctl("schedule", "list").expect(0).out == ""


def old_file(project: Project, name: str) -> Path:
    path = project.write(f"scratch/{name}", "")
    os.utime(path, (time.time() - 200_000,) * 2)
    return path


def test_the_janitor_cleans_up_by_its_own_schedule_until_it_is_stopped(project: Project) -> None:
    made_of(project, "cleanup")
    first, young = old_file(project, "first"), project.write("scratch/young", "")
    assert project.agentctl("invoke", "Janitor", "start", "0.1").expect(0).out == "1\n"
    assert not first.exists()
    second = old_file(project, "second")
    program = run(project)
    wait_until(lambda: not second.exists(), "the second file to be deleted")
    third = old_file(project, "third")
    wait_until(lambda: not third.exists(), "the third file to be deleted")
    project.agentctl("invoke", "Janitor", "stop").expect(0)
    assert project.agentctl("invoke", "Janitor", "deleted_so_far").expect(0).out == "3\n"
    stop(program)
    assert project.agentctl("schedule", "list").expect(0).out == ""
    fourth = old_file(project, "fourth")
    project.agentctl("run", "--until-idle=1s").expect(0)
    assert fourth.exists()
    assert young.exists()


@contextmanager
def web(*answers: tuple[int, object]) -> Iterator[tuple[str, list[str]]]:
    """Serve an address that is up; give it, and the requests that came.

    Args:
        answers: what is posted gets one after another: status and JSON.
    """
    asked: list[str] = []
    left = list(answers)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(f"{self.headers['Authorization']} {self.headers['Idempotency-Key']}")
            status, said = left.pop(0)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_poller_asks_on_through_a_crash_until_it_is_stopped(project: Project) -> None:
    made_of(project, "poller")
    with web() as (url, asked):
        for _ in range(2):  # started twice, it has one pending tick
            project.agentctl("invoke", POLLER, "start", url, "0.1").expect(0)
        assert len(project.agentctl("schedule", "list").expect(0).out.splitlines()) == 1
        first = run(project)
        wait_until(lambda: len(asked) >= 5, "five requests")
        first.cut_power()
        before = len(asked)
        second = run(project)
        wait_until(lambda: len(asked) >= before + 3, "three more requests")
        assert len(project.agentctl("schedule", "list").expect(0).out.splitlines()) <= 1
        project.agentctl("invoke", POLLER, "stop").expect(0)
        before = len(asked)
        assert project.agentctl("invoke", POLLER, "health").expect(0).out == "0\n"
        stop(second)
        project.agentctl("run", "--until-idle=1s").expect(0)
        assert len(asked) == before
        assert project.agentctl("schedule", "list").expect(0).out == ""


def test_a_failing_address_is_asked_less_often(project: Project) -> None:
    made_of(project, "poller")
    with web() as (url, _):
        pass  # nobody serves it any more
    project.agentctl("invoke", POLLER, "start", url, "60").expect(0)
    assert project.agentctl("invoke", POLLER, "health").expect(0).out == "1\n"
    project.agentctl("invoke", POLLER, "start", url, "60").expect(0)
    assert project.agentctl("invoke", POLLER, "health").expect(0).out == "2\n"


def test_what_was_posted_to_the_chat_is_the_command_that_lets_the_refund_go_on(
    project: Project,
) -> None:
    made_of(project, "approval")
    program = run(project)
    project.agentctl("invoke", "-t", "Cashier", "refund", "7", "900").expect(0)
    posted = r"\[chat\] order 7 wants 900 back: agentctl (approval approve Cashier-1-1)\n"
    wait_until(lambda: re.search(posted, program.out), "the question")
    assert "[pay]" not in program.out
    found = re.search(posted, program.out)
    assert found is not None
    project.agentctl(*found[1].split(), "--as", "ana").expect(0)
    wait_until(lambda: count(program, "[pay] 900 for order 7"), "the refund")
    project.agentctl(*found[1].split(), "--as", "bob").expect_error(4, "already decided: by ana")
    stop(program)
    assert any("answered: Cashier-1-1 by ana" in line for line in project.audit("Cashier"))


def test_a_customer_who_is_denied_leaves_no_account_though_the_program_was_killed(
    project: Project,
) -> None:
    made_of(project, "workflow")
    (module,) = project.root.glob("*/onboarding.py")
    project.edit(
        str(module.relative_to(project.root)), "Exponential(base=1,", "Exponential(base=0.3,"
    )
    project.agentctl("invoke", "-t", 'Onboarding("ana")', "run").expect(0)
    first = run(project)
    wait_until(lambda: count(first, "[email] attempt 1"), "an attempt that fails")
    first.cut_power()
    second = run(project)
    wait_until(lambda: count(second, "asks: may ana become a customer?"), "the question")
    assert count(second, "[account]") == 0
    project.agentctl("approval", "deny", "Onboarding/ana#1").expect(0)
    wait_until(lambda: count(second, "[account] c-ana is deleted"), "the account to be deleted")
    stop(second)


def test_a_real_model_is_one_line_and_asked_again_when_it_is_busy(project: Project) -> None:
    made_of(project, "assistant")
    toml = project.root / "kavach.toml"
    text = toml.read_text(encoding="utf-8")
    scripted = re.search(r"model = .*\n", text)
    assert scripted is not None
    toml.write_text(text.replace(scripted[0], "").replace("#model = ", "model = "), "utf-8")
    model = "agents.Assistant.capabilities.model"
    quick = ("--set", f'{model}.retry={{ max_attempts = 2, delay = "10ms" }}')
    said = {"choices": [{"message": {"content": "No."}}]}
    with web((503, "busy"), (200, said)) as (url, asked):
        here = ("--set", f"{model}.with.url={url}", *quick)
        environment = {"OPENAI_API_KEY": "hunter2"}
        told = project.agentctl("invoke", "Assistant", "ask", "Why?", *here, env=environment)
        assert told.expect(0).json == "No."
    assert len(asked) == 2
    assert asked[0].startswith("Bearer hunter2 Assistant-1-1-")
    assert asked[0] == asked[1]
    assert "hunter2" not in told.both + project.journal_path("Assistant").read_text("utf-8")
