"""Two terminals, as a reader has them beside each other: no colour, 100 columns in the second.

Owns: the program in the first one, and what it has printed that no block has shown yet.
Keeps: no program outlives its page; every wait has an end.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pexpect

PATIENCE_S = 20
PID_SHOWN = "4121"
"""The process in the first terminal, as pages write it."""

_DIFFERING = (
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "<clock>"),
    (re.compile(r"\b\d+s ago"), "<ago>"),
    (re.compile(r"\b\d+\.\d kB"), "<size>"),
    (re.compile(r"(?<=\S)  +"), "  "),  # columns are as wide as what differs in them
)


def as_seen(text: str) -> str:
    """What a terminal showed, without what differs from run to run."""
    lines = (line.rstrip() for line in text.split("\n"))
    text = "\n".join(lines)
    for pattern, name in _DIFFERING:
        text = pattern.sub(name, text)
    return text


class Screen:
    """A terminal's far end: that of one program, which prints there and is typed to."""

    def __init__(self, child: pexpect.spawn) -> None:
        self._child = child
        self._text = ""

    @property
    def pid(self) -> int:
        found: int = self._child.pid
        return found

    @property
    def printed(self) -> str:
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            while True:
                self._text += self._child.read_nonblocking(65536, timeout=0)
        return self._text.replace("\r\n", "\n")

    @property
    def was_killed(self) -> bool:
        return not self._child.isalive() and self._child.signalstatus == signal.SIGKILL

    def type(self, text: str) -> None:
        self._child.send(text)

    def until_end(self) -> None:
        """Wait for all that the program prints, and for its end."""
        self._child.expect(pexpect.EOF)
        self._text += self._child.before
        self._child.wait()

    def close(self) -> None:
        self._child.close(force=True)


def open_screen(
    command: str, here: Path, environment: Mapping[str, str], columns: int = 100
) -> Screen:
    """Start a shell's command on a terminal of its own."""
    child = pexpect.spawn(
        "bash",
        ["-c", command],
        cwd=str(here),
        env={**environment, "NO_COLOR": "1", "TERM": "xterm"},
        dimensions=(30, columns),
        echo=False,
        timeout=PATIENCE_S,
        encoding="utf-8",
    )
    child.delaybeforesend = None
    return Screen(child)


class FirstTerminal:
    """The terminal in which a program goes on while commands are typed into another.

    Its blocks are what it shows, bit by bit: a command behind `$ `, what is printed since, and
    `^C` where a reader stops it, which a terminal shows in front of what is printed next.
    """

    def __init__(self) -> None:
        self._screen: Screen | None = None
        self._seen = 0
        self.patience_s: float = PATIENCE_S

    def with_pid(self, command: str) -> str:
        """A command with the program's own process in place of the one that a page names."""
        screen = self._screen
        pid = PID_SHOWN if screen is None else str(screen.pid)
        return re.sub(rf"\b{PID_SHOWN}\b", pid, command)

    def without_pid(self, text: str) -> str:
        screen = self._screen
        return text if screen is None else re.sub(rf"\b{screen.pid}\b", PID_SHOWN, text)

    def follow(
        self, text: str, start: Callable[[str], Screen], same: Callable[[str, str], bool]
    ) -> None:
        """Follow a block.

        Args:
            start: starts a command.
            same: says whether what was printed is what the page shows.
        """
        lines = text.splitlines(keepends=True)
        if lines[0].startswith("$ "):
            self.close()
            self._screen, self._seen = start(f"exec {lines.pop(0)[2:].strip()}"), 0
        screen = self._screen
        assert screen is not None, "nothing was started in the first terminal"
        before, stopped, after = "".join(lines).partition("^C")
        self._until(screen, before, same)
        if stopped:
            screen.type("\x03")
            screen.until_end()
            self._until(screen, after, same)

    def _until(self, screen: Screen, shown: str, same: Callable[[str, str], bool]) -> None:
        end = time.monotonic() + self.patience_s
        while not same(shown, printed := self._new(screen)):
            assert time.monotonic() < end, (
                f"--- the page shows\n{shown}\n--- the first terminal shows\n{printed}"
            )
            time.sleep(0.02)
        self._seen = len(screen.printed)

    def _new(self, screen: Screen) -> str:
        killed = screen.was_killed
        printed = screen.printed[self._seen :].removeprefix("^C")
        return f"{printed}Killed\n" if killed else printed  # as a shell says it

    def close(self) -> None:
        if self._screen is not None:
            self._screen.close()
            self._screen = None
