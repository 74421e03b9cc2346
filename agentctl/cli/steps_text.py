"""Steps and attempts in words.

Never decides how a step stands, and never shows a recorded secret unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from agentctl.cli.failures import error_text
from agentctl.cli.moments import Moments
from agentctl.engines.step_views import StepView
from agentctl.engines.views import CallView, EventView
from agentctl.ops.hidden import hide

STEP_TITLES: Final = ("key", "step", "attempt", "state", "begun", "outcome")


def attempts_of_call(call: CallView, moments: Moments) -> str | None:
    """Say of a call that was tried again which attempt it is, and why it is that; else None."""
    if not call.attempts:
        return None
    last = call.attempts[-1]
    if call.next_us is not None:
        due = moments.due(call.next_us)
        return f"attempt {last.n} {_failed(last.error)}; attempt {last.n + 1} {due}"
    if last.n == 1:
        return None
    said = f"attempt {last.n}"
    return f"{said}; the last one {_failed(call.attempts[-2].error)}" if call.attempts[1:] else said


def _failed(error: str | None) -> str:
    return f"failed ({error_text(error, '')})" if error else "failed"


def step_rows(
    event: EventView, moments: Moments, *, show_secrets: bool = False
) -> Iterator[Sequence[str]]:
    """One row an attempt: key, step, attempt, state, when it began, and what came of it."""
    for step in event.steps:
        *failed, last = step.attempts
        for one in failed:
            said = error_text(one.error, "") or "-"
            yield step.key, step.name, str(one.n), "failed", moments(one.at_us), said
        state = step.state.replace("_", " ")
        said = _outcome(step, moments, show_secrets=show_secrets)
        yield step.key, step.name, str(last.n), state, moments(last.at_us), said


def _outcome(step: StepView, moments: Moments, *, show_secrets: bool) -> str:
    if step.value is not None:
        return hide(step.value, show_secrets=show_secrets).decode()
    last = step.attempts[-1]
    error = error_text(last.error, "")
    if step.next_us is not None:
        return f"{error}; attempt {last.n + 1} {moments.due(step.next_us)}"
    return step.asks or error or "-"
