"""Between lock and socket: what was asked is done once, by whoever can do it."""

from __future__ import annotations

import pytest

from agentctl.engines.local.control.reaching import reach
from agentctl.engines.local.control.trouble import ControlGone
from agentctl.errors import Conflict, Locked, NotFound
from agentctl.testing import FakeClock


class World:
    """Each round plays the next part of a script; time passes only by it and by pauses.

    held: the lock is held.             free: it is free.
    none: nobody listens.               gone: the connection breaks before an answer.
    heard: it breaks after an answer.   yes: the holder does it.
    A number lets so many seconds pass while the holder is asked.
    """

    def __init__(self, script):
        self.script = script.split()
        self.clock = FakeClock()
        self.pauses = []
        self.locked = 0
        self.closed = 0
        self.heard = 0

    def next(self):
        if len(self.script) > 1:
            return self.script.pop(0)
        return self.script[0]

    def under_lock(self):
        if self.next_is("free"):
            return "here"
        assert self.next() == "held"
        self.locked += 1
        raise Locked(f"held {self.locked}")

    def next_is(self, word):
        return self.script[0] == word

    def connect(self, folder):
        assert folder == "/agents/Bot"
        if self.next_is("none"):
            self.next()
            raise ControlGone("nobody")
        self.heard = 0
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed += 1

    def ask(self, control):
        assert control is self
        word = self.next()
        while word.replace(".", "").isdigit():
            self.clock.advance(float(word))
            word = self.next()
        if word == "yes":
            return "there"
        self.heard = int(word == "heard")
        raise ControlGone("broke")

    def pause(self, seconds):
        self.pauses.append(round(seconds, 6))
        self.clock.advance(seconds)

    def reach(self, wait_s=5.0, **others):
        doing = {"under_lock": self.under_lock, "ask": self.ask} | others
        return reach(
            doing["under_lock"],
            doing["ask"],
            folder="/agents/Bot",
            clock=self.clock,
            pause=self.pause,
            wait_s=wait_s,
            connect=self.connect,
            look=others.get("look", lambda: None),
            refusal=others.get("refusal"),
        )


@pytest.mark.parametrize(
    ("script", "done", "pauses"),
    [
        ("free", "here", []),
        ("held yes", "there", []),
        ("held none free", "here", [0.005]),
        ("held gone free", "here", [0.005]),
        ("held none held none held yes", "there", [0.005, 0.01]),
        (
            "held none held gone held none held gone held none held none free",
            "here",
            [0.005, 0.01, 0.02, 0.04, 0.05, 0.05],
        ),
        # The holder was busy with it for two hours, and ended: the lock is free then.
        ("held 7200 gone free", "here", [0.005]),
        ("held 7200 gone held none held yes", "there", [0.005, 0.01]),
        ("held 4 gone held 4 gone held 4 yes", "there", [0.005, 0.01]),
    ],
)
def test_it_is_done_by_whoever_can(script, done, pauses):
    world = World(script)
    assert world.reach() == done
    assert world.pauses == pauses


def test_when_nobody_can_be_reached_for_five_seconds_it_is_locked():
    world = World("held " + "none held " * 1000)
    with pytest.raises(Locked) as caught:
        world.reach()
    assert caught.value.message == f"held {world.locked}"  # what is known last
    assert 5 <= sum(world.pauses) < 5.06
    assert max(world.pauses) == 0.05


def test_a_holder_that_hangs_up_each_time_is_given_up_as_well():
    world = World("held " + "gone held " * 1000)
    with pytest.raises(Locked):
        world.reach(wait_s=1)
    assert 1 <= sum(world.pauses) < 1.06
    assert world.closed == world.locked


def test_an_answer_begins_the_wait_anew():
    silent = "held none " * 15  # about half a second
    world = World(f"{silent} held heard {silent} held heard {silent} held yes")
    assert world.reach(wait_s=0.8) == "there"
    assert sum(world.pauses) > 1.5


def test_as_long_as_the_folder_changes_hands_it_is_tried_again():
    world = World("held " + "none held " * 600 + "yes")

    def look():
        return int(sum(world.pauses) / 4.9)  # another holder every 4.9 s

    assert world.reach(look=look) == "there"
    assert sum(world.pauses) > 5 * 4.9


def test_the_wait_begins_with_the_last_sign_of_life():
    world = World("held " + "none held " * 1000)

    def look():
        return min(sum(world.pauses), 3)

    with pytest.raises(Locked):
        world.reach(look=look)
    assert 8 <= sum(world.pauses) < 8.12


def test_what_it_takes_to_try_it_is_no_wait():
    world = World("held " + "none held " * 1000)

    def under_lock():
        world.clock.advance(7.0)  # loads a project's code
        return world.under_lock()

    with pytest.raises(Locked):
        world.reach(under_lock=under_lock)
    assert 5 <= sum(world.pauses) < 5.06


def test_the_error_is_made_when_it_is_known_who_holds_the_folder():
    with pytest.raises(Locked, match="pid 17"):
        World("held none").reach(wait_s=0, refusal=lambda: Locked("pid 17 holds it"))


def test_without_a_wait_it_is_tried_once():
    world = World("held none")
    with pytest.raises(Locked, match="held 1"):
        world.reach(wait_s=0)
    assert world.pauses == []


@pytest.mark.parametrize("error", [NotFound("no"), Locked("that agent"), TimeoutError(), OSError()])
def test_what_the_holder_says_is_final_whatever_it_is(error):
    world = World("held yes")

    def ask(control):
        raise error

    with pytest.raises(type(error)) as caught:
        world.reach(ask=ask)
    assert caught.value is error
    assert (world.pauses, world.closed) == ([], 1)


def test_what_happens_under_the_lock_is_final_too():
    def under_lock():
        raise Conflict("it has ended")

    with pytest.raises(Conflict):
        World("held").reach(under_lock=under_lock)
