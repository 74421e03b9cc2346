"""The nearest known name, for hints."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest_hint(name: str, known: Iterable[str], what: str) -> str:
    """`did you mean refund?`, or what there is."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are no {what}" if not names else f"the {what} are: {', '.join(names[:20])}"
