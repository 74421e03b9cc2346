"""R11: many clients at once and no program: each is answered, and nothing is made twice."""

from __future__ import annotations

from collections import Counter

import pytest

from .desk import events_on_record, make_desk
from .support import Project

CLIENTS = 30


@pytest.mark.parametrize("keys", ["one key", "own keys"])
def test_r11_thirty_clients_without_a_program_are_all_answered(project: Project, keys: str) -> None:
    make_desk(project, "Clerk")
    names = ["all" if keys == "one key" else f"n{number}" for number in range(CLIENTS)]
    clients = [
        project.start_agentctl("invoke", "-i", name, "Clerk", "tally", name) for name in names
    ]
    # Each is a program that the machine has to start: what it waits for another isn't the point.
    told = [client.end(timeout=90) for client in clients]
    assert Counter(one.code for one in told) == {0: CLIENTS}, [one.err for one in told if one.code]
    assert [one.out for one in told] == [f'"{name}"\n' for name in names]
    assert sorted(line.split()[1] for line in project.ledger("tally ")) == sorted(set(names))
    assert len(events_on_record(project)) == len(set(names))
