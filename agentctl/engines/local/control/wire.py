"""What goes over a control socket beside changes and questions: waits and ends."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Raw, Struct, UnsetType

from agentctl.core.kept import Asking
from agentctl.engines.port import Ended, EndStatus
from agentctl.names import Address


class WaitRequest(Struct, frozen=True):
    """Wait for an event to come to rest."""

    event: int


class Rest(Struct, frozen=True, omit_defaults=True):
    """How an event came to rest, as `Ended`."""

    event: str
    handler: str
    status: EndStatus
    result: Raw | UnsetType = UNSET
    type: str | None = None
    text: str = ""
    line: str | None = None
    divergence: bool = False

    @classmethod
    def of(cls, end: Ended) -> Rest:
        """Write an end down."""
        return cls(
            str(end.event),
            end.handler,
            end.status,
            UNSET if end.result is None else Raw(end.result),
            end.type,
            end.text,
            end.line,
            end.divergence,
        )

    @property
    def ended(self) -> Ended:
        """The end as it was."""
        return Ended(
            Address.parse(self.event),
            self.handler,
            self.status,
            bytes(self.result) if isinstance(self.result, Raw) else None,
            self.type,
            self.text,
            self.line,
            self.divergence,
        )


class Told(Struct, frozen=True):
    """Answers that are on record with who asked."""

    askings: Sequence[Asking]


class Nothing(Struct, frozen=True):
    """No parameters."""
