"""The templates for work that recurs: each runs, and its tests pass, as it comes."""

from __future__ import annotations

import importlib.metadata
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

POLLER = 'Poller("mine")'


@pytest.mark.parametrize("agent", [None, "OrderKeeper"])
@pytest.mark.parametrize("template", ["heartbeat", "cleanup", "poller"])
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


@pytest.mark.parametrize("template", ["heartbeat", "cleanup", "poller"])
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
def web() -> Iterator[tuple[str, list[str]]]:
    """Serve an address that is up; give it, and the requests that came."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

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
