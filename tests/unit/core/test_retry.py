"""Retry policies: what makes no sense is refused, and how long a backoff takes."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agentctl import Exponential, Fixed, RetryPolicy, StepDef, step
from agentctl.errors import NonRetryable, UsageError


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: RetryPolicy(0),
        lambda: RetryPolicy(-1),
        lambda: RetryPolicy(True),
        lambda: RetryPolicy(1.5),  # type: ignore[arg-type]
        lambda: RetryPolicy(2, jitter=-0.1),
        lambda: RetryPolicy(2, jitter=1.1),
        lambda: RetryPolicy(2, backoff=3),  # type: ignore[arg-type]
        lambda: RetryPolicy(2, retry_on=(BaseException,)),  # type: ignore[arg-type]
        lambda: RetryPolicy(2, retry_on=OSError),  # type: ignore[arg-type]
        lambda: Fixed(-1),
        lambda: Fixed(float("nan")),
        lambda: Exponential(base=10, cap=5),
        lambda: Exponential(base=-1, cap=5),
        lambda: Exponential(base=1, cap=float("inf")),
        lambda: Exponential(base=1, cap=5, factor=0.5),
        lambda: StepDef("", retry=None),
        lambda: StepDef("a", timeout=0),
        lambda: step("outside", asyncio.sleep),  # type: ignore[arg-type]
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(Exception) as refused:
        wrong()
    assert isinstance(refused.value, UsageError) or "works in a handler" in str(refused.value)


def test_a_backoff_grows_by_its_factor_up_to_its_cap_and_jitter_lengthens_it():
    backoff = Exponential(base=2, cap=30, factor=3)
    assert [backoff.seconds(n) for n in (1, 2, 3, 4, 5000)] == [2, 6, 18, 30, 30]
    policy = RetryPolicy(9, Fixed(10), jitter=0.5)
    assert [policy.delay_us(1, chance) for chance in (0.0, 0.5, 1.0)] == [
        10_000_000,
        12_500_000,
        15_000_000,
    ]
    assert timedelta(microseconds=policy.delay_us(1, 0)) == timedelta(seconds=10)


def test_of_a_group_each_error_must_allow_another_attempt():
    policy = RetryPolicy(9, retry_on=(OSError, NonRetryable))
    fine = ExceptionGroup("two", [OSError(), ExceptionGroup("one", [OSError()])])
    assert policy.allows_another(1, fine)
    assert not policy.allows_another(9, fine)
    for other in (ValueError(), NonRetryable("no")):
        assert not policy.allows_another(1, ExceptionGroup("both", [fine, other]))
    assert RetryPolicy(2).allows_another(1, ExceptionGroup("any", [ValueError()]))
