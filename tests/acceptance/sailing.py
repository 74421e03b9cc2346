"""A fleet as its tests see it: commands in processes forked from one that has imported already."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

from .support import Project, wait_until

FLEET = Path(__file__).with_name("fleet.py")


class Fleet:
    """Commands of one project, each in a process forked from one that has imported already."""

    def __init__(self, project: Project, folder: Path, *typical: str) -> None:
        """Start it; the command of these words tells what else to import."""
        self.path = str(folder / "fleet")
        words = (str(FLEET), self.path, *typical)
        self.program = project.start_python(*words, env={"PYTHONHASHSEED": "0"})
        wait_until(lambda: os.path.exists(self.path) or not self.program.alive, "the fleet")
        assert self.program.alive, self.program.err

    def run(self, *words: str, kill_after_s: float | None = None) -> Sailing:
        return Sailing(self.path, words, kill_after_s).end()


class Sailing:
    """One command that was started; what it left once it has ended."""

    code: int
    out: str
    err: str

    def __init__(self, path: str, words: tuple[str, ...], kill_after_s: float | None) -> None:
        self.words = words
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(30)
        connection.connect(path)
        self.line = connection.makefile("rwb")
        connection.close()
        self.line.write(json.dumps([words, kill_after_s]).encode() + b"\n")
        self.line.flush()
        self.read()  # it runs

    def read(self) -> Any:
        return json.loads(self.line.readline())

    def end(self) -> Sailing:
        ended = self.read()
        self.line.close()
        self.code, self.out, self.err = ended["code"], ended["out"], ended["err"]
        return self

    def expect(self, code: int) -> Sailing:
        assert self.code == code, f"{self.words} ended with {self.code}: {self.out}{self.err}"
        return self
