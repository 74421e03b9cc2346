"""R16, R22: who begins next, by lane and permits; who has an instance; who waits for room."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from agentctl.engines.local.running.holders import Holders
from agentctl.engines.local.running.queue import EventQueue, Permits
from agentctl.engines.local.running.room import Room

HIGH, MEDIUM, LOW = range(3)


class Pump:
    """A program that pumps when it is told to."""

    def __init__(self, *, gate_open=True):
        self.gate_open, self.stopping = gate_open, False
        self.todo = []

    def soon(self, callback):
        self.todo.append(callback)

    def settle_soon(self):
        pass

    def work(self):
        while self.todo:
            self.todo.pop(0)()


def queue(at_once, *, gate_open=True, **of_lanes):
    """A queue whose events, numbered from 100 times their rank on, take a permit and keep it."""
    program, begun = Pump(gate_open=gate_open), []

    def begin(number):
        begun.append(number)
        made.take_permit(number, number // 100)

    def go_on(number, path):
        begun.append(path)
        made.take_permit(number, number // 100)

    made = EventQueue(program, Permits(at_once, of_lanes), begin, go_on)
    it = SimpleNamespace(queue=made, program=program, begun=begun)

    def add(*numbers):
        for number in numbers:
            made.add(number, number // 100)
        program.work()

    def end(*numbers):
        begun.clear()
        for number in numbers:
            made.give_back(number)
        made.pump_soon()
        program.work()

    it.add, it.end = add, end
    return it


def test_r22_events_begin_in_their_order_as_long_as_there_are_permits():
    it = queue(2)
    it.add(101, 102, 103)
    assert (it.begun, it.queue.at_work, it.queue.can_begin) == ([101, 102], 3, False)
    it.end(101, 101)
    assert (it.begun, it.queue.at_work) == ([103], 2)


def test_r22_lanes_come_one_after_another_and_each_in_its_order():
    it = queue(1)
    it.add(199)
    it.add(201, 101, 1, 202, 2, 102)
    order = []
    for _ in range(6):
        it.end(*it.queue.executing)
        order += it.begun
    assert order == [1, 2, 101, 102, 201, 202]


def test_r22_a_lane_without_a_permit_left_is_passed_over():
    it = queue(3, high=1, low=2)
    it.add(1, 2, 201, 202, 203)
    assert it.begun == [1, 201, 202], "the high lane has its one, and the others go on"
    it.add(101)
    assert (it.begun, it.queue.at_work) == ([1, 201, 202], 6), "concurrency bounds them all"
    it.end(201)
    assert it.begun == [101]
    it.end(202)
    assert it.begun == [203]
    it.end(101)
    assert (it.begun, it.queue.can_begin) == ([], False), "a permit is free, but not for high"
    it.end(1)
    assert it.begun == [2]


def test_those_that_go_on_come_before_those_that_begin_by_lane_and_within_its_permits():
    it = queue(3, gate_open=False, low=1)
    it.add(1, 101)
    for number in (201, 202, 102):
        it.queue.resume(number, f"p{number}", number // 100)
    it.program.work()
    assert it.begun == []
    it.program.gate_open = True
    it.end()
    assert it.begun == ["p102", "p201", 1]
    it.end(1, 102)
    assert it.begun == [101]
    it.end(201)
    assert it.begun == ["p202"]


def test_who_takes_a_permit_unasked_counts_once():
    it = queue(2, high=1)
    it.queue.take_permit(7, HIGH)
    it.queue.take_permit(7, HIGH)
    it.add(1, 101)
    assert (it.begun, list(it.queue.executing)) == ([101], [7, 101])
    it.end(7)
    assert it.begun == [1]


def test_r20_a_withdrawn_event_does_not_begin():
    it = queue(1)
    it.add(1, 2, 101, 102)
    it.queue.withdraw(2, HIGH)
    it.queue.withdraw(102, MEDIUM)
    it.queue.withdraw(102, MEDIUM)
    it.end(1)
    it.end(101)
    assert (it.begun, it.queue.at_work) == ([], 0)


# -- who holds an instance


def test_r16_who_waits_for_an_instance_comes_by_priority_and_then_in_order():
    holders = Holders()
    assert holders.take("a", 1, MEDIUM)
    for event, rank in ((2, LOW), (3, MEDIUM), (4, HIGH), (5, MEDIUM), (6, HIGH)):
        assert not holders.take("a", event, rank)
    assert holders.take("b", 7, LOW), "another thing"
    assert holders.holding() == {1}, "nobody waits for what 7 holds"
    holders.leave("a", 3)
    holders.leave("a", 3)
    assert [holders.free(n) for n in (1, 4, 6, 5, 2)] == [4, 6, 5, 2, None]
    assert (holders.holder("a"), holders.holder("b")) == (None, 7)


def test_a_holder_that_gives_way_comes_first_among_its_own():
    holders = Holders()
    holders.take("a", 1, LOW)
    holders.take("a", 2, LOW)
    holders.hand_over("a", 3, LOW)
    assert (holders.holder("a"), holders.free(1)) == (3, None)
    assert [holders.free(n) for n in (3, 1, 2)] == [1, 2, None]


# -- who waits for room


def in_room(capacity, scenario):
    """Run a scenario in a room of that capacity; `come` asks for a place in the high lane."""

    async def main():
        room, inside = Room(capacity), []

        async def come(number):
            async with room.place(HIGH):
                inside.append(number)
                room.add(number, HIGH)

        await scenario(room, inside, lambda number: asyncio.ensure_future(come(number)))

    asyncio.run(main())


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


def test_r22_each_lane_has_its_own_room_and_who_waits_is_served_in_order():
    async def scenario(room, inside, come):
        for number in (1, 2):
            room.add(number, HIGH)
        assert [room.is_full(rank) for rank in (HIGH, MEDIUM, LOW)] == [True, False, False]
        waiting = [come(number) for number in (3, 4, 5)]
        await settled()
        assert inside == []
        room.leave(9, HIGH)
        await settled()
        assert inside == [], "it wasn't in there"
        room.leave(1, HIGH)
        assert room.is_full(HIGH), "the place is for who waits, not for who comes now"
        await settled()
        assert (inside, room.count(HIGH)) == ([3], 2)
        room.leave(2, HIGH)
        room.leave(3, HIGH)
        await asyncio.gather(*waiting)
        assert inside == [3, 4, 5]

    in_room(2, scenario)


@pytest.mark.parametrize("when", ["while it waits", "as it is let in", "both at once"])
def test_who_gives_up_neither_takes_nor_blocks_a_place(when):
    async def scenario(room, inside, come):
        room.add(1, HIGH)
        first, second = come(2), come(3)
        await settled()
        if when == "while it waits":
            first.cancel()
            await settled()
            room.leave(1, HIGH)
        elif when == "as it is let in":
            room.leave(1, HIGH)
            first.cancel()
        else:
            first.cancel()
            room.leave(1, HIGH)
        await second
        assert (first.cancelled(), inside) == (True, [3])
        room.leave(3, HIGH)
        assert not room.is_full(HIGH), "no place is lost"

    in_room(1, scenario)


def test_a_place_that_nobody_took_goes_to_the_next():
    async def scenario(room, inside, come):
        async def look():
            async with room.place(HIGH):
                raise KeyError("it was there already")

        room.add(1, HIGH)
        first = asyncio.ensure_future(look())
        second = come(2)
        await settled()
        room.leave(1, HIGH)
        with pytest.raises(KeyError):
            await first
        await second
        assert inside == [2]

    in_room(1, scenario)


def test_who_is_let_in_comes_in_though_others_came_unasked_meanwhile():
    async def scenario(room, inside, come):
        room.add(1, HIGH)
        waiting = come(2)
        await settled()
        room.leave(1, HIGH)
        room.add(7, HIGH)  # a handler's
        await waiting
        assert (room.count(HIGH), room.is_full(HIGH)) == (2, True)

    in_room(1, scenario)


def test_at_the_end_of_the_program_nobody_waits_on():
    async def scenario(room, inside, come):
        room.add(1, HIGH)
        waiting = [come(2), come(3)]
        await settled()
        room.close()
        await asyncio.wait_for(asyncio.gather(*waiting), 10)

    in_room(1, scenario)
