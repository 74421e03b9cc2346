"""`agentctl inspect lock`: who holds an agent's folder."""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.cli.commands.asking import AgentArgument
from agentctl.cli.output import Output
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_rows
from agentctl.ops import documents, places
from agentctl.ops.view_documents import SeenLock
from agentctl.ops.views import locks_of

EXAMPLES = (
    ("agentctl inspect lock Bot", "whether a program holds Bot's folder, and which"),
    ("agentctl inspect lock --json", "that of every agent, for a program"),
)
TITLES = ("agent", "lock", "pid", "host", "since", "command")


@dataclass(frozen=True)
class Request:
    """Whose lock."""

    agent: str | None


def parse(*, agent: AgentArgument = None) -> Request:
    """Show whether a program holds an agent's folder, and what the lock's note says.

    Without a holder the note is what a program left that was killed: it holds nothing any more.
    Doesn't take the lock.
    """
    return Request(agent)


def execute(request: Request, output: Output) -> int:
    """Show it."""
    place = find_place(output)
    desk = places.open_desk(place)
    chosen = places.choose_agents(place, desk, request.agent)
    document = locks_of(desk, [name for name, _ in chosen])
    if output.options.json:
        output.document(documents.encode(document))
    else:
        write_rows(TITLES, [_row(lock) for lock in document.agents], output)
    return 0


def _row(lock: SeenLock) -> tuple[str, ...]:
    held = "held" if lock.held else "free"
    if lock.note is None:
        return lock.agent, held, "-", "-", "-", "-"
    note = lock.note
    return lock.agent, held, str(note.pid), note.host or "-", note.since or "-", note.command or "-"
