"""What holds for all tests: a program that a test starts can be interrupted, and what a test
leaves behind is soon collected.
"""

from __future__ import annotations

import gc
import signal


def pytest_configure() -> None:
    """Heed SIGINT: a shell that runs the tests in the background has it ignored, and so have
    all programs that are started from there.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave what is there all along out of the collection of garbage.

    Python looks through everything once garbage is a quarter of it: beside thousands of collected
    tests that was seldom, and each `asyncio.run` looked through the tasks of all loops till then.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # that quarter is counted anew
