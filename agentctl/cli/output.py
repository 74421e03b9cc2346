"""The two streams: results on stdout, all else on stderr; what may be written to which, and how.

Invariant: no text breaks a stream of a narrow encoding, and no control character out of data
reaches a terminal. Never decides what to say.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from agentctl.cli.folding import fold
from agentctl.cli.options import GlobalOptions
from agentctl.errors import UsageError

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NARROW: Final = 20
_LOW: Final = 5
_STDOUT, _STDERR = 1, 2


class Output:
    """Where a command writes to."""

    def __init__(self, options: GlobalOptions, environ: Mapping[str, str]) -> None:
        self.options = options
        self.environ = environ
        self._stdout = _tolerant(sys.stdout)
        self._stderr = _tolerant(sys.stderr)
        # Whoever looks for it finds a stream, also where it was closed before the command began.
        sys.stdout, sys.stderr = self._stdout, self._stderr

    @property
    def is_terminal(self) -> bool:
        """Whether results go to a person's eyes."""
        return self.options.format == "text" and self._stdout.isatty()

    @property
    def notes_to_terminal(self) -> bool:
        """Whether notes go to a person's eyes."""
        return self._stderr.isatty()

    @property
    def color(self) -> bool:
        """Whether results may be coloured: a terminal, and nobody said no."""
        if self.options.color != "auto":
            return self.options.color == "always"
        dumb = self.environ.get("TERM") == "dumb" or bool(self.environ.get("NO_COLOR"))
        return self.is_terminal and not dumb

    @property
    def width(self) -> int:
        """The terminal's width in columns; 100 elsewhere."""
        return max(_NARROW, shutil.get_terminal_size((100, 24)).columns)

    def folded(self, text: str, hanging: int = 2) -> str:
        """Break lines of notes at blanks, for a person's eyes only."""
        if not self.notes_to_terminal:
            return text
        try:  # it may be another terminal than that of results, or the only one
            width = int(self.environ.get("COLUMNS") or os.get_terminal_size(_STDERR).columns)
        except (OSError, ValueError):
            width = self.width
        return fold(text, max(_NARROW, width), hanging)

    @property
    def height(self) -> int:
        """The terminal's height in lines."""
        return max(_LOW, shutil.get_terminal_size((100, 24)).lines)

    def line(self, text: str) -> None:
        """Write one line of a text result."""
        print(text, file=self._stdout)

    def document(self, json: bytes) -> None:
        """Write one JSON document on one line; in ASCII where the stream knows no more."""
        print(_encodable(json.decode(), self._stdout), file=self._stdout)

    def note(self, text: str) -> None:
        """Write what isn't the result; `--quiet` leaves it out."""
        if not self.options.quiet:
            self.trouble(self.folded(text))

    def trouble(self, text: str) -> None:
        """Write what must be known, to stderr."""
        print(text, file=self._stderr)

    def trouble_document(self, json: bytes) -> None:
        """Write one JSON document to stderr."""
        print(_encodable(json.decode(), self._stderr), file=self._stderr)

    def confirm(self, question: str) -> bool:
        """Ask a person on the terminal, unless `--yes` answers beforehand.

        Raises:
            UsageError: nobody can be asked.
        """
        if self.options.yes:
            return True
        if sys.stdin is None or not sys.stdin.isatty() or not self._stderr.isatty():
            raise UsageError(
                f"this needs a yes, and there is no terminal to ask on: {question}",
                hint="say it beforehand: --yes",
            )
        print(f"{question} [y/N] ", end="", file=self._stderr, flush=True)
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    @property
    def stdout(self) -> TextIO:
        """The stream of results, for tables."""
        return self._stdout

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self._stdout.flush()
        self._stderr.flush()

    def abandon(self) -> None:
        """Write nothing more: whoever read it is gone."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stdout.fileno())

    @contextmanager
    def users_code(self) -> Iterator[None]:
        """Send to stderr what the user's code prints, its child processes too.

        Results still go where they belong.
        """
        self._stdout.flush()
        kept, real, results = None, sys.stdout, self._stdout
        if real is sys.__stdout__ and _number(results) == _STDOUT:
            kept = os.dup(_STDOUT)
            os.dup2(_STDERR, _STDOUT)
            self._stdout = _tolerant(os.fdopen(kept, "w", encoding=results.encoding))
        sys.stdout = self._stderr
        try:
            yield
        finally:
            sys.stdout = real
            if kept is not None:
                self._stdout.flush()
                os.dup2(kept, _STDOUT)
                self._stdout.close()
                self._stdout = results


def plain(text: str) -> str:
    r"""Make data safe for one line of text: control characters are written as `\x1b`."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def columns(cells: Sequence[str]) -> str:
    """Make one line of tab-separated text."""
    return "\t".join(plain(cell) for cell in cells)


def _tolerant(stream: TextIO | None) -> TextIO:
    # Paths and arguments may hold what isn't text; ASCII pipes know no more than ASCII. A line is
    # handed on when it ends: a program that dies takes none of its lines with it.
    if stream is None:
        stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as we
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace", line_buffering=True)
    return stream


def _number(stream: TextIO) -> int:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return -1


def _encodable(json: str, stream: TextIO) -> str:
    """Escape what the stream can't encode, in JSON's way: outside of texts JSON is ASCII."""
    try:
        json.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return "".join(each if each.isascii() else _json_escape(each) for each in json)
    return json


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
