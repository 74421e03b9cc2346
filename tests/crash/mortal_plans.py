"""The crash matrix's scenarios of steps and workflows; mortal_steps.py says what they hold."""

from __future__ import annotations

from matrix import Scenario
from mortal_agents import cured
from mortal_changes import both, cold, delete, entered, live, requeue, retry
from mortal_shop import HOUR_S, Doomed, Errand, Shop, Torn, Tour, Visit
from mortal_steps import (
    FORGETFUL,
    QUICKLY_ASIDE,
    after_an_hour,
    after_turns,
    at_rest,
    away,
    cancel,
    died_in,
    give,
    of,
    program,
)

ORDER = ("order", 5)
COLOUR = ("colour",)
RUN = ("run",)
NOTHING = ("nothing", "x" * 3000)
TRIED = {"attempts": {"1": 3, "2": 2}, "backoffs_s": {"Shop-1-1": (HOUR_S, HOUR_S)}}
STEPS = {
    "retries": of(Shop, program(Shop, ORDER), **TRIED),
    "a backoff, then away": of(
        Shop, program(Shop, ORDER, killed=True), away(600), program(Shop), **TRIED
    ),
    "a capability's retries": of(
        Shop, program(Shop, ("calls",)), backoffs_s={"Shop-1-1": (60, 100, 100)}
    ),
    "too slow": of(Shop, program(Shop, ("slowly",)), attempts={"1": 2}),
}
CHOOSE = "Shop-1-1"
INPUTS = {
    "a step's, live": of(
        Shop,
        program(Shop, COLOUR, acts=[at_rest(give(live, CHOOSE, "blue", "red"))]),
        attempts={"1": 1},
        result="blue",
    ),
    "a step's, without a program": of(
        Shop,
        program(Shop, COLOUR, killed=True),
        give(cold, CHOOSE, "blue", "red"),
        program(Shop),
        attempts={"1": 1},
        result="blue",
    ),
    "a question's, before it is awaited": of(
        Shop,
        program(Shop, ("asked",), posted=give(live, CHOOSE, "blue", "red")),
        result="blue",
    ),
    "a question's, without a program": of(
        Shop,
        program(Shop, ("asked",), killed=True),
        give(cold, CHOOSE, "blue", "red"),
        program(Shop),
        result="blue",
    ),
    "a question's, too late": of(Shop, program(Shop, ("asked", 60.0)), result="none"),
}
ENDS = {
    "run twice": of(
        Tour,
        program(Tour, RUN, RUN),
        program(Tour, RUN, RUN, ids="again"),
        attempts={"1": 1, "2": 2, "3": 1},
        result="Tour-1-3.1",
    ),
    "undone": of(
        Doomed,
        program(Doomed, RUN),
        program(Doomed, RUN, ids="again"),
        ends=("failed",),
        undone=("2", "1"),
        backoffs_s={"Doomed-1-4.1": (HOUR_S,)},
    ),
    "torn": of(Torn, program(Torn, RUN), ends=("failed",), undone=("2", "1")),
    "deleted": of(
        Errand,
        cured,
        program(Errand, RUN),
        delete(cold, (), 1),
        program(Errand, RUN, ids="anew"),
        events=2,
    ),
}
FAILED = ("Errand-1-2", "Errand-1-2.1")
UNDOING = ("Torn-1-4.1", "Torn-1-4.1.1")
ONCE_EACH = {"attempts": {"1": 1, "2": 1, "3": 1}}
RETRIES = {
    "live": of(Errand, program(Errand, RUN, acts=[at_rest(retry(live, 1, *FAILED))]), **ONCE_EACH),
    "without a program": of(
        Errand, program(Errand, RUN), retry(cold, 1, *FAILED), program(Errand), **ONCE_EACH
    ),
    "of what couldn't be undone": of(
        Torn,
        program(Torn, RUN),
        retry(cold, 1, *UNDOING),
        program(Torn),
        ends=("failed",),
        undone=("1", "2"),
    ),
}
IN_AN_ATTEMPT = after_an_hour(entered("Tour-1-3.1"))
CANCELS = {
    "in an attempt": of(
        Tour,
        program(Tour, RUN, acts=[IN_AN_ATTEMPT, cancel(live)]),
        ends=("cancelled", "completed"),
        undone=None,
        done=("3",),
    ),
    "in an attempt, at once": of(
        Tour,
        program(Tour, RUN, acts=[IN_AN_ATTEMPT, cancel(live, running=True)]),
        ends=("cancelled", "completed"),
        undone=None,
    ),
    "in a backoff": of(
        Tour,
        program(Tour, RUN, acts=[at_rest(cancel(live))]),
        ends=("cancelled",),
        undone=("1",),
    ),
    "waiting, without a program": of(
        Visit,
        program(Visit, RUN, killed=True),
        cancel(cold),
        program(Visit),
        ends=("cancelled",),
        undone=("1",),
    ),
    "answered, without a program": of(
        Visit,
        program(Visit, RUN, killed=True),
        both(give(cold, "Visit-1-2", "yes"), cancel(cold)),
        program(Visit),
        ends=("cancelled", "completed"),
        undone=None,
    ),
    "wherever it died": of(
        Tour,
        died_in(program(Tour, RUN)),
        cancel(cold),
        program(Tour, RUN),
        ends=("cancelled", "completed"),
        undone=None,
    ),
}


def cancelled_after(turns: int, *, later: bool) -> Scenario:
    """A workflow that is cancelled after so many turns of its program, or of its second hour."""
    act = after_turns(turns, cancel(live))
    return of(
        Tour,
        program(Tour, RUN, acts=[after_an_hour(act) if later else act]),
        ends=("cancelled", "completed"),
        undone=None,
    )


KILLS = program(
    Shop, ("both",), acts=[at_rest(give(live, "Shop-1-5", "blue"))], settings=QUICKLY_ASIDE
)
CHOOSE_RED = give(live, "Shop-1-3", "red")
GO_ON = program(Shop, acts=[at_rest(CHOOSE_RED)])
BACK = {"attempts": {"1": 2, "3": 1, "5": 1}, "result": "['Shop-1-1.1', 'red', 'blue']"}
ASIDE = {
    "live": of(Shop, KILLS, program(Shop, acts=[requeue(live), at_rest(CHOOSE_RED)]), **BACK),
    "without a program": of(Shop, KILLS, requeue(cold), GO_ON, **BACK),
}
COMPACTS = of(
    Shop,
    program(
        Shop,
        ORDER,
        COLOUR,
        *[NOTHING] * 4,
        acts=[at_rest(give(live, "Shop-2-1", "blue", "red"))],
        settings=FORGETFUL,
        compacts=True,
    ),
    events=6,
    backoffs_s={"Shop-1-1": (HOUR_S, HOUR_S)},
)
