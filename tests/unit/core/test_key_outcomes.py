"""R17: how keyed events ended is known until it is old; a workflow's, with its instance."""

from __future__ import annotations

from agentctl.core.key_outcomes import KeyOutcomes
from agentctl.record_kept import OutcomeRecord


def outcome(event: int, key: str, at: int, *, once: bool = False, of: str = "ana") -> OutcomeRecord:
    return OutcomeRecord(event, "run", key, "completed", (of,), once=once, at=at)


def kept(*outcomes: OutcomeRecord) -> KeyOutcomes:
    made = KeyOutcomes()
    for one in outcomes:
        made.put(one)
    return made


def events(outcomes: KeyOutcomes) -> set[int]:
    assert len(list(outcomes)) == len(outcomes)
    found = {outcomes[at].outcome for at in outcomes}
    assert all(outcomes.of_event(number) is not None for number in found)
    return found


def test_the_old_ones_are_forgotten_and_workflows_never() -> None:
    outcomes = kept(outcome(1, "run", 10, once=True), outcome(2, "a", 20), outcome(3, "b", 30))
    outcomes.forget_before(30)
    assert events(outcomes) == {1, 3}
    assert outcomes.of_event(2) is None


def test_a_key_that_was_used_anew_is_as_young_as_its_last_event() -> None:
    outcomes = kept(outcome(1, "a", 10), outcome(2, "b", 20), outcome(3, "a", 30))
    assert outcomes.of_event(1) is None
    outcomes.forget_before(25)
    assert events(outcomes) == {3}


def test_what_an_instance_had_goes_with_it_and_nothing_else() -> None:
    outcomes = kept(
        outcome(1, "run", 10, once=True), outcome(2, "a", 20), outcome(3, "a", 30, of="bob")
    )
    outcomes.forget(("ana",))
    assert events(outcomes) == {3}
    outcomes.drop((("nobody",), "a"))
    assert events(outcomes) == {3}
