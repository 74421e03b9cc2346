"""Writes the files of a project or an agent, all of them or none.

Invariant: nothing that exists is ever overwritten (each file is created exclusively), and a
failure takes back what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from agentctl.errors import Conflict, DiskTrouble


def check_free(folder: Path, files: Sequence[Path], agent_folder: Path, *, hint: str) -> None:
    """Refuse to write where something is.

    Raises:
        Conflict: one of the files exists, or the agent's folder isn't empty.
        DiskTrouble: it can't be looked at.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise Conflict(f"{folder} is a file", hint=hint)
        there = [path for path in files if path.exists() or path.is_symlink()]
        if agent_folder.is_dir() and any(agent_folder.iterdir()):
            there.append(agent_folder)
    except OSError as error:
        raise _disk_trouble(folder, error) from None
    if there:
        listed = ", ".join(str(path) for path in there[:8]) + (", …" if len(there) > 8 else "")
        raise Conflict(
            f"{'this is' if len(there) == 1 else 'these are'} there already: {listed}",
            hint=f"nothing was written; {hint}",
        )


@contextmanager
def writing(folder: Path) -> Iterator[ExitStack]:
    """Give what takes everything back, unless all goes well.

    Raises:
        Conflict: a file appeared in this moment.
        DiskTrouble: something couldn't be written.
    """
    with ExitStack() as undo:
        try:
            yield undo
        except FileExistsError as error:  # made by somebody else in this moment
            raise Conflict(
                f"this is there already: {error.filename}", hint="nothing was written"
            ) from None
        except OSError as error:
            raise _disk_trouble(folder, error) from None
        undo.pop_all()


def create_file(path: Path, text: str, undo: ExitStack) -> None:
    """Create one file."""
    with path.open("x", encoding="utf-8", newline="\n") as stream:
        undo.callback(_take_back, path.unlink)
        stream.write(text)
    path.chmod(0o644)


def append(path: Path, before: bytes, more: bytes, undo: ExitStack) -> None:
    """Append to a file that still holds what it did before, and leave that as it is.

    Raises:
        Conflict: it was changed meanwhile.
    """
    with path.open("r+b") as stream:
        if stream.read() != before:
            raise Conflict(f"{path} was changed in this moment", hint="nothing was written")
        undo.callback(_take_back, lambda: _truncate(path, len(before)))
        stream.write(more)


def _truncate(path: Path, length: int) -> None:
    with path.open("r+b") as stream:
        stream.truncate(length)


def create_folder(folder: Path, undo: ExitStack, mode: int = 0o777) -> None:
    """Create a folder and those above it, as far as they aren't there."""
    if folder.is_dir():
        return
    if folder.parent != folder:  # else the working folder was deleted
        create_folder(folder.parent, undo, mode)
    folder.mkdir(mode)
    undo.callback(_take_back, folder.rmdir)


def _take_back(remove: Callable[[], None]) -> None:
    with suppress(OSError):  # what others have put there in the meantime stays
        remove()


def _disk_trouble(folder: Path, error: OSError) -> DiskTrouble:
    return DiskTrouble(
        f"the project can't be written to {folder}: {error.strerror or error}",
        hint="nothing was left behind; choose a folder that you may write to",
    )
