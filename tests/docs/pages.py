"""The examples of the documentation, taken out of its pages and run as a reader would.

A page is worked through from top to bottom in one empty folder. Its fenced blocks are:

    python, toml   a file: the first line is a comment with its path; it is written as it stands
    console        commands behind `$ `, run one after another in one shell; what is shown behind
                   each is all that it prints, on stdout and stderr together
    terminal-1     the first of two terminals: a command that goes on, and bit by bit what it
                   prints; `^C` is typed there
    terminal-2     as console, in a second terminal, where commands print for a person's eyes
    sh             commands for a checkout; only their syntax and the files they name are checked
    json           JSON, a value a line; read only
    text           forms and drawings; nothing to run

Any other word is an error, so that no example goes unrun. In what a command prints, times, random
parts, checksums, process numbers and paths of the test's folder differ from run to run and are
replaced before it is compared; `…` in the page stands for the rest of a line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path

from .terminals import FirstTerminal, Screen, as_seen, open_screen

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    *sorted(f"docs/{p.name}" for p in (REPOSITORY / "docs").glob("*.md")),
    *sorted(f"docs/how-to/{p.name}" for p in (REPOSITORY / "docs" / "how-to").glob("*.md")),
)
PLUGIN = "agentctl.testing.plugin"
PLUGIN_INSTALLED = any(found.value == PLUGIN for found in entry_points(group="pytest11"))
LANGUAGES = frozenset(
    {"python", "toml", "console", "terminal-1", "terminal-2", "sh", "json", "text"}
)

_FENCE = re.compile(r"^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"# (?P<path>[\w./-]+\.(?:py|toml))\n")
_END = "-- end of what it printed --"
# What `agentctl new` says to try next: the same each time, and told once where it matters.
_NEXT = re.compile(r"^made \S+: \d+ files\. Next:\n(?:  .*\n)*", re.MULTILINE)
_DIFFERING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "<time>"),
    (re.compile(r"\b1[6-9]\d{14}\b"), "<microseconds>"),
    (re.compile(r'"crc":"[0-9a-f]{8}"'), '"crc":"<8>"'),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<32>"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "<16>"),
    (re.compile(r"in \d+\.\d\ds"), "in <s>"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with the line on which it begins."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}, line {self.line}"


def blocks_of(page: str) -> list[Block]:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return [
        Block(page, text[: found.start()].count("\n") + 1, found["language"], found["text"])
        for found in _FENCE.finditer(text)
    ]


def file_of(block: Block) -> tuple[str, str]:
    """The path that a block of code names in its first line, and what it holds behind that."""
    named = _NAMED.match(block.text)
    assert named, f"{block}: the first line doesn't name its file"
    return named["path"], block.text[named.end() :]


@dataclass
class Transcript:
    """A console block as commands, each with what it shows."""

    commands: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)


def transcript_of(block: Block) -> Transcript:
    found = Transcript()
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.commands.append(line[2:])
            found.shown.append("")
        else:
            assert found.commands, f"{block}: it shows something before any command"
            found.shown[-1] += f"{line}\n"
    return found


def settled(text: str, folder: Path) -> str:
    """A printed text without what differs from run to run."""
    text = _NEXT.sub("", text.replace(str(folder.resolve()), "/srv/shop"))
    for pattern, name in _DIFFERING:
        text = pattern.sub(name, text)
    return text


def matches(shown: str, printed: str) -> bool:
    """Whether what was printed is what the page shows; `…` is the rest of a line."""
    pattern = "[^\n]*".join(re.escape(part) for part in shown.split("…"))
    return re.fullmatch(pattern, printed) is not None


class Reader:
    """Somebody who follows a page: one folder, one shell that stays where it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.here = folder
        self.bin = folder.parent / "bin"
        self.bin.mkdir(exist_ok=True)
        self._wrap("agentctl", "-m agentctl")
        self._wrap("python", "")
        self.first = FirstTerminal()

    def _wrap(self, name: str, words: str) -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        path.chmod(0o755)

    def write(self, block: Block) -> None:
        name, text = file_of(block)
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def follow(self, block: Block) -> None:
        """Run a console block, or one of a terminal, and compare what it prints."""
        if block.language == "terminal-1":
            self.first.follow(block.text, self._open_wide, self._same_seen)
            return
        transcript = transcript_of(block)
        seen = block.language == "terminal-2"
        run, same = (self._run_seen, self._same_seen) if seen else (self._run, self._same)
        for command, shown in zip(transcript.commands, transcript.shown, strict=True):
            printed = self.first.without_pid(run(command))
            assert same(shown, printed), (
                f"{block}: $ {command}\n--- the page shows\n{shown}\n--- it prints\n{printed}"
            )

    def _same(self, shown: str, printed: str) -> bool:
        return matches(settled(shown, self.folder), settled(printed, self.folder))

    def _same_seen(self, shown: str, printed: str) -> bool:
        return self._same(as_seen(shown), as_seen(printed))

    def _run(self, command: str) -> str:
        ran = subprocess.run(
            ["bash", "-c", self._telling_its_end(command)],
            cwd=self.here,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return self._until_end(command, ran.stdout.decode())

    def _run_seen(self, command: str) -> str:
        screen = self._open(self._telling_its_end(self.first.with_pid(command)))
        try:
            screen.until_end()
            return self._until_end(command, screen.printed)
        finally:
            screen.close()

    def _open(self, command: str) -> Screen:
        return open_screen(command, self.here, self._environment())

    def _open_wide(self, command: str) -> Screen:
        # A test's folder has a longer path than a reader's: no line is to be broken for that.
        return open_screen(command, self.here, self._environment(), columns=240)

    @staticmethod
    def _telling_its_end(command: str) -> str:
        return f"{command}\necho; echo '{_END}'; pwd"

    def _until_end(self, command: str, output: str) -> str:
        printed, end, here = output.partition(f"\n{_END}\n")
        assert end, f"$ {command}\nthe shell was gone before its end:\n{printed}"
        self.here = Path(here.strip())
        return printed

    def close(self) -> None:
        """End what still runs in the first terminal."""
        self.first.close()

    def _environment(self) -> dict[str, str]:
        plugin = {} if PLUGIN_INSTALLED else {"PYTEST_PLUGINS": PLUGIN}
        return {
            "PATH": f"{self.bin}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.folder.parent),
            "LANG": "C.UTF-8",
            # A checkout that isn't installed still has its package and its pytest plugin; pytest
            # refuses a plugin that it is given twice, by its entry point and by name.
            "PYTHONPATH": str(REPOSITORY),
            **plugin,
            "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:randomly",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
