"""Holding off the collection of cyclic garbage while very much is made that stays.

A start makes an object or five for each thing on record, none of them garbage: to look through
all of them again and again takes as long as reading the journal. Never held off for longer than
one piece of the loop's work.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect nothing meanwhile; what was held off is made up for later."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
