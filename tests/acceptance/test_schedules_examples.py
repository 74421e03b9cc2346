"""The examples in the help of `schedule set`, in a new project; and what deleting says."""

from __future__ import annotations

import shlex

import pytest

from agentctl.cli.commands.schedule_set import EXAMPLES

from .support import Project


@pytest.mark.parametrize("example", [example for example, _ in EXAMPLES])
def test_an_example_sets_a_schedule(shop: Project, example: str) -> None:
    _, *words = shlex.split(example)
    name = words[words.index("--name") + 1]
    told = shop.agentctl(*words).expect(0)
    assert told.out.startswith(f"Bot {name} due ")
    assert shop.agentctl("schedule", "list").expect(0).out.startswith(f"Bot\t{name}\trequest\t")
    # Said again, it stays as it is.
    again = shop.agentctl(*words).expect(0)
    assert again.out == told.out
    assert "nothing changed" in again.err


def test_deleting_an_instance_names_its_schedules(shop: Project) -> None:
    words = ("schedule", "set", "Bot", "request", "7", "--every", "1h", "--name")
    for name in ("a", "b"):
        shop.agentctl(*words, name).expect(0)
    told = shop.agentctl("agent", "delete", "Bot", "--dry-run", "--json").expect(0)
    assert told.json["schedules"] == ["a", "b"]
    told = shop.agentctl("agent", "delete", "Bot", "--yes").expect(0)
    assert "2 schedules (a, b), no open event" in told.err
    assert shop.agentctl("schedule", "list").expect(0).out == ""
