"""A project in a temporary folder, and the command run on it as a user would: through processes.

Owns: writing files, starting `python -m agentctl …` and scripts, killing them.
Keeps: no process outlives its project; every wait has an end, and says what it waited for.
Never: imports agentctl. These tests know what stdout, stderr, exit codes and files say.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LAUNCHER = Path(__file__).with_name("launcher.py")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
CRASH = 9  # the exit code of a program whose power is cut by os._exit

LEDGER_SOURCE = '''
"""What the world saw: one line a deed, kept outside of `agents/`, whatever dies."""

import os
import time


def note(*words):
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(" ".join(str(word) for word in words) + "\\n")


def noted():
    try:
        with open(os.environ["LEDGER"], encoding="utf-8") as ledger:
            return ledger.read().splitlines()
    except FileNotFoundError:
        return []


def wait_until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            os._exit(8)
        time.sleep(0.01)
'''


@dataclass(frozen=True)
class Result:
    """What one run of a program left on its two streams, and how it ended."""

    command: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def both(self) -> str:
        return self.out + self.err

    @property
    def json(self) -> Any:
        """The one JSON document, on one line, that stdout consists of."""
        if self.out.count("\n") != 1 or not self.out.endswith("\n"):
            self.fail("stdout is not one line")
        return json.loads(self.out)

    @property
    def error_json(self) -> Any:
        """The error document among what stderr holds in JSON mode."""
        for line in self.err.splitlines():
            if line.startswith('{"schema":"agentctl.error/1"'):
                return json.loads(line)
        self.fail("stderr has no error document")
        return None

    def expect(self, code: int) -> Result:
        if self.code != code:
            self.fail(f"exit code {self.code}, expected {code}")
        if 'File "' + str(REPOSITORY / "agentctl") in self.both:
            self.fail("a traceback of our own code reached the user")
        return self

    def expect_error(self, code: int, *words: str) -> Result:
        """Check the exit code, the three parts of an error, and that it says these words."""
        self.expect(code)
        if "Traceback (most recent call last)" in self.err:
            self.fail("a traceback instead of an error")
        if not re.search(r"^error: .+\n(  .+\n)+hint: .+", self.err, re.MULTILINE):
            self.fail("no error in three parts (error:, indented why, hint:)")
        for word in words:
            if word.lower() not in self.err.lower():
                self.fail(f"stderr does not say {word!r}")
        return self

    def fail(self, reason: str) -> None:
        pytest.fail(
            f"{reason}\n$ {' '.join(self.command)}\nexit code {self.code}"
            f"\n--- stdout\n{self.out}\n--- stderr\n{self.err}",
            pytrace=False,
        )


@dataclass
class Running:
    """A program that runs beside the test; its streams go to files."""

    process: subprocess.Popen[bytes]
    command: tuple[str, ...]
    out_path: Path
    err_path: Path

    @property
    def out(self) -> str:
        return self.out_path.read_text(encoding="utf-8", errors="replace")

    @property
    def err(self) -> str:
        return self.err_path.read_text(encoding="utf-8", errors="replace")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, timeout: float = 20.0) -> Result:
        """Wait for the program's own end."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(
                f"{self.command} did not end in {timeout} s\n{self.out}\n{self.err}", pytrace=False
            )
        return Result(self.command, code, self.out, self.err)

    def cut_power(self) -> None:
        """Kill this process, and only it, as `kill -9` does."""
        self.process.kill()
        self.process.wait(10)

    def kill(self) -> None:
        """Kill the process with every child in the session that it leads."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        finally:
            self.process.wait(10)


@dataclass
class Project:
    """A folder with a user's code in it, and the programs that the test started there."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    programs: list[Running] = field(default_factory=list)

    @classmethod
    def create(cls, folder: Path) -> Project:
        root = folder / "project"
        root.mkdir(parents=True, exist_ok=True)
        (folder / "home").mkdir(exist_ok=True)
        project = cls(root)
        project.write("ledger.py", LEDGER_SOURCE)
        return project

    def copy_to(self, folder: Path) -> Project:
        """The same project, with its journals, somewhere else."""
        # The socket that a killed program left behind is no file, and serves nobody.
        ignore = shutil.ignore_patterns("control")
        shutil.copytree(self.root, folder / "project", ignore=ignore)
        twin = Project.create(folder)
        twin.environment = dict(self.environment)
        if self.ledger_path.exists():
            shutil.copy(self.ledger_path, twin.ledger_path)
        return twin

    # ------------------------------------------------------------ files
    def write(self, name: str, source: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source).lstrip("\n"), encoding="utf-8")
        # Two edits within a second may leave a stale cache of the same size and time.
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        source = (self.root / name).read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {name}"
        self.write(name, source.replace(old, new))

    @property
    def ledger_path(self) -> Path:
        return self.root.parent / "ledger.txt"

    def ledger(self, beginning: str = "") -> list[str]:
        """The deeds that the world saw, in order."""
        if not self.ledger_path.exists():
            return []
        lines = self.ledger_path.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith(beginning)]

    def folder(self, agent: str = "Bot") -> Path:
        return self.root / "agents" / agent

    def journal_path(self, agent: str = "Bot") -> Path:
        return self.folder(agent) / "journal"

    def records(self, agent: str = "Bot") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal_path(agent).read_bytes().splitlines()]

    def set_aside(self, agent: str = "Bot") -> list[str]:
        path = self.folder(agent) / "set-aside"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def audit(self, agent: str = "Bot") -> list[str]:
        """The audit log's lines without their times, whose form is checked on the way."""
        lines = (self.folder(agent) / "audit.log").read_text(encoding="utf-8").splitlines()
        for line in lines:
            assert STAMP.fullmatch(line.split(" ", 1)[0]), f"no time in front of {line!r}"
        return [line.split(" ", 1)[1] for line in lines]

    def tree(self, part: str = "agents") -> dict[str, bytes]:
        """Every file's content, to see that nothing changed; the lock's text is only a note."""
        base = self.root / part
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(base.rglob("*"))
            if path.is_file() and path.name != "lock"
        }

    # ------------------------------------------------------------ programs
    def agentctl(self, *args: str, **options: Any) -> Result:
        """Run the command to its end. Options: those of `run_program`."""
        return self.run_program((sys.executable, "-m", "agentctl", *args), **options)

    def python(self, script: str, *args: str, **options: Any) -> Result:
        return self.run_program((sys.executable, script, *args), **options)

    def run_program(
        self,
        command: tuple[str, ...],
        *,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float = 30.0,
        cwd: Path | None = None,
        launch: tuple[str, ...] = (),
    ) -> Result:
        """Run to the end; `launch` are words for the launcher (`plain`, `file-size=N`)."""
        words = self.launched(command, launch)
        process = subprocess.Popen(
            words,
            cwd=cwd or self.root,
            env=self.whole_environment(env),
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(stdin.encode() if stdin is not None else None, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail(
                f"{command} did not end in {timeout} s\n{out.decode()}\n{err.decode()}",
                pytrace=False,
            )
        return Result(
            command,
            process.returncode,
            out.decode("utf-8", "replace"),
            err.decode("utf-8", "replace"),
        )

    def start_agentctl(self, *args: str, **options: Any) -> Running:
        return self.start_program((sys.executable, "-m", "agentctl", *args), **options)

    def start_python(self, script: str, *args: str, **options: Any) -> Running:
        return self.start_program((sys.executable, script, *args), **options)

    def start_program(
        self, command: tuple[str, ...], *, env: Mapping[str, str] | None = None
    ) -> Running:
        number = len(self.programs)
        out_path = self.root.parent / f"out-{number}.txt"
        err_path = self.root.parent / f"err-{number}.txt"
        with out_path.open("wb") as out, err_path.open("wb") as err:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self.whole_environment(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        program = Running(process, command, out_path, err_path)
        self.programs.append(program)
        return program

    def launched(self, command: tuple[str, ...], launch: tuple[str, ...]) -> tuple[str, ...]:
        return (sys.executable, str(LAUNCHER), *launch, "--", *command) if launch else command

    def whole_environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A small, known environment: nothing of the tester's own settings leaks in."""
        kept = {
            name: value for name, value in os.environ.items() if name.startswith(("COV", "LD_"))
        }
        return {
            **kept,
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.root.parent / "home"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONUNBUFFERED": "1",
            "LEDGER": str(self.ledger_path),
            **self.environment,
            **(extra or {}),
        }

    def until_set_aside(self, count: int, agent: str = "Bot", **options: Any) -> None:
        """Start the project until this many events are set aside (how often is not the point)."""
        for _ in range(8):
            found = [line for line in self.set_aside(agent) if line.startswith('{"event":')]
            if len(found) >= count:
                return
            self.agentctl("run", "--until-idle", **options)
        pytest.fail(f"{count} events were never set aside: {self.set_aside(agent)}")

    def close(self) -> None:
        for program in self.programs:
            program.kill()


def wait_until(true: Callable[[], object], what: str, timeout: float = 15.0) -> None:
    """Wait for something that another process does; fail with what was waited for."""
    end = time.monotonic() + timeout
    while not true():
        if time.monotonic() > end:
            pytest.fail(f"waited {timeout} s in vain for: {what}")
        time.sleep(0.01)


def find_key(document: Any, key: str) -> list[Any]:
    """Every value that stands under this key, however deep."""
    if isinstance(document, dict):
        here = [document[key]] if key in document else []
        return here + [hit for value in document.values() for hit in find_key(value, key)]
    if isinstance(document, list):
        return [hit for value in document for hit in find_key(value, key)]
    return []
