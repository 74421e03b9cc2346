"""Tables for a terminal. Rich lives here, and is loaded only when one is drawn.

Invariant: data is never taken for markup, and any width will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from agentctl.cli.output import Output, plain
from agentctl.cli.records_text import row
from agentctl.ops.journal_documents import SeenJournal, SeenRecord
from agentctl.times import Clock, SystemClock, to_datetime

if TYPE_CHECKING:
    from rich.console import Console

_LOUD = {
    **dict.fromkeys(("bug", "failed", "aside", "stuck", "set_aside"), "red"),
    **dict.fromkeys(("error", "cancelled", "missed"), "yellow"),
    **dict.fromkeys(("done", "running", "completed"), "green"),
}


def lines_of(titles: Sequence[str], rows: Iterable[Sequence[str]], output: Output) -> Sequence[str]:
    """Draw one table, line by line; of its columns only the last one is wrapped."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles[:-1]:
        table.add_column(title, no_wrap=True, overflow="ignore")
    table.add_column(titles[-1], overflow="fold")
    for cells in rows:
        table.add_row(*(Text(plain(cell), style=_LOUD.get(cell, "")) for cell in cells))
    console = _console(output)
    with console.capture() as drawn:
        console.print(table)
    return drawn.get().splitlines()


def show_journal(journal: SeenJournal, output: Output, clock: Clock | None = None) -> None:
    """Draw a table for each event, in the order of their first records."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    now = to_datetime((clock or SystemClock()).now_us())
    console = _console(output)
    groups: dict[str, list[SeenRecord]] = {}
    for record in journal.records:
        groups.setdefault(record.event or journal.agent, []).append(record)
    for title, records in groups.items():
        table = Table(box=box.SIMPLE, pad_edge=False, show_header=False)
        for justify in ("right", "right", "left", "left"):
            table.add_column(justify=justify, overflow="fold")
        for record in records:
            line, _, _, kind, what = row(record)
            style = _LOUD.get(kind, "")
            cells = (line, _ago(record.at, now), kind, "" if what == "-" else plain(what))
            table.add_row(*(Text(cell, style=style) for cell in cells))
        console.print(Text(title, style="bold"))
        console.print(table)


def _ago(at: str | None, now: datetime) -> str:
    if at is None:
        return ""
    seconds = (now - datetime.fromisoformat(at)).total_seconds()
    words = "ago" if seconds >= 0 else "ahead"
    left = abs(seconds)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if left >= size:
            return f"{int(left // size)}{unit} {words}"
    return f"{left:.0f}s {words}"


def _console(output: Output) -> Console:
    from rich.console import Console

    return Console(
        file=output.stdout,
        width=output.width,
        no_color=not output.color,
        color_system="auto" if output.color else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
