"""What a reader sees of an event that waits for a person or a webhook (R21).

It follows from the journal alone: a type is its name and a schema, never one of the user's.
"""

from __future__ import annotations

from msgspec import Struct


class InputView(Struct, frozen=True):
    """An input that an event waits for (R21).

    Attributes:
        key: the call key of the question, or of the step that waits.
        text: what is asked for, for people.
        type: the input's type, for people; `schema` says what JSON fits, where the name doesn't.
        until_us: when nobody waits for it any more.
        step: the name of the step that waits; None: the handler itself asks.
    """

    key: str
    text: str
    type: str
    schema: bytes | None
    since_us: int
    until_us: int | None
    step: str | None = None
