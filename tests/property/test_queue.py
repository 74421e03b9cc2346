"""Whatever comes, waits and ends: permits hold, the order is right, and none stays free in vain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentctl.core.lanes import LANES
from agentctl.engines.local.running.queue import EventQueue, Permits

ranks = st.integers(0, 2)
moves = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "again", "park", "resume", "end", "withdraw", "gate"]), ranks
    ),
    max_size=60,
)


class Model:
    """What is right, in the plainest words: one list for each lane, looked through from the top."""

    def __init__(self, permits):
        self.permits = permits
        self.going_on, self.to_begin, self.executing = [], [], []

    def has_permit(self, one):
        rank = one[0]
        mine = sum(other[0] == rank for other in self.executing)
        most = self.permits.of_lanes.get(LANES[rank], self.permits.at_once)
        return mine < most and len(self.executing) < self.permits.at_once

    def work(self):
        """Who executes next, until nobody may; in this order."""
        order = []
        while True:
            line = [*sorted(self.going_on, key=lambda one: one[0])]
            line += sorted(self.to_begin, key=lambda one: one[0])
            chosen = next((one for one in line if self.has_permit(one)), None)
            if chosen is None:
                return order
            (self.going_on if chosen in self.going_on else self.to_begin).remove(chosen)
            self.executing.append(chosen)
            order.append(chosen[1])


class Program:
    """What a queue needs of its program; it works at once when it is told to."""

    def __init__(self):
        self.gate_open, self.stopping, self.todo = True, False, []

    def soon(self, callback):
        self.todo.append(callback)

    def settle_soon(self):
        pass


@given(
    at_once=st.integers(1, 4),
    of_lanes=st.dictionaries(st.sampled_from(LANES), st.integers(1, 4)),
    moves=moves,
)
def test_r22_the_queue_does_what_a_plain_list_would(at_once, of_lanes, moves):
    permits, program, order, lane_of = Permits(at_once, of_lanes), Program(), [], {}

    def begin(number, path=""):
        order.append(number)
        queue.take_permit(number, lane_of[number])

    queue, model = EventQueue(program, permits, begin, begin), Model(permits)
    parked = []
    for number, (move, rank) in enumerate(moves):
        lane_of[number] = rank
        mine = [one for one in model.executing if one[0] == rank]
        if move == "add":
            queue.add(number, rank)
            model.to_begin.append((rank, number))
        elif move == "again":
            queue.add(number, rank, begun=True)
            model.going_on.append((rank, number))
        elif move in ("park", "end") and mine:
            model.executing.remove(mine[0])
            queue.give_back(mine[0][1])
            queue.pump_soon()
            parked += [mine[0]] if move == "park" else []
        elif move == "resume" and parked:
            one = parked.pop(0)
            queue.resume(one[1], "1", one[0])
            model.going_on.append(one)
        elif move == "withdraw" and model.to_begin:
            one = model.to_begin.pop()
            queue.withdraw(one[1], one[0])
        elif move == "gate":
            program.gate_open = not program.gate_open
            queue.pump_soon()
        order.clear()
        while program.todo:
            program.todo.pop(0)()
        assert order == (model.work() if program.gate_open else [])
        assert sorted(queue.executing) == sorted(number for _, number in model.executing)
        waiting = len(model.going_on) + len(model.to_begin)
        assert (queue.at_work, queue.can_begin) == (len(model.executing) + waiting, False)
