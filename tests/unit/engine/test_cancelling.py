"""R8, R20: every cell of the table of states, with a program and without; one end an event."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest
from msgspec.structs import replace

from agentctl import Agent, Capability, bind, handler, sleep
from agentctl.engines.changes import CancelRequest, DeleteRequest
from agentctl.errors import AgentError, Conflict, NotFound
from agentctl.names import Address

IDS = map("id-{}".format, count())


class Till(Capability):
    async def pay(self, what: str) -> str: ...


class Declined(AgentError):
    pass


class Real(Till):
    def __init__(self):
        self.made = []
        self.gate = asyncio.Event()

    async def pay(self, what: str) -> str:
        self.made.append(what)
        if what == "hold":
            await self.gate.wait()
        if what == "no":
            raise Declined("no")
        return what.upper()


class Bot(Agent):
    name: str
    till: Till
    total: int = 0

    @handler
    async def pay(self, what: str) -> str:
        self.total += 1
        try:
            return await self.till.pay(what)
        finally:
            if what == "hold":
                await self.till.pay("clean up")

    @handler
    async def nap(self) -> str:
        self.total += 1
        try:
            await sleep(3600)
        finally:
            await self.till.pay("clean up")
        return "rested"

    @handler
    async def two(self) -> str:
        first = await self.till.pay("x")
        try:
            return first + await self.till.pay("hold")
        finally:
            await self.till.pay("clean up")

    @handler
    async def stubborn(self) -> str:
        self.total += 1
        try:
            await self.till.pay("hold")
        except asyncio.CancelledError:
            return await self.till.pay("clean up")
        return "never"

    @handler
    async def bug(self) -> None:
        raise KeyError("a bug")

    @handler
    async def bug_in_clean_up(self) -> None:
        try:
            await self.till.pay("hold")
        finally:
            raise KeyError("a bug")


@pytest.fixture
def asked(request_of):
    def make(how, *args, name="a", key="k"):
        return replace(request_of(Bot, how, *args, identity=(name,)), key=key)

    return make


def cancel(*, running=False, request=None, **which):
    which = which or {"event": 1}
    return CancelRequest(
        "Bot", request or next(IDS), **which, running=running, reason="not wanted", by="ana"
    )


def short(answer):
    return str(answer.answer), None if answer.status is None else str(answer.status)


CANCELLED, AGAIN = ("cancelled", None), ("already_cancelled", None)
AND_OVER = ("already_cancelled", "cancelled")
RUNNING = ("running", "running")
FIRST = Address("Bot", ("a",), 1)


class Scene:
    """Brings one event into a state, and cancels it there."""

    def __init__(self, world, asked):
        self.world, self.asked = world, asked
        self.till = Real()
        self.binding = bind(Bot, till=self.till)

    def live(self, do, *requests):
        """A program that accepts, comes to rest, and does something."""

        async def life():
            async with self.world.program(self.binding) as host:
                for request in requests:
                    await host.submit(request)
                await settled()
                done = await do(host)
                self.till.gate.set()
                await host.idle()
                return done

        return asyncio.run(life())

    def killed(self, *requests):
        """A program that is killed while its events are where they wait; its world goes on."""

        async def then(host):
            return self.world.after_kill()

        twin = self.live(then, *requests)
        self.world = twin
        self.till.made.clear()
        self.till.gate = asyncio.Event()

    def cold(self, *changes):
        return [self.world.desk.carry_out(change) for change in changes]

    def kinds(self):
        kinds = self.world.kinds()
        return kinds[kinds.index("event") :]

    def ends(self):
        return [kind for kind in self.kinds() if kind in ("done", "failed", "cancelled")]


async def settled():
    for _ in range(30):
        await asyncio.sleep(0)


@pytest.fixture
def scene(world, asked):
    return Scene(world, asked)


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


# -- deleting an instance


def delete(name="a", request=None, **how):
    return DeleteRequest("Bot", request or next(IDS), (name,), by="ana", **how)


def test_a_deletion_takes_state_keys_and_what_has_not_begun(scene):
    async def nothing(host):
        pass

    scene.live(nothing, scene.asked("pay", "x"), scene.asked("pay", "y", name="b"))
    scene.world.desk.leave(Bot, scene.asked("pay", "z", key="other"))
    (dry,) = scene.cold(delete(dry_run=True))
    kinds = scene.world.kinds()
    (gone,) = scene.cold(delete())
    assert dry == gone
    assert "deleted" not in kinds
    assert (gone.instance, gone.cancelled, gone.keys) == ("Bot/a", ("Bot/a#3",), 1)
    assert gone.state_bytes == len('{"total":1}')
    states = scene.world.desk.states("Bot")
    assert [str(address) for address in states] == ["Bot/b"]
    scene.live(nothing, scene.asked("pay", "x"))
    assert scene.till.made == ["x", "y", "x"], "its key stands for nothing any more"
    assert "Bot/a deleted: the instance (by ana)" in scene.world.audit
    assert scene.world.records()[-2]["done"] == 4, "numbers are never used again"


def test_an_instance_with_an_event_that_runs_is_not_deleted(scene):
    async def do(host):
        kinds = scene.world.kinds()
        with pytest.raises(Conflict, match="while Bot/a#1 is running") as refused:
            await host.carry_out(delete())
        assert scene.world.kinds() == kinds
        return refused.value.exit_code

    assert scene.live(do, scene.asked("pay", "hold")) == 4


@pytest.mark.parametrize("how", ["beside", "cold"])
def test_an_event_that_only_waits_cleans_up_when_its_instance_is_deleted(scene, how):
    async def do(host):
        if how == "beside":
            return await host.carry_out(delete())
        return None

    told = scene.live(do, scene.asked("nap"))
    if how == "cold":
        (told,) = scene.cold(delete())
        assert scene.till.made == []
        scene.world.start(scene.binding, jumps=False)
    assert told.cancelled == ("Bot/a#1",)
    assert (scene.till.made, scene.ends()) == (["clean up"], ["cancelled"])
    assert scene.world.desk.states("Bot") == {}


def test_a_deletion_beside_a_program_gives_the_next_event_a_fresh_state(scene):
    async def do(host):
        await host.carry_out(delete())
        event = await host.submit(scene.asked("pay", "y"))
        return (await host.ended(event)).status

    assert scene.live(do, scene.asked("pay", "x")) == "completed"
    states = [one["state"] for one in scene.world.records() if "done" in one]
    assert states == [{"total": 1}, {"total": 1}]


def test_a_deletion_is_one_write(scene):
    """Whatever part of it a power cut leaves, all of it counts or nothing."""

    async def nothing(host):
        pass

    scene.live(nothing, scene.asked("pay", "x"))
    scene.world.desk.leave(Bot, scene.asked("pay", "y", key="other"))
    scene.cold(delete(request="once"))
    lines = scene.world.journals["Bot"].splitlines()
    at = [n for n, line in enumerate(lines) if line.startswith(b'{"deleted"')]
    marked = [n for n, line in enumerate(lines) if b'"synced":' in line]
    (deleted,) = at
    begin = max(n for n in marked if n <= deleted)
    writes = [line.split(b'"')[1].decode() for line in lines[begin : deleted + 2]]
    assert [one for one in writes if one != "synced"] == ["cancelled", "deleted", "answered"]


@pytest.mark.parametrize("change", [delete("nobody")])
def test_what_is_not_there_is_not_deleted(scene, change):
    scene.world.start(scene.binding)
    with pytest.raises(NotFound, match="no instance Bot/nobody"):
        scene.cold(change)


def test_a_deletion_under_an_id_is_answered_again_the_same(scene):
    async def nothing(host):
        pass

    scene.live(nothing, scene.asked("pay", "x"))
    first, second = scene.cold(delete(request="once"), delete(request="once"))
    assert first == second
    with pytest.raises(NotFound):
        scene.cold(delete(request="another"))
