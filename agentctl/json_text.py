"""JSON that a person wrote.

Invariant: what is read is all that was written: a name that stands twice in one object is an
error, not a value that is lost. Never reads records, which are nobody's handwriting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from agentctl.errors import BadArguments

DEEPEST: Final = 512
"""Levels of lists and objects in each other; deeper JSON is a mistake, or ill will."""

TOO_DEEP: Final = f"this JSON is nested too deeply: more than {DEEPEST} levels"


def read_json(text: str) -> Any:
    """Read it.

    Raises:
        BadArguments: it isn't JSON, nests too deeply, or gives a name in one object twice.
    """
    try:
        value = msgspec.json.decode(text.encode())
    except ValueError as error:  # lone surrogates, too
        raise BadArguments(
            f"this is no JSON: {error}", hint="""write it like [7], or {"order_id": 7}"""
        ) from None
    except RecursionError:
        raise _too_deep() from None
    check_json(text, value)
    return value


def check_json(text: str, value: object) -> None:
    """Refuse what JSON allows and nobody means.

    Args:
        text: valid JSON.
        value: what was read from it.

    Raises:
        BadArguments: it nests too deeply, or gives a name in one object twice.
    """
    if text.count("[") + text.count("{") > DEEPEST and _is_too_deep(value):
        raise _too_deep()
    if text.count(":") > 1:
        # Numbers aren't read again: of a very long one Python would refuse to.
        json.loads(text, object_pairs_hook=_once, parse_int=str, parse_float=str)


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [part for one in level for part in _parts(one)]
    return any(isinstance(one, list | dict) for one in level)


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep() -> BadArguments:
    return BadArguments(TOO_DEEP, hint="make it flatter, or hand it over as a text")


def _once(pairs: list[tuple[str, object]]) -> None:
    """Check one object's names; what is in it was checked before."""
    names = set()
    for name, _ in pairs:
        if name in names:
            shown = ascii(name if len(name) <= 40 else f"{name[:37]}...")
            raise BadArguments(
                f"the name {shown} stands twice in one JSON object", hint="leave one of them out"
            )
        names.add(name)
