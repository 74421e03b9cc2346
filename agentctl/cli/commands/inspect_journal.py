"""`agentctl inspect journal`: what happened, record by record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from agentctl.cli import records_text, redrawing
from agentctl.cli.commands.asking import AgentArgument, NumberOption, SecretsOption
from agentctl.cli.commands.inspecting import (
    EventOption,
    GrepOption,
    Request,
    ReverseOption,
    SinceOption,
    UntilOption,
    choose,
    compile_pattern,
    instant_of,
    narrowed,
)
from agentctl.cli.failures import RESTORE, failure_of_damage, write_failure
from agentctl.cli.output import Output, columns, plain
from agentctl.engines.views import JournalView
from agentctl.errors import UsageError
from agentctl.nearest import nearest_hint
from agentctl.ops import documents
from agentctl.ops.following import Followed
from agentctl.ops.journal import MARK, JournalQuery, raw_lines, read_journal
from agentctl.ops.journal_documents import JournalDocument, RecordLine, SeenJournal, SeenRecord
from agentctl.records import KINDS

_FOLLOW_EVERY_S: Final = 0.2

EXAMPLES = (
    ("agentctl inspect journal Bot", "what happened to Bot's events"),
    ("agentctl inspect journal Bot#7", "only event 7"),
    ("agentctl inspect journal --since -1h --kind bug", "what got stuck within the hour"),
    ("agentctl inspect journal -f -n 10", "the last 10 of each agent, and what comes from now on"),
    ("agentctl inspect journal Bot --raw", "the file's own lines"),
)


@dataclass(frozen=True)
class JournalRequest(Request):
    """Whom to read, what of it, and whether to go on."""

    follow: bool = False


def parse(
    *,
    agent: AgentArgument = None,
    number: NumberOption = None,
    reverse: ReverseOption = False,
    since: SinceOption = None,
    until: UntilOption = None,
    event: EventOption = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="only records of this kind; may be repeated"),
    ] = None,
    grep: GrepOption = None,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="go on, record by record, until Ctrl-C")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="the file's own lines")] = False,
    show_secrets: SecretsOption = False,
) -> JournalRequest:
    """Show what happened, record by record.

    In a pipe: line, time, event, kind and what, parted by tabs; on a terminal a table for each
    event. Takes no lock and changes nothing.
    """
    if follow and (raw or reverse):
        raise UsageError(
            f"--follow and {'--raw' if raw else '--reverse'} don't go together",
            hint="leave one of them out",
        )
    kinds = frozenset(name for each in kind or () for name in each.split(","))
    known = {*KINDS, MARK}
    for name in kinds - known:
        raise UsageError(
            f"--kind: there is no kind of record {name!r}",
            hint=nearest_hint(name, known, "kinds"),
        )
    query = JournalQuery(
        event=event,
        kinds=kinds,
        grep=compile_pattern(grep),
        since_us=instant_of(since),
        until_us=instant_of(until),
        last=number,
        reverse=reverse,
        show_secrets=show_secrets,
    )
    return JournalRequest(agent, query, raw, follow)


def execute(request: JournalRequest, output: Output) -> int:
    """Show the journals; what is damaged is said, and gives exit code 6."""
    desk, chosen = choose(request, output)
    queries = {name: narrowed(request.query, address) for name, address in chosen}
    if request.follow:
        return _follow([Followed(desk, name, query) for name, query in queries.items()], output)
    read = [read_journal(desk, name, query) for name, query in queries.items()]
    seen = [journal for journal, _ in read]
    if request.raw:
        for journal, view in read:
            for line in raw_lines(journal, view, queries[journal.agent]):
                output.line(line.decode("utf-8", "backslashreplace"))
    elif output.options.json:
        _write_json(seen, output)
    elif output.is_terminal:
        from agentctl.cli.tables import show_journal

        for journal in seen:
            show_journal(journal, output)
    else:
        for record in (record for journal in seen for record in journal.records):
            output.line(columns(records_text.row(record)))
    return _tell_damage(read, output, asked_for_one=any(q.event for q in queries.values()))


def _follow(followed: Sequence[Followed], output: Output) -> int:
    try:
        while True:
            for one in followed:
                for record in one.records():
                    _write_followed(one.agent, record, output)
            output.flush()
            redrawing.pause(_FOLLOW_EVERY_S)
    except KeyboardInterrupt:
        return 0


def _write_followed(agent: str, record: SeenRecord, output: Output) -> None:
    if output.options.json:
        output.document(documents.encode(_line_of(agent, record)))
        return
    line, at, *rest = records_text.row(record)
    if output.is_terminal:  # what comes just now is no use as "0s ago"
        output.line(plain("  ".join((f"{line:>5}", at[11:19] if record.at else at, *rest))))
    else:
        output.line(columns((line, at, *rest)))


def _line_of(agent: str, record: SeenRecord) -> RecordLine:
    return RecordLine(agent, **{name: getattr(record, name) for name in record.__struct_fields__})


def _write_json(seen: Sequence[SeenJournal], output: Output) -> None:
    if output.options.format == "json":
        output.document(documents.encode(JournalDocument(tuple(seen))))
        return
    for journal in seen:
        for record in journal.records:
            output.document(documents.encode(_line_of(journal.agent, record)))


def _tell_damage(
    read: Sequence[tuple[SeenJournal, JournalView]], output: Output, *, asked_for_one: bool
) -> int:
    code = 0
    for journal, view in read:
        if journal.damaged is not None:
            code = 6
            where = (journal.path, journal.damaged.line, journal.damaged.reason)
            hint = f"the records before it are shown, and nothing was changed; {RESTORE}"
            write_failure(failure_of_damage(where, hint), output)
        elif view.unfinished:
            output.note(f"{view.path}: the last line isn't complete (yet)")
        if asked_for_one and not journal.records:
            output.note(
                "no such event on record: a start takes ended ones out of the journal; "
                f"their ends are in: agentctl inspect audit {journal.agent}"
            )
    return code
