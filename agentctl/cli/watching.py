"""`run --watch`: a process that starts the program anew with every save.

Invariant: one program runs at a time, and none outlives this process: it is killed by nobody, it
notices by its pipe. A signal to this process reaches the program once. Never reads a journal, and
never imports the project's code: a mistake in it ends the program, not the watching.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from types import FrameType
from typing import Final

from agentctl.cli.telling import log
from agentctl.cli.watched import GRACE, SAVED, VARIABLE, Watched
from agentctl.times import Clock, SystemClock

_QUIET_MS: Final = 80
"""A save is over when nothing has changed for so long: a temporary file, and its new name."""
_AT_MOST_MS: Final = 400
_LOOK_MS: Final = 100
_KILL_AFTER_S: Final = GRACE.total_seconds() + 4.0
"""A program that a save stops is killed then: it hangs before it listens to anybody."""
_FOLDERS: Final = frozenset(["venv", "__pycache__", "node_modules"])
_ENDINGS: Final = frozenset(
    [
        *(".py", ".pyi", ".toml", ".ini", ".cfg", ".json", ".yaml", ".yml", ".xml", ".sql"),
        *(".md", ".rst", ".txt", ".html", ".j2", ".jinja", ".jinja2", ".tmpl", ".prompt"),
    ]
)
"""What people write: code, settings, prompts. What calls write is data, and no save."""
_BEGINNINGS: Final = ("#", "~$", "flycheck_")
_HIDDEN_THAT_COUNT: Final = ".env"
_LEFT_BEHIND: Final = ("~", ".swp", ".tmp")
"""By editors, beside a hidden file that counts."""


class Saves:
    """Sees what is saved in a project's folder.

    It sees files whose ending says that people write them. It leaves out hidden ones, environments,
    caches, what editors leave beside their files, what comes and goes within one save, and the
    files that this process itself writes to by way of `streams`: each start would bring about the
    next.
    """

    def __init__(self, folder: Path, left_out: Iterable[Path], streams: Iterable[int] = ()) -> None:
        self._folder = folder
        self._left_out = [path for path in left_out if path != folder]
        self._written = [found for stream in streams if (found := _inode(stream))]

    def batches(self) -> Iterator[Sequence[str]]:
        """Yield what was saved at once, by its path in the folder; often nothing, again and again.

        It watches from the first time on that it is asked for a batch.
        """
        import watchfiles

        for changes in watchfiles.watch(
            self._folder,
            watch_filter=None,
            debounce=_AT_MOST_MS,
            step=_QUIET_MS,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
        ):
            made = {path for change, path in changes if change == watchfiles.Change.added}
            yield sorted(
                str(Path(path).relative_to(self._folder))
                for path in {path for _, path in changes}
                if self.counts(Path(path)) and (path not in made or Path(path).exists())
            )

    def counts(self, path: Path) -> bool:
        """Whether a change of this path is a save of the project's."""
        if any(path.is_relative_to(one) for one in self._left_out):
            return False
        if not path.is_relative_to(self._folder):
            return False
        *folders, name = path.relative_to(self._folder).parts or ("",)
        if _FOLDERS.intersection(folders) or any(one.startswith(".") for one in folders):
            return False
        if not name.startswith(_HIDDEN_THAT_COUNT):
            if name.startswith((".", *_BEGINNINGS)) or path.suffix.lower() not in _ENDINGS:
                return False
        elif name.endswith(_LEFT_BEHIND):
            return False
        if path.is_dir() or self._in_environment(folders):
            return False
        return _inode(path) not in self._written

    def _in_environment(self, folders: Sequence[str]) -> bool:
        """Whether it lies in a virtual environment, whatever that is called."""
        above = (self._folder.joinpath(*folders[: n + 1]) for n in range(len(folders)))
        return any((one / "pyvenv.cfg").is_file() for one in above)


def _inode(file: Path | int) -> tuple[int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - a descriptor has no path
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Watching:
    """Runs one program after another; what is saved lies in `folder`."""

    def __init__(
        self,
        command: Sequence[str],
        saves: Iterable[Sequence[str]],
        clock: Clock | None = None,
        *,
        folder: Path,
    ) -> None:
        self._command = command
        self._saves = saves
        self._folder = folder
        self._clock = clock or SystemClock()
        self._program: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._asked = 0
        self._passed = False
        self._kill_at_s: float | None = None

    def run(self) -> int:
        """Watch until a signal ends it; answer the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._came)
        first = True
        for saved in self._saves:
            if first:
                first = False
                self._start(by_save=False)
            elif saved:
                self._save(saved)
            code = self._ended()
            if code is not None and self._asked:
                return code if code >= 0 else 128 - code
            if self._asked and self._program is None:
                return 0
        raise AssertionError("a folder is watched for ever")

    def _came(self, number: int, _: FrameType | None) -> None:
        self._asked = number
        self._pass_on()

    def _pass_on(self) -> None:
        if self._program is not None:
            self._passed = True
            with suppress(ProcessLookupError):
                self._program.send_signal(self._asked)

    def _start(self, *, by_save: bool) -> None:
        hears, self._pipe = os.pipe()
        # A group of its own: a terminal's Ctrl-C comes here, and is passed on once.
        self._program = subprocess.Popen(  # noqa: S603 - this very command
            self._command,
            env={**os.environ, VARIABLE: Watched.told(hears, by_save=by_save)},
            stdin=subprocess.DEVNULL,
            pass_fds=[hears],
            process_group=0,
        )
        os.close(hears)
        self._kill_at_s = None
        if self._asked and not self._passed:  # it came in this moment
            self._pass_on()

    def _save(self, saved: Sequence[str]) -> None:
        shown = ", ".join(saved[:3]) + (f" and {len(saved) - 3} more" if len(saved) > 3 else "")
        log.info("saved: %s; starting anew", shown)
        for path in saved:
            forget_compiled(self._folder / path)
        if self._program is None:
            if not self._asked:
                self._start(by_save=True)
            return
        with suppress(BrokenPipeError):  # it has just ended
            os.write(self._pipe, SAVED)
        if self._kill_at_s is None:
            self._kill_at_s = self._clock.monotonic_s() + _KILL_AFTER_S

    def _ended(self) -> int | None:
        """See whether the program has ended: answer its code, and start it anew after a save."""
        program, by_save = self._program, self._kill_at_s is not None
        if program is None:
            return None
        code = program.poll()
        if code is None:
            if by_save and self._clock.monotonic_s() > (self._kill_at_s or 0.0):
                program.kill()
            return None
        self._program = None
        os.close(self._pipe)
        if self._asked:
            return code
        if by_save:
            self._start(by_save=True)
        else:
            log.warning("%s; save a file to start it again, or end with Ctrl-C", _told(code))
        return code


def forget_compiled(source: Path) -> None:
    """Let a saved module be compiled anew.

    Python knows what it compiled by the source's length and the second of its time: a save of the
    same length within one second would go unnoticed.
    """
    if source.suffix == ".py":
        Path(cache_from_source(str(source))).unlink(missing_ok=True)


def _told(code: int) -> str:
    if code < 0:
        return f"the program was killed by {signal.Signals(-code).name}"
    return "the program has ended" if code == 0 else f"the program ended with exit code {code}"


def watch(folder: Path, left_out: Iterable[Path]) -> int:
    """Run this very command in a child, and again after each save in `folder`."""
    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    log.info("watching %s: a save starts the program anew; Ctrl-C ends", folder)
    command = [sys.executable, *sys.orig_argv[1:]]
    saves = Saves(folder, left_out, streams=(1, 2)).batches()
    return Watching(command, saves, folder=folder).run()
