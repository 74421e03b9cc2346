"""What holds for all tests: a program that a test starts can be interrupted."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Heed SIGINT: a shell that runs the tests in the background has it ignored, and so have
    all programs that are started from there.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
