"""KeyOutcomes: how the events of idempotency keys ended, in the order of their ends (R17).

Those of workflows' runs stay until their instance is deleted; the others until they are old.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from agentctl.names import Identity
from agentctl.record_kept import OutcomeRecord

InstanceKey: TypeAlias = tuple[Identity, str]


class KeyOutcomes(Mapping[InstanceKey, OutcomeRecord]):
    """The outcomes, by instance and key."""

    def __init__(self) -> None:
        self._passing: OrderedDict[InstanceKey, OutcomeRecord] = OrderedDict()
        self._lasting: dict[InstanceKey, OutcomeRecord] = {}
        self._of_events: dict[int, OutcomeRecord] = {}

    def of_event(self, number: int) -> OutcomeRecord | None:
        """How an event ended, if that is remembered for its key."""
        return self._of_events.get(number)

    def __getitem__(self, at: InstanceKey) -> OutcomeRecord:
        found = self._passing.get(at)
        return self._lasting[at] if found is None else found

    def __iter__(self) -> Iterator[InstanceKey]:
        return chain(self._lasting, self._passing)

    def __len__(self) -> int:
        return len(self._lasting) + len(self._passing)

    def put(self, outcome: OutcomeRecord) -> None:
        """Take an outcome; a key that was used anew goes behind the others."""
        at = outcome.of, outcome.key
        self.drop(at)
        self._of_events[outcome.outcome] = outcome
        if outcome.once:
            self._lasting[at] = outcome
        else:
            self._passing[at] = outcome

    def drop(self, at: InstanceKey) -> None:
        """Forget the outcome of one key."""
        gone = self._passing.pop(at, None) or self._lasting.pop(at, None)
        if gone is not None:
            del self._of_events[gone.outcome]

    def forget_before(self, before_us: int) -> None:
        """Forget those that ended before then, workflows' aside."""
        while self._passing and next(iter(self._passing.values())).at < before_us:
            self.drop(next(iter(self._passing)))

    def forget(self, of: Identity) -> None:
        """Forget those of an instance that was deleted."""
        for at in [at for at in self if at[0] == of]:
            self.drop(at)
