"""R10: which start counts, whose turn it is, who is set aside. One bad event takes no neighbour."""

from __future__ import annotations

import pytest

from agentctl.core.history import JournalHistory
from agentctl.core.suspicion import plan_start
from agentctl.records import decode, kind_of


class Program:
    """Agents whose events die with the program, as records only."""

    def __init__(self, *agents, max_starts=3):
        self.lines = {
            agent: [f'{{"journal":1,"agent":"{agent}","id":"ab","next":1}}'] for agent in agents
        }
        self.max_starts = dict.fromkeys(agents, max_starts)

    def accept(self, agent, number):
        self.lines[agent].append(f'{{"event":{number},"handler":"h","args":[]}}')

    def write(self, agent, line):
        self.lines[agent].append(line)

    def histories(self):
        folded = {}
        for agent, lines in self.lines.items():
            history = folded[agent] = JournalHistory()
            for line in lines:
                body = line.encode()
                history.fold(kind_of(body), decode(body), body)
        return folded

    def plan(self):
        return plan_start(self.histories(), self.max_starts)

    def start(self, *, bad, without=()):
        """One start: set aside, then run until the bad ones kill it; returns its plan.

        Events that get the turn, or run beside others, and aren't bad, end.
        """
        plan = self.plan()
        for agent, number in plan.set_aside:
            self.write(agent, f'{{"aside":{number},"handler":"h","starts":3,"nonce":""}}')
        waiting = set(plan.turns)
        running = [
            (agent, number)
            for agent, history in self.histories().items()
            for number in sorted(history.open)
            if (agent, number) not in waiting
        ]
        if plan.turns:
            for this in plan.turns:
                self.begin(this, plan, alone=True)
                if this in bad:
                    return plan  # the program died, alone with it
                self.write(this[0], f'{{"done":{this[1]}}}')
        for this in running:
            self.begin(this, plan, alone=False)
        if bad & set(running):
            return plan
        for agent, number in running:
            self.write(agent, f'{{"done":{number}}}')
        return plan

    def start_until_idle(self, *, bad, at_most):
        for _ in range(at_most):
            if not self.open:
                break
            self.start(bad=bad)

    def begin(self, this, plan, *, alone):
        agent, number = this
        if this in plan.counted:
            flag = ',"alone":true' if alone else ""
            self.write(agent, f'{{"again":{number}{flag},"at":2}}')
        else:
            self.write(agent, f'{{"start":{number},"at":1}}')

    @property
    def aside(self):
        return {(a, n) for a, history in self.histories().items() for n in history.asides}

    @property
    def open(self):
        return {(a, n) for a, history in self.histories().items() for n in history.open}


def test_p1_of_64_events_the_one_that_kills_the_program_is_set_aside_alone():
    program = Program("Bot")
    for number in range(1, 65):
        program.accept("Bot", number)
    bad = {("Bot", 17)}
    program.start_until_idle(bad=bad, at_most=10)
    assert program.aside == bad
    assert not program.open


def test_p1_with_two_agents_in_the_process_turns_go_across_both():
    program = Program("Bot", "Poller")
    for number in range(1, 9):
        program.accept("Bot", number)
        program.accept("Poller", number)
    bad = {("Poller", 5)}
    program.start_until_idle(bad=bad, at_most=10)
    assert program.aside == bad
    assert not program.open


def test_several_bad_events_are_set_aside_one_after_the_other_and_no_good_one():
    program = Program("Bot", "Poller")
    for number in range(1, 17):
        program.accept("Bot", number)
        program.accept("Poller", number)
    bad = {("Bot", 2), ("Bot", 16), ("Poller", 1)}
    program.start_until_idle(bad=bad, at_most=20)
    assert program.aside == bad
    assert not program.open


@pytest.mark.parametrize("max_starts", [1, 2, 3, 5])
def test_k3_an_event_alone_is_set_aside_after_max_starts_starts(max_starts):
    program = Program("Bot", max_starts=max_starts)
    program.accept("Bot", 1)
    for start in range(max_starts):
        assert program.start(bad={("Bot", 1)}).set_aside == (), f"start {start + 1}"
    assert program.plan().set_aside == (("Bot", 1),)
    event = program.histories()["Bot"].open[1]
    assert event.starts == max_starts


@pytest.mark.parametrize("max_starts", [1, 2, 3, 5])
def test_no_neighbour_goes_with_a_bad_one_however_few_starts_it_gets(max_starts):
    program = Program("Bot", max_starts=max_starts)
    for number in range(1, 9):
        program.accept("Bot", number)
    bad = {("Bot", 4)}
    program.start_until_idle(bad=bad, at_most=20)
    assert program.aside == bad


def lines(*records):
    program = Program("Bot")
    for record in records:
        program.write("Bot", record)
    return program


EVENT = '{"event":1,"handler":"h","args":[]}'
START = '{"start":1,"at":1}'
TIMER = '{"call":"1-1","fn":"timer","until":9,"at":1}'
AGAIN = '{"again":1,"at":2}'
ALONE = '{"again":1,"alone":true,"at":3}'
BUG = '{"bug":1,"text":"KeyError"}'


def test_an_event_that_was_only_queued_or_parked_is_under_no_suspicion():
    assert lines(EVENT).plan().counted == frozenset()
    assert lines(EVENT, START, TIMER, '{"parked":1}').plan().counted == frozenset()


@pytest.mark.parametrize("stop", ['{"stopping":1}', '{"stop":1}'])
def test_what_a_graceful_stop_cut_off_is_not_counted_from_the_signal_on(stop):
    plan = lines(EVENT, START, AGAIN, ALONE, stop).plan()
    assert (plan.counted, plan.set_aside, plan.turns) == (frozenset(), (), ())


def test_after_a_first_death_all_start_together_from_the_second_on_in_turns():
    assert lines(EVENT, START).plan().turns == ()
    assert lines(EVENT, START).plan().counted == {("Bot", 1)}
    assert lines(EVENT, START, AGAIN).plan().turns == (("Bot", 1),)


def test_a_stuck_event_is_counted_holds_nobody_up_and_is_set_aside_too():
    plan = lines(EVENT, START, BUG).plan()
    assert (plan.counted, plan.turns) == ({("Bot", 1)}, ())
    assert lines(EVENT, START, BUG, AGAIN, BUG).plan().turns == ()
    assert lines(EVENT, START, BUG, AGAIN, BUG, AGAIN, BUG).plan().set_aside == (("Bot", 1),)


def test_a_stuck_event_is_counted_after_a_graceful_stop_too():
    assert lines(EVENT, START, BUG, '{"stop":1}').plan().counted == {("Bot", 1)}


def test_only_an_event_that_had_the_turn_at_the_last_death_can_be_set_aside():
    others = ['{"event":2,"handler":"h","args":[]}', '{"start":2,"at":1}']
    together = lines(EVENT, START, *others, AGAIN, AGAIN, '{"again":2}', '{"again":2}')
    assert together.plan().set_aside == ()
    alone = lines(EVENT, START, *others, AGAIN, ALONE, '{"again":2}')
    assert alone.plan().set_aside == (("Bot", 1),)


def test_a_new_result_clears_an_event():
    call, ok = '{"call":"1-1","fn":"x","at":1}', '{"ok":"1-1","at":4}'
    plan = lines(EVENT, START, AGAIN, ALONE, call, ok).plan()
    assert (plan.set_aside, plan.turns) == ((), ())
    assert plan.counted == {("Bot", 1)}


def test_each_agent_has_its_own_number_of_starts():
    program = Program("Bot", "Poller")
    program.max_starts["Poller"] = 5
    for agent in ("Bot", "Poller"):
        program.accept(agent, 1)
        for line in (START, AGAIN, ALONE):
            program.write(agent, line)
    assert program.plan().set_aside == (("Bot", 1),)
