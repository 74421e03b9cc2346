"""The nearest known name, for hints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 200  # a longer one takes long, and is no slip of the finger


def nearest_hint(name: str, known: Iterable[str], what: str) -> str:
    """`did you mean refund?`, or what there is."""
    import difflib  # only where a name is wrong

    names = sorted(known)
    close = difflib.get_close_matches(name[:_LONGEST], names, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are no {what}" if not names else f"the {what} are: {', '.join(names[:20])}"
