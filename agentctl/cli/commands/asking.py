"""What several commands ask for in the same words."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

AgentArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[AGENT]", help="an agent, an instance or an event; left out: all"),
]
NumberOption: TypeAlias = Annotated[
    int | None, typer.Option("-n", "--number", min=0, metavar="N", help="only the last N")
]
SecretsOption: TypeAlias = Annotated[
    bool, typer.Option("--show-secrets", help="show secrets instead of ***")
]
