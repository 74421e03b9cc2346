"""RetryPolicy: how often, and how soon, a failed attempt is made again.

It decides from the policy, the attempt and the error alone; chance comes in from outside, and the
end of each backoff goes on record, so nothing is decided twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from agentctl.errors import (
    AgentctlError,
    CallFailed,
    NonRetryable,
    StepFailed,
    UsageError,
)
from agentctl.times import SECOND_US

LONGEST_BACKOFF_S: Final = 10 * 366 * 86_400.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_delay(what: str, seconds: float) -> None:
    if not _is_number(seconds) or not 0 <= seconds <= LONGEST_BACKOFF_S:
        raise UsageError(
            f"the {what} of a backoff is {seconds!r}",
            hint="give seconds, from 0 to ten years",
        )


@dataclass(frozen=True)
class Fixed:
    """The same delay after each failed attempt, in seconds.

    Raises:
        UsageError: it is negative, or no length of time.
    """

    delay: float

    def __post_init__(self) -> None:
        _check_delay("delay", self.delay)

    def seconds(self, failures: int) -> float:
        """The delay after so many failed attempts."""
        return self.delay


@dataclass(frozen=True)
class Exponential:
    """A delay that grows: `base` times `factor` after each failure but the first, up to `cap`.

    Both are in seconds.

    Raises:
        UsageError: one is negative, `cap` is less than `base`, or `factor` less than 1.
    """

    base: float
    cap: float
    factor: float = 2.0

    def __post_init__(self) -> None:
        _check_delay("base", self.base)
        _check_delay("cap", self.cap)
        if self.cap < self.base:
            raise UsageError(f"the cap of a backoff is {self.cap}, less than its base {self.base}")
        if not (_is_number(self.factor) and math.isfinite(self.factor) and self.factor >= 1):
            raise UsageError(f"the factor of a backoff is {self.factor!r}, and must be at least 1")

    def seconds(self, failures: int) -> float:
        """The delay after so many failed attempts."""
        try:
            return min(float(self.base * self.factor ** (failures - 1)), float(self.cap))
        except OverflowError:
            return float(self.cap)


Backoff: TypeAlias = Fixed | Exponential


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and how soon, a failed attempt is made again.

    Attributes:
        max_attempts: the first one counts.
        backoff: how long to wait after a failure.
        jitter: lengthens each wait by chance, up to this share of it: 0.1 is up to a tenth.
        retry_on: the errors after which another attempt makes sense; None: all but agentctl's own
            refusals. Of a group, each must be one of them.

    Raises:
        UsageError: it makes no sense.
    """

    max_attempts: int = 1
    backoff: Fixed | Exponential = Fixed(0)
    jitter: float = 0.0
    retry_on: tuple[type[Exception], ...] | None = None

    def __post_init__(self) -> None:
        attempts: object = self.max_attempts
        if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
            raise UsageError(
                f"max_attempts is {attempts!r}, and must be a whole number from 1 on",
                hint="the first attempt counts",
            )
        backoff: object = self.backoff
        if not isinstance(backoff, (Fixed, Exponential)):
            raise UsageError(f"the backoff is {backoff!r}", hint="give Fixed(…) or Exponential(…)")
        if not (_is_number(self.jitter) and 0 <= self.jitter <= 1):
            raise UsageError(f"the jitter is {self.jitter!r}, and must be from 0 to 1")
        errors: object = self.retry_on or ()
        if not isinstance(errors, tuple):
            raise UsageError(f"retry_on is {errors!r}", hint="give a tuple: retry_on=(OSError,)")
        for one in errors:
            if not (isinstance(one, type) and issubclass(one, Exception)):
                raise UsageError(f"retry_on has {one!r}, and takes types of errors")

    def delay_us(self, attempt: int, chance: float) -> int:
        """How long to wait after this failed attempt; `chance` is from 0 to 1."""
        seconds = self.backoff.seconds(attempt) * (1 + self.jitter * chance)
        return round(seconds * SECOND_US)

    def allows_another(self, attempt: int, error: BaseException) -> bool:
        """Whether another attempt follows the one that failed with this error."""
        if attempt >= self.max_attempts or isinstance(error, NonRetryable):
            return False
        if isinstance(error, BaseExceptionGroup):
            return all(self.allows_another(attempt, one) for one in error.exceptions)
        if self.retry_on is not None:
            return isinstance(error, self.retry_on)
        return isinstance(error, Exception) and not _is_final(error)


ONCE: Final = RetryPolicy()


def _is_final(error: Exception) -> bool:
    """Whether it is a refusal of agentctl's own, which another attempt would meet again."""
    if isinstance(error, StepFailed):
        return True
    return isinstance(error, AgentctlError) and not isinstance(error, CallFailed)
