"""R8, R20: every cell of the table of states, with a program and without; one end an event."""

from __future__ import annotations

import asyncio

import pytest

from agentctl.names import Address

from .till import AGAIN, AND_OVER, CANCELLED, RUNNING, Bot, cancel, settled, short

FIRST = Address("Bot", ("a",), 1)

LIVE = [
    # state, what brings it about, plain answer, --running's answer
    ("running", ("pay", "hold"), RUNNING, CANCELLED),
    ("sleeping", ("nap",), CANCELLED, CANCELLED),
    ("stuck", ("bug",), CANCELLED, CANCELLED),
    ("completed", ("pay", "x"), ("finished", "completed"), ("finished", "completed")),
    ("failed", ("pay", "no"), ("finished", "failed"), ("finished", "failed")),
]


@pytest.mark.parametrize("running", [False, True], ids=["cancel", "running"])
@pytest.mark.parametrize(("state", "how", "plain", "forced"), LIVE, ids=[one[0] for one in LIVE])
def test_r8_the_table_beside_a_program(scene, state, how, plain, forced, running):
    async def do(host):
        first = await host.carry_out(cancel(running=running))
        second = await host.carry_out(cancel(running=running))
        return short(first), short(second)

    first, second = scene.live(do, scene.asked(*how))
    assert first == (forced if running else plain)
    then = AGAIN if first == CANCELLED else first
    assert second[0] == then[0]
    assert len(scene.ends()) == 1, "one end an event"
    assert ("cancelled" in scene.ends()) is (first == CANCELLED)
    if first == CANCELLED and state in ("running", "sleeping"):
        assert scene.till.made[-1] == "clean up"
        assert "state" not in scene.kinds(), "its state changes are dropped"
    if state == "stuck":
        assert scene.till.made == []


@pytest.mark.parametrize("running", [False, True], ids=["cancel", "running"])
def test_r8_a_queued_event_ends_without_running_any_code(scene, running):
    async def do(host):
        return short(await host.carry_out(cancel(event=2, running=running)))

    queued = (scene.asked("pay", "hold", key=None), scene.asked("pay", "second", key=None))
    assert scene.live(do, *queued) == CANCELLED
    assert "second" not in scene.till.made
    (gone,) = [one for one in scene.world.records() if "cancelled" in one]
    assert (gone["cancelled"], gone["by"], gone["reason"]) == (2, "ana", "not wanted")
    assert "ran" not in gone


def test_who_waits_behind_a_cancelled_event_goes_on(scene):
    async def do(host):
        await host.carry_out(cancel(event=2))
        await host.carry_out(cancel(event=1, running=True))
        await settled()
        return list(scene.till.made)

    queued = [scene.asked("pay", what, key=None) for what in ("hold", "second", "third")]
    assert scene.live(do, *queued) == ["hold", "clean up", "third"]
    assert scene.ends() == ["cancelled", "cancelled", "done"]


def test_r20_swallowing_the_cancellation_does_not_help(scene):
    async def do(host):
        answer = short(await host.carry_out(cancel(running=True)))
        return answer, (await host.ended(FIRST)).status

    assert scene.live(do, scene.asked("stubborn")) == (CANCELLED, "cancelled")
    assert scene.till.made == ["hold", "clean up"]


def test_r20_a_bug_in_the_clean_up_still_ends_it_cancelled(scene, caplog):
    async def do(host):
        return short(await host.carry_out(cancel(running=True)))

    assert scene.live(do, scene.asked("bug_in_clean_up")) == CANCELLED
    assert scene.ends() == ["cancelled"]
    assert "its clean-up ended in KeyError: 'a bug'" in caplog.text


def test_r20_two_cancels_at_once_give_one_end(scene):
    async def do(host):
        both = await asyncio.gather(*(host.carry_out(cancel(running=True)) for _ in range(2)))
        return sorted(str(one.answer) for one in both)

    assert scene.live(do, scene.asked("pay", "hold")) == ["already_cancelled", "cancelled"]
    assert scene.ends() == ["cancelled"]
    assert scene.till.made == ["hold", "clean up"]


def test_r20_by_its_key_and_nobody_such(scene):
    async def do(host):
        wrong = [
            cancel(key="other", identity=("a",)),
            cancel(key="k", identity=("b",)),
            cancel(event=9),
        ]
        unknown = [await host.carry_out(one) for one in wrong]
        right = await host.carry_out(cancel(key="k", identity=("a",)))
        return [(str(one.answer), one.event) for one in (*unknown, right)]

    told = scene.live(do, scene.asked("nap"))
    assert told == [("unknown", None)] * 3 + [("cancelled", "Bot/a#1")]


def test_who_waits_for_a_cancelled_event_is_told(scene):
    async def do(host):
        event = await host.submit(scene.asked("nap"))
        waiting = asyncio.create_task(host.ended(event))
        await settled()
        await host.carry_out(cancel())
        return (await waiting).status

    assert scene.live(do) == "cancelled"


def test_r15_a_cancellation_is_audited_with_who_and_why(scene):
    async def do(host):
        await host.carry_out(cancel())

    scene.live(do, scene.asked("nap"))
    said = [line for line in scene.world.audit if "cancelled" in line]
    assert said == [
        "Bot/a cancelled: event #1 of nap (by ana: not wanted)",
        "Bot/a cancelled: event #1 of nap, its clean-up is done",
    ]


# -- without a program


def test_r8_without_a_program_a_queued_event_ends_at_once(scene):
    scene.world.start(scene.binding)
    scene.world.desk.leave(Bot, scene.asked("pay", "x"))
    told = list(map(short, scene.cold(cancel(), cancel())))
    assert told == [CANCELLED, AND_OVER]
    scene.world.start(scene.binding)
    assert (scene.till.made, scene.ends()) == ([], ["cancelled"])


def test_r8_without_a_program_a_sleeping_event_cleans_up_at_the_next_start(scene):
    async def nothing(host):
        pass

    scene.live(nothing, scene.asked("nap"))
    assert list(map(short, scene.cold(cancel(), cancel()))) == [CANCELLED, AGAIN]
    assert scene.till.made == [], "the answer is on record at once, the clean-up isn't made yet"
    assert scene.ends() == []
    scene.world.start(scene.binding, jumps=False)
    assert (scene.till.made, scene.ends()) == (["clean up"], ["cancelled"])


@pytest.mark.parametrize("running", [False, True], ids=["cancel", "running"])
def test_r8_without_a_program_a_running_event_counts_as_queued_and_cleans_up(scene, running):
    scene.killed(scene.asked("pay", "hold"))
    assert short(scene.cold(cancel(running=running))[0]) == CANCELLED
    scene.world.start(scene.binding)
    assert scene.till.made == ["clean up"], "the call that was cut off isn't made again"
    assert scene.ends() == ["cancelled"]
    assert scene.kinds().count("dropped") == 1


@pytest.mark.parametrize(
    ("how", "answer"),
    [
        (("bug",), CANCELLED),
        (("pay", "x"), ("finished", "completed")),
        (("pay", "no"), ("finished", "failed")),
    ],
    ids=["stuck", "completed", "failed"],
)
def test_r8_without_a_program_the_rest_of_the_table(scene, how, answer):
    async def nothing(host):
        pass

    scene.live(nothing, scene.asked(*how))
    assert short(scene.cold(cancel())[0]) == answer
    made = list(scene.till.made)
    scene.world.start(scene.binding)
    assert scene.till.made == made
    assert len(scene.ends()) == 1


@pytest.mark.parametrize("running", [False, True], ids=["cancel", "running"])
def test_r8_what_is_set_aside_is_finished(scene, running):
    scene.killed(scene.asked("pay", "hold"))
    for _ in range(2):
        scene.killed()
    scene.world.start(scene.binding)
    for which in ({"event": 1}, {"key": "k", "identity": ("a",)}):
        (answer,) = scene.cold(cancel(running=running, **which))
        assert short(answer) == ("finished", "set_aside")


def test_r20_an_event_that_had_only_begun_is_cancelled_at_its_first_await(scene):
    """Killed between its `start` and its first call: nothing of it is on record to replay."""
    scene.killed(scene.asked("pay", "hold"))
    cut_after(scene.world, "start")
    assert short(scene.cold(cancel())[0]) == CANCELLED
    scene.world.start(scene.binding, jumps=False)
    assert "hold" not in scene.till.made
    assert scene.ends() == ["cancelled"]


def test_r20_so_is_one_whose_last_turn_a_crash_took(scene):
    """Killed between a result and the next call: the call is new, and given up unmade."""
    scene.killed(scene.asked("two"))
    cut_after(scene.world, "ok")
    assert short(scene.cold(cancel())[0]) == CANCELLED
    scene.world.start(scene.binding, jumps=False)
    assert scene.till.made == ["clean up"]
    assert scene.ends() == ["cancelled"]
    assert "bug" not in scene.kinds()


def cut_after(world, kind):
    """Take what comes behind the first record of a kind off the journal."""
    path = "/memory/agents/Bot/journal"
    lines = world.disk.read_file(path).splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if line.startswith(b'{"%b"' % kind.encode()))
    world.disk.put_file(path, b"".join(lines[: at + 1]))


# -- the answer, once and for all


@pytest.mark.parametrize("then", ["program", "desk"])
def test_an_answer_under_an_id_is_given_again_also_after_a_restart(scene, then):
    request = cancel(request="same")

    async def do(host):
        return [short(await host.carry_out(request)) for _ in range(2)]

    assert scene.live(do, scene.asked("nap")) == [CANCELLED, CANCELLED]
    if then == "program":
        assert scene.live(do) == [CANCELLED, CANCELLED]
    else:
        assert list(map(short, scene.cold(request, request))) == [CANCELLED, CANCELLED]
    assert scene.ends() == ["cancelled"]


def test_an_answer_is_forgotten_after_a_minute(scene):
    async def nothing(host):
        pass

    scene.live(nothing, scene.asked("nap"))
    request = cancel(request="same")
    assert short(scene.cold(request)[0]) == CANCELLED
    scene.world.clock.advance(61)
    scene.world.start(scene.binding, jumps=False)
    assert short(scene.cold(request)[0]) == AND_OVER
