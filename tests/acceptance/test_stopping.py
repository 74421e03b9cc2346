"""P10, P17: a program is stopped in the middle of anything; nothing is lost, or made twice."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from .stops import accept, children, lives, lock_is_free, make_crew, may_be_process_one, serving
from .support import Project, Running, wait_until


@pytest.fixture
def crew(project: Project) -> Project:
    return make_crew(project)


def stop(program: Running, within: float, number: signal.Signals = signal.SIGTERM) -> str:
    """Send a signal; answer what stderr says of a graceful end that came in time."""
    begun = time.monotonic()
    program.send(number)
    ended = program.end(timeout=within + 10).expect(0)
    took = time.monotonic() - begun
    assert took < within, f"it took {took:.2f} s to stop, not {within}\n{ended.err}"
    return ended.err


def test_p10_sigterm_in_a_long_call_ends_within_grace_and_a_second(crew: Project) -> None:
    accept(crew, "hold", "long")
    told = stop(serving(crew, "--grace", "2s"), within=3)
    assert "waiting for World.hold (Bot-1-1), at most 2s; a second Ctrl-C ends at once" in told
    assert "1 call was cut off; 1 event goes on at the next start" in told
    assert "stop" in crew.records()[-1]
    assert lock_is_free(crew)


def test_p10_no_event_starts_once_the_signal_came(crew: Project) -> None:
    for _ in range(2):
        accept(crew, "hold", "long")
    program = serving(crew, "--grace", "1s", "--concurrency", "1")
    wait_until(lambda: crew.ledger("hold"), "the first event to be in its call")
    stop(program, within=2)
    assert len(crew.ledger("hold")) == 1


def test_p10_a_kill_50_ms_after_the_signal_finds_it_on_record(crew: Project) -> None:
    accept(crew, "hold", "long")
    for _ in range(3):
        program = serving(crew)
        program.send(signal.SIGTERM)
        time.sleep(0.05)
        program.cut_power()
        assert any("stopping" in record for record in crew.records()), "not on record in 50 ms"
        crew.ledger_path.write_text("")


def test_p10_killed_a_second_after_sigterm_three_times_it_is_never_set_aside(crew: Project) -> None:
    accept(crew, "hold", "long")
    for _ in range(3):
        program = serving(crew, "--grace", "none")
        program.send(signal.SIGTERM)
        time.sleep(1.0)
        assert program.alive, "there was nothing left to kill"
        program.cut_power()
        crew.ledger_path.write_text("")
    crew.agentctl("run", "--until-idle", env={"MODE": "short"}).expect(0)
    assert crew.set_aside() == []
    assert crew.ledger("after") == ["after Bot-1-2 long"]


def test_p10_a_second_signal_ends_at_once_and_never_counts(crew: Project) -> None:
    accept(crew, "hold", "child")
    for _ in range(4):
        program = serving(crew, "--grace", "none", until="child")
        program.send(signal.SIGTERM)
        wait_until(lambda: "waiting for" in program.err, "the stop to be under way")
        program.send(signal.SIGINT)
        program.end(timeout=5).expect(130)
        assert not [pid for pid in children(crew) if lives(pid)], "children were left behind"
        crew.ledger_path.write_text("")
    crew.agentctl("run", "--until-idle", env={"MODE": "short"}).expect(0)
    assert crew.set_aside() == []


def test_p10_a_blocked_thread_does_not_hold_the_program(crew: Project) -> None:
    accept(crew, "thread", "blocked")
    told = stop(serving(crew, "--grace", "1s", until="thread"), within=2)
    assert "1 call was cut off" in told


def test_p10_a_handler_that_blocks_its_turn_does_not_hold_it_either(crew: Project) -> None:
    accept(crew, "turn", "long")
    for _ in range(4):
        program = serving(crew, "--grace", "1s", until="turn", MODE="short")
        program.send(signal.SIGTERM)
        time.sleep(0.05)
        assert "stopping" in crew.records()[-1], "the signal waited for the turn's end"
        told = program.end(timeout=2).expect(0).err
        assert "blocked its turn" in told
        crew.ledger_path.write_text("")
    assert crew.set_aside() == []
    assert lock_is_free(crew)


def until_named(program: Running) -> str:
    """What stderr says of a handler that doesn't let go, while it doesn't."""
    wait_until(lambda: "has not let go" in program.err, "stderr to name the handler")
    assert program.alive
    told = [line for line in program.err.splitlines() if "has not let go" in line]
    assert len(told) == 1
    return told[0]


@pytest.mark.parametrize("how", ["spin", "block"])
def test_h8_a_handler_that_never_lets_go_is_named_and_set_aside(crew: Project, how: str) -> None:
    crew.agentctl("invoke", "-t", "Bot", "spin", how).expect(0)
    crew.agentctl("invoke", "-t", "Bot", "hold", "short").expect(0)
    for _ in range(3):
        program = serving(crew, "--grace", "100ms", until="spin")
        told = until_named(program)
        assert "Bot#1 has not let go for 1." in told
        assert "in its handler spin, at crew.py:" in told
        program.send(signal.SIGTERM)
        assert "blocked its turn" in program.end(timeout=5).expect(0).err
        assert crew.set_aside() == []
        shown = crew.agentctl("invocation", "show", "Bot#1", "--json").expect(0).json
        assert shown["status"] == "stuck"
        assert shown["text"].startswith("it blocked its turn for ")
        assert shown["line"].startswith("crew.py:")
        crew.ledger_path.write_text("")
    crew.agentctl("run", "--until-idle", env={"MODE": "short"}).expect(0)
    assert [line for line in crew.set_aside() if '"event":1' in line]
    assert crew.ledger("after")


def test_h8_a_handler_that_never_lets_go_is_cancelled_without_a_program(crew: Project) -> None:
    crew.agentctl("invoke", "-t", "Bot", "spin", "block").expect(0)
    program = serving(crew, "--grace", "100ms", until="spin")
    until_named(program)
    program.send(signal.SIGTERM)
    program.end(timeout=5).expect(0)
    crew.agentctl("invocation", "cancel", "Bot#1").expect(0)
    crew.agentctl("run", "--until-idle").expect(0)
    assert crew.agentctl("invocation", "show", "Bot#1", "--json").json["status"] == "cancelled"


@pytest.mark.parametrize(
    ("handler", "how"), [("hold", "child"), ("hold", "deaf child"), ("thread", "child")]
)
def test_p10_no_child_is_left_and_the_lock_is_free(crew: Project, handler: str, how: str) -> None:
    accept(crew, handler, how)
    program = serving(crew, "--grace", "500ms", until="child")
    assert all(lives(pid) for pid in children(crew))
    stop(program, within=1.5)
    assert len(children(crew)) == 2
    assert not [pid for pid in children(crew) if lives(pid)], "children were left behind"
    assert lock_is_free(crew)
    assert not crew.ledger("after"), "a call that was cut off got a result"


def test_p10_a_signal_during_a_start_that_takes_turns_is_no_death(crew: Project) -> None:
    """Two events under suspicion hang in their calls, one at a time: the start isn't done."""
    for _ in range(2):
        accept(crew, "hold", "long")
    for _ in range(4):
        program = serving(crew, "--grace", "200ms")
        stop(program, within=1.2)
        crew.ledger_path.write_text("")
    assert crew.set_aside() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_p10_invoke_is_stopped_the_same(crew: Project, number: signal.Signals) -> None:
    crew.write("kavach.toml", (crew.root / "kavach.toml").read_text() + 'grace = "500ms"\n')
    program = crew.start_agentctl("invoke", "Bot", "hold", "child")
    wait_until(lambda: crew.ledger("child"), "the call to have its child")
    begun = time.monotonic()
    program.send(number)
    told = program.end(timeout=8)
    assert time.monotonic() - begun < 1.5
    told.expect_error(128 + number, "interrupted", "Bot#1")
    assert "waiting for World.hold (Bot-1-1), at most 0.5s" in told.err
    assert not [pid for pid in children(crew) if lives(pid)]
    assert any("stopping" in record for record in crew.records())
    assert lock_is_free(crew)


def test_p17_ctrl_c_during_invoke_and_then_again_does_nothing_twice(shop: Project) -> None:
    shop.edit("kavach.toml", "audit = true", 'audit = true\ngrace = "100ms"')
    first = shop.start_agentctl("invoke", "Bot", "request", "7", env={"HANG_IN": "send"})
    wait_until(lambda: shop.ledger("hanging"), "invoke to be in its second call")
    first.send(signal.SIGINT)
    stopped = first.end(timeout=8).expect_error(130, "interrupted", "Bot#1", "at the next start")
    assert stopped.out == ""
    second = shop.agentctl("invoke", "Bot", "echo", "more").expect(0)
    assert second.out == '"more"\n'
    assert "Bot#1 completed" in second.err, "the interrupted event did not go on beside it"
    assert len(shop.ledger("refund")) == 1
    assert shop.ledger("send")[-1] == "send Bot-1-2 order 7: r7"


# -- as the first process of a container


@pytest.fixture
def container(crew: Project) -> Project:
    if not may_be_process_one():
        pytest.skip("this machine lets nobody be process 1 of a namespace of its own")
    return crew


UNSHARE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def as_first_process(project: Project, *words: str, **env: str) -> Running:
    command = (*UNSHARE, sys.executable, "-m", "agentctl", *words)
    return project.start_program(command, env=env)


def first_process(program: Running) -> int:
    """The pid, out here, of what is process 1 in there."""
    children_file = f"/proc/{program.process.pid}/task/{program.process.pid}/children"
    with open(children_file, encoding="ascii") as file:
        return int(file.read().split()[0])


def test_p10_as_process_1_it_stops_the_same(container: Project) -> None:
    accept(container, "hold", "child")
    program = as_first_process(container, "run", "--grace", "1s")
    wait_until(lambda: container.ledger("child"), f"it to be in its call: {program.err}")
    begun = time.monotonic()
    os.kill(first_process(program), signal.SIGTERM)
    told = program.end(timeout=8).expect(0).err
    assert time.monotonic() - begun < 2
    assert "waiting for World.hold (Bot-1-1), at most 1s" in told
    assert "1 call was cut off" in told
    assert lock_is_free(container)


def test_p10_as_process_1_two_signals_end_it_at_once(container: Project) -> None:
    accept(container, "hold", "long")
    program = as_first_process(container, "run", "--grace", "none")
    wait_until(lambda: container.ledger("hold"), f"it to be in its call: {program.err}")
    os.kill(first_process(program), signal.SIGTERM)
    wait_until(lambda: "waiting for" in program.err, "the stop to be under way")
    os.kill(first_process(program), signal.SIGTERM)
    program.end(timeout=5).expect(143)


def test_p10_process_1_buries_orphans(container: Project) -> None:
    container.edit(
        "crew.py",
        'note("hold", call_key(), how)',
        'note("hold", call_key(), how)\n'
        '        subprocess.run(["sh", "-c", "for i in 1 2 3; do sleep 0.05 & done"])\n'
        "        await asyncio.sleep(0.5)\n"
        '        states = subprocess.run(["ps", "-axo", "stat="], capture_output=True, text=True)\n'
        '        note("zombies", sum(one.startswith("Z") for one in states.stdout.split()))',
    )
    program = as_first_process(container, "invoke", "Bot", "hold", "x", MODE="short")
    program.end(timeout=15).expect(0)
    assert container.ledger("zombies") == ["zombies 0"]


def test_p10_process_1_has_the_exit_code_of_its_command(container: Project) -> None:
    program = as_first_process(container, "invoke", "Bot", "nothing")
    program.end(timeout=10).expect(3)
