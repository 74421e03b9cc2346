"""Reading the records of a file: what is wrong with one names file and line."""

from __future__ import annotations

from agentctl.errors import FormatTooNew, JournalDamaged
from agentctl.records import FORMAT, Record, decode_kind


def check_format(path: str, found: int) -> None:
    """Refuse a journal whose header names a format that this version can't read.

    Raises:
        FormatTooNew: a later version wrote it.
    """
    if found > FORMAT:
        raise FormatTooNew(
            f"{path} has the format {found}, and this version reads {FORMAT}",
            hint="use the version of agentctl that wrote it, or a later one",
        )


def decode_line(body: bytes, *, path: str, line: int) -> tuple[str, Record]:
    """Read one record of a file; what is wrong with it names file and line.

    Raises:
        JournalDamaged: the line passed its checksum, and yet is no record.
        FormatTooNew: a later version wrote it.
    """
    try:
        return decode_kind(body)
    except FormatTooNew as error:
        raise FormatTooNew(f"{path}, line {line}: {error.message}", hint=error.hint) from None
    except (ValueError, RecursionError) as error:
        hint = "read what is there with: agentctl inspect journal"
        raise JournalDamaged(path, line, str(error), hint=hint) from None
