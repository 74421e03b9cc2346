"""P13: `run --watch` starts anew with a save, once, and waits where a program can't go on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .shop import make_agents
from .stops import lives, lock_is_free
from .support import Project, Running, wait_until

CREW = """
from __future__ import annotations

import asyncio
import os
from abc import abstractmethod

from agentctl import Agent, Capability, handler
from ledger import note

note("loaded", os.getpid())
VERSION = 1


class World(Capability):
    @abstractmethod
    async def refund(self, order: int) -> int: ...
    @abstractmethod
    async def send(self, text: str) -> None: ...


class Real(World):
    async def refund(self, order: int) -> int:
        note("refund", order, VERSION)
        return order

    async def send(self, text: str) -> None:
        note("send", text, VERSION)
        if os.environ.get("HANG") and VERSION == 1:
            await asyncio.sleep(60)
        if os.environ.get("DIE") and VERSION == 1:
            os._exit(9)


class Bot(Agent):
    world: World

    @handler
    async def request(self, order: int) -> None:
        paid = await self.world.refund(order)
        await self.world.send(f"paid {paid}")
"""


@pytest.fixture
def crew(project: Project) -> Iterator[Project]:
    project.write("crew.py", CREW)
    yield make_agents(project, Bot="crew:Bot")
    for pid in pids(project):  # in groups of their own
        if lives(pid):
            os.kill(pid, signal.SIGKILL)


def pids(project: Project) -> list[int]:
    return [int(line.split()[1]) for line in project.ledger("loaded")]


def starts(project: Project) -> int:
    return len(pids(project))


def watching(project: Project, *flags: str, serves: bool = True, **env: str) -> Running:
    """`agentctl run --watch`, once its program serves."""
    program = project.start_agentctl("run", "--watch", *flags, env=env)
    what = "serving" if serves else "watching"
    wait_until(lambda: what in program.err, f"it to be {what}: {program.err}")
    return program


def until_served(program: Running, times: int) -> None:
    wait_until(
        lambda: program.err.count("serving") == times, f"it to serve {times} times: {program.err}"
    )


def accept(project: Project, die: bool = True) -> None:
    project.agentctl("invoke", "Bot", "request", "7", env={"DIE": "1"}).expect(9)
    project.ledger_path.write_text("")


def save(project: Project, old: str, new: str) -> None:
    """As editors do: into a file beside it, which then takes the name."""
    path = project.root / "crew.py"
    beside = project.root / ".crew.py.4f2a.new"
    beside.write_text(path.read_text().replace(old, new))
    beside.replace(path)


def settle() -> None:
    """Longer than it takes to see a save and to stop for it."""
    time.sleep(1.0)


def end(program: Running, code: int = 0, number: signal.Signals = signal.SIGINT) -> str:
    program.send(number)
    return program.end(timeout=10).expect(code).err


def test_p13_a_save_by_another_name_restarts_once(crew: Project) -> None:
    program = watching(crew)
    for count in (2, 3):
        save(crew, f"VERSION = {count - 1}", f"VERSION = {count}")
        until_served(program, count)
        settle()
        assert starts(crew) == count, f"one save, {starts(crew)} starts\n{program.err}"
    told = end(program)
    assert "saved: crew.py; starting anew" in told


def test_p13_a_save_of_the_same_length_in_the_same_second_is_run(crew: Project) -> None:
    path = crew.root / "crew.py"
    program = watching(crew)
    crew.agentctl("invoke", "Bot", "request", "7").expect(0)
    before = path.stat()
    beside = crew.root / ".crew.py.4f2a.new"
    beside.write_text(path.read_text().replace("VERSION = 1", "VERSION = 2"))
    os.utime(beside, ns=(before.st_atime_ns, before.st_mtime_ns))
    beside.replace(path)
    until_served(program, 2)
    crew.agentctl("invoke", "Bot", "request", "8").expect(0)
    assert crew.ledger("refund 8") == ["refund 8 2"]
    end(program)


def test_p13_journals_and_what_editors_leave_restart_nothing(crew: Project) -> None:
    accept(crew)
    program = watching(crew)
    wait_until(lambda: crew.ledger("send"), "the event to write its journal")
    venv = crew.root / "my-env"
    for name in (
        ".crew.py.swp", "crew.py~", "4913", ".#crew.py", "__pycache__/crew.cpython-311.pyc",
        ".git/index", "venv/lib/x.py", "my-env/lib/site.py", "agents/Bot/notes.py", "server.log",
    ):  # fmt: skip
        path = crew.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (venv / "pyvenv.cfg").exists() or (venv.mkdir(exist_ok=True), (venv / "pyvenv.cfg").touch())
        path.write_text("x = 1\n")
    settle()
    assert starts(crew) == 1, program.err
    assert "saved" not in end(program)


def test_p13_data_that_calls_write_beside_the_code_restarts_nothing(crew: Project) -> None:
    program = watching(crew, LEDGER=str(crew.root / "ledger"))
    for count in (1, 2):
        crew.agentctl("invoke", "Bot", "request", "7").expect(0)
        settle()
        assert (crew.root / "ledger").read_text().count("send") == count
    assert "saved" not in program.err, "a call's own file was taken for a save"
    assert program.err.count("serving") == 1
    end(program)


def test_p13_a_root_elsewhere_in_the_project_is_left_out(crew: Project) -> None:
    program = watching(crew, "--root", "state")
    (crew.root / "state" / "notes.py").write_text("x = 1\n")
    settle()
    assert starts(crew) == 1, program.err
    assert (crew.root / "state" / "agents" / "Bot" / "lock").exists()
    end(program)


def test_p13_a_save_gives_calls_a_second_and_the_event_goes_on_with_the_new_code(
    crew: Project,
) -> None:
    accept(crew)
    program = watching(crew, "--grace", "none", HANG="1")
    wait_until(lambda: crew.ledger("send"), "the call to hang")
    begun = time.monotonic()
    save(crew, "VERSION = 1", "VERSION = 2")
    waits = "waiting for World.send (Bot-1-2), at most 1s; save again to cut it off"
    wait_until(lambda: waits in program.err, "the program to wait for the call")
    waiting = time.monotonic()
    wait_until(lambda: "1 call was cut off" in program.err, "the call to be cut off")
    assert 1.0 < time.monotonic() - begun
    assert time.monotonic() - waiting < 2
    # How long the machine takes to start a program isn't the point.
    wait_until(lambda: crew.ledger("send paid 7 2"), f"the event to go on: {program.err}")
    end(program)
    assert crew.ledger("refund") == [], "a finished call was made again"


def test_p13_a_second_save_cuts_calls_off(crew: Project) -> None:
    accept(crew)
    program = watching(crew, HANG="1")
    wait_until(lambda: crew.ledger("send"), "the call to hang")
    begun = time.monotonic()
    save(crew, "VERSION = 1", "VERSION = 1\n")
    wait_until(lambda: "save again" in program.err, "the first save to be noticed")
    save(crew, "VERSION = 1", "VERSION = 2")
    wait_until(lambda: starts(crew) == 2, "the second save to cut the call off")
    assert time.monotonic() - begun < 2
    wait_until(lambda: crew.ledger("send paid 7 2"), f"the event to go on: {program.err}")
    end(program)


def test_p13_a_syntax_error_is_shown_and_waits_for_the_next_save(crew: Project) -> None:
    program = watching(crew)
    save(crew, "VERSION = 1", "VERSION = = 1")
    wait_until(lambda: "save a file to start it again" in program.err, "it to wait")
    assert "SyntaxError" in program.err
    assert "error: " in program.err
    assert "hint: " in program.err
    assert "the program ended with exit code 7" in program.err
    settle()
    assert program.alive
    assert starts(crew) == 1
    save(crew, "VERSION = = 1", "VERSION = 2")
    until_served(program, 2)
    end(program)


def test_p13_a_program_that_died_waits_for_the_next_save_which_never_counts(crew: Project) -> None:
    accept(crew)
    program = watching(crew, serves=False, DIE="1")
    for count in range(1, 6):
        wait_until(
            lambda: program.err.count("ended with exit code 9") == count,
            f"the program to die {count} times: {program.err}",
        )
        settle()
        assert starts(crew) == count, "it started again by itself"
        save(crew, "VERSION = 1", "VERSION = 1\n")
    wait_until(lambda: program.err.count("exit code 9") == 6, f"a sixth death: {program.err}")
    assert crew.set_aside() == [], "starts by a save were counted"
    save(crew, "VERSION = 1", "VERSION = 2")
    wait_until(lambda: "Bot#1 completed" in program.err, f"it to complete: {program.err}")
    assert crew.ledger("refund") == []
    end(program)


def test_p13_a_stuck_event_is_shown_and_the_next_save_never_counts(crew: Project) -> None:
    bug = 'await self.world.send(f"paid {paid}")\n        {}["x"]'
    save(crew, 'await self.world.send(f"paid {paid}")', bug)
    crew.agentctl("invoke", "Bot", "request", "7").expect(1)
    program = watching(crew)
    for count in range(1, 6):
        wait_until(
            lambda: program.err.count("Bot#1 is stuck") == count,
            f"it to be stuck {count} times: {program.err}",
        )
        assert "mend the code" in program.err
        until_served(program, count)
        save(crew, "VERSION = 1", "VERSION = 1\n")
    until_served(program, 6)
    assert crew.set_aside() == [], "starts by a save were counted"
    save(crew, '        {}["x"]', "        pass")
    wait_until(lambda: "Bot#1 completed" in program.err, f"it to complete: {program.err}")
    end(program)
    assert len(crew.ledger("refund")) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_r12_a_signal_to_the_watching_process_stops_its_program_once(
    crew: Project, number: signal.Signals
) -> None:
    accept(crew)
    program = watching(crew, "--grace", "700ms", HANG="1")
    wait_until(lambda: crew.ledger("send"), "the call to hang")
    begun = time.monotonic()
    told = end(program, 0, number)
    assert 0.6 < time.monotonic() - begun < 2, "it was not stopped gracefully, or twice"
    assert "at most 0.7s; a second Ctrl-C ends at once" in told
    assert "1 call was cut off" in told
    assert lock_is_free(crew)
    assert not any(lives(pid) for pid in pids(crew))


def test_r12_a_second_ctrl_c_ends_the_watching_and_its_program_at_once(crew: Project) -> None:
    accept(crew)
    program = watching(crew, "--grace", "none", HANG="1")
    wait_until(lambda: crew.ledger("send"), "the call to hang")
    program.send(signal.SIGINT)
    wait_until(lambda: "waiting for" in program.err, "the stop to be under way")
    end(program, 130)
    assert not any(lives(pid) for pid in pids(crew))


def test_a_killed_watching_process_takes_its_program_along(crew: Project) -> None:
    program = watching(crew)
    assert lives(pids(crew)[0])
    program.cut_power()
    wait_until(lambda: not lives(pids(crew)[0]), "the program to notice that nobody watches")
    assert "stop" in crew.records()[-1], "it did not end gracefully"
    assert lock_is_free(crew)


def test_ctrl_c_where_the_program_has_died_ends_the_watching(crew: Project) -> None:
    save(crew, "VERSION = 1", "VERSION = = 1")
    program = watching(crew, serves=False)
    wait_until(lambda: "save a file to start it again" in program.err, "it to wait")
    end(program)


def test_what_calls_start_knows_nothing_of_the_watching(crew: Project) -> None:
    crew.edit(
        "crew.py",
        'note("refund", order, VERSION)',
        'note("refund", [n for n in os.environ if n.startswith("_AGENTCTL")], '
        "sorted(os.listdir('/proc/self/fd')) == [])",
    )
    program = watching(crew)
    end(program)
    crew.agentctl("invoke", "Bot", "request", "7").expect(0)
    assert crew.ledger("refund") == ["refund [] False"]


def test_a_hanging_import_is_ended_by_the_next_save(crew: Project) -> None:
    save(crew, "VERSION = 1", "VERSION = 1\nimport time\ntime.sleep(60)")
    program = watching(crew, serves=False)
    wait_until(lambda: starts(crew) == 1, "the program to hang in its import")
    save(crew, "time.sleep(60)", "")
    until_served(program, 1)
    end(program)
    assert Path(crew.root / "crew.py").exists()
