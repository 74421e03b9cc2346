"""What holds for all tests: a program that a test starts can be interrupted, what a test leaves
behind is soon collected, and the longest begin first.
"""

from __future__ import annotations

import gc
import signal

import pytest

LONG = ("test_matrix", "test_model", "test_p18_p19", "test_kills", "test_examples")
"""How the files of the longest tests begin."""


def pytest_configure() -> None:
    """Heed SIGINT: a shell that runs the tests in the background has it ignored, and so have
    all programs that are started from there.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, in any order: no worker is left with one when the others are done."""
    items.sort(key=lambda item: not item.path.stem.startswith(LONG))


def pytest_collection_finish() -> None:
    """Leave what is there all along out of the collection of garbage.

    Python looks through everything once garbage is a quarter of it: beside thousands of collected
    tests that was seldom, and each `asyncio.run` looked through the tasks of all loops till then.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # that quarter is counted anew
