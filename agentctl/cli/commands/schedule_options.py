"""The arguments and options of `agentctl schedule`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

InstanceArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="AGENT", help='Bot, or Poller("my-poller")')
]
NameArgument: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="the schedule's name")]
NameOption: TypeAlias = Annotated[
    str,
    typer.Option("--name", metavar="NAME", help="of the schedule; one of this name is replaced"),
]
EveryOption: TypeAlias = Annotated[
    str | None, typer.Option("--every", metavar="DURATION", help="again and again, after so long")
]
OnceAtOption: TypeAlias = Annotated[
    str | None, typer.Option("--at", "--schedule-at", metavar="TIME", help="once, then")
]
OnceInOption: TypeAlias = Annotated[
    str | None, typer.Option("--in", metavar="DURATION", help="once, after so long")
]
ZoneOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--tz", metavar="ZONE", help="of --cron, and of a TIME without an offset"),
]
EventKeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option("-i", "--idempotency-key", metavar="KEY", help="of the event that fires once"),
]
FirstOption: TypeAlias = Annotated[
    str | None, typer.Option("--first", metavar="TIME", help="of --every: the first time")
]
CronOption: TypeAlias = Annotated[
    str | None, typer.Option("--cron", metavar="EXPR", help="by five fields: '0 9 * * 1-5'")
]
MissedOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--missed",
        metavar="coalesce|skip|all",
        help="due times at which nothing ran: one run for all, none, or each (coalesce)",
    ),
]
OverlapOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--overlap", metavar="skip|queue|allow", help="due while the last one still runs (skip)"
    ),
]
JitterOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--jitter", metavar="DURATION", help="begin later by up to so much, at random"),
]
LateOption: TypeAlias = Annotated[
    str | None, typer.Option("--max-late", metavar="DURATION", help="later than this it is missed")
]
ForceOption: TypeAlias = Annotated[
    bool, typer.Option("--force", help="also in the place of one that code or kavach.toml has set")
]
