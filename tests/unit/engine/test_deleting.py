"""Deleting an instance: all of it or nothing, and what it was never comes back."""

from __future__ import annotations

import pytest

from agentctl.engines.changes import DeleteRequest
from agentctl.errors import Conflict, NotFound

from .till import IDS, Bot, cancel, short


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


@pytest.mark.parametrize("where", ["asleep", "in a call"])
def test_what_swallows_its_cancel_ends_with_its_instance_beside_a_program(scene, where):
    async def do(host):
        if where == "in a call":
            with pytest.raises(Conflict) as refused:
                await host.carry_out(delete())
            assert "cancel it first, and then delete again" in refused.value.hint
        await host.carry_out(cancel(running=True))
        (event,) = scene.world.desk.look("Bot").events
        assert event.cancelling
        (counted,) = scene.world.desk.count("Bot").cancelling
        assert counted == event.event
        made = list(scene.till.made)
        told = await host.carry_out(delete())
        assert (told.cancelled, told.cleaning_up) == (("Bot/a#1",), ())
        scene.till.gate.set()
        following = await host.submit(scene.asked("pay", "y"))
        assert (await host.ended(following)).status == "completed"
        assert scene.till.made == [*made, "y"], "more of its code ran"
        return told

    scene.live(do, scene.asked("deaf", where))
    assert scene.ends()[0] == "cancelled"
    assert scene.world.desk.count("Bot").cancelling == []
    assert "Bot/a cancelled: event #1 of deaf (by ana: its instance was deleted)" in (
        scene.world.audit
    )


@pytest.mark.parametrize("began", [True, False])
def test_what_swallows_its_cancel_ends_with_its_instance_without_a_program(scene, began):
    async def nothing(host):
        pass

    if began:
        scene.live(nothing, scene.asked("deaf", "asleep"))
    else:
        scene.killed(scene.asked("deaf", "asleep"))
    (first, second) = scene.cold(delete(), delete())
    assert (first.cancelled, first.cleaning_up) == (("Bot/a#1",), ("Bot/a#1",))
    assert (second.cancelled, second.cleaning_up) == (("Bot/a#1",), ())
    assert scene.ends() == ["cancelled"]
    with pytest.raises(NotFound):
        scene.cold(delete())
    scene.world.start(scene.binding, jumps=False)
    assert scene.ends() == ["cancelled"]


def test_a_deletion_beside_a_program_gives_the_next_event_a_fresh_state(scene):
    async def do(host):
        await host.carry_out(delete())
        event = await host.submit(scene.asked("pay", "y"))
        return (await host.ended(event)).status

    assert scene.live(do, scene.asked("pay", "x")) == "completed"
    states = [one["state"] for one in scene.world.records() if "done" in one]
    assert states == [{"total": 1}, {"total": 1}]


def test_what_a_deletion_cancels_leaves_no_key_behind_beside_a_program_or_later(scene):
    by_key = [cancel(identity=("a",), key="k"), cancel(identity=("a",), key="k")]

    async def do(host):
        gone = await host.carry_out(delete())
        assert gone.cancelled == ("Bot/a#1", "Bot/a#2")
        return await host.carry_out(by_key[0])

    beside = scene.live(do, scene.asked("nap", key=None), scene.asked("pay", "x", key="k"))
    (later,) = scene.cold(by_key[1])
    assert short(beside) == short(later) == ("unknown", None)
    assert scene.till.made == ["clean up"]


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
    with pytest.raises(NotFound, match="nothing is kept of Bot/nobody"):
        scene.cold(change)


def test_a_deletion_under_an_id_is_answered_again_the_same(scene):
    async def nothing(host):
        pass

    scene.live(nothing, scene.asked("pay", "x"))
    first, second = scene.cold(delete(request="once"), delete(request="once"))
    assert first == second
    with pytest.raises(NotFound):
        scene.cold(delete(request="another"))
