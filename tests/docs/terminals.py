"""Two terminals, as a reader has them beside each other: 100 columns, no colour.

Owns: the program in the first one, and what it has printed that no block has shown yet.
Keeps: no program outlives its page; every wait has an end.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

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
    lines = (line.rstrip() for line in text.replace("\r\n", "\n").split("\n"))
    text = "\n".join(lines)
    for pattern, name in _DIFFERING:
        text = pattern.sub(name, text)
    return text


@dataclass
class Screen:
    """A terminal's far end: a program's, which prints there and is typed to."""

    process: subprocess.Popen[bytes]
    master: int
    _printed: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # Linux says so when nobody has the terminal open any more
            while data := os.read(self.master, 65536):
                self._printed += data

    @property
    def printed(self) -> str:
        return bytes(self._printed).decode()

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def ended(self) -> int:
        """Wait for the program's end and all that it printed; answer its exit code."""
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert not self._reader.is_alive(), "something else has the terminal open"
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(PATIENCE_S)
        os.close(self.master)


def open_screen(command: str, here: Path, environment: Mapping[str, str]) -> Screen:
    """Start a shell's command on a terminal of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    attributes = termios.tcgetattr(slave)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=here,
        env={**environment, "NO_COLOR": "1", "TERM": "xterm"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(slave)
    return Screen(process, master)


def _take_terminal() -> None:
    """Make stdin the terminal whose Ctrl-C this process gets."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class FirstTerminal:
    """The terminal in which a program goes on while commands are typed into another.

    Its blocks are what it shows, bit by bit: a command behind `$ `, what is printed since, and
    `^C` where a reader stops it.
    """

    def __init__(self) -> None:
        self._screen: Screen | None = None
        self._seen = 0

    def with_pid(self, command: str) -> str:
        """A command with the program's own process in place of the one that a page names."""
        screen = self._screen
        pid = PID_SHOWN if screen is None else str(screen.process.pid)
        return re.sub(rf"\b{PID_SHOWN}\b", pid, command)

    def without_pid(self, text: str) -> str:
        screen = self._screen
        return text if screen is None else re.sub(rf"\b{screen.process.pid}\b", PID_SHOWN, text)

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
        before, stopped, after = "".join(lines).partition("^C\n")
        self._until(screen, before, same)
        if stopped:
            screen.type("\x03")
            screen.ended()
            self._until(screen, after, same)

    def _until(self, screen: Screen, shown: str, same: Callable[[str, str], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not same(shown, printed := self._new(screen)):
            assert time.monotonic() < end, (
                f"--- the page shows\n{shown}\n--- the first terminal shows\n{printed}"
            )
            time.sleep(0.02)
        self._seen = len(screen.printed)

    def _new(self, screen: Screen) -> str:
        printed = screen.printed[self._seen :].replace("\r\n", "\n").removeprefix("^C")
        killed = screen.process.poll() == -signal.SIGKILL
        return f"{printed}Killed\n" if killed else printed  # as a shell says it

    def close(self) -> None:
        if self._screen is not None:
            self._screen.close()
            self._screen = None
