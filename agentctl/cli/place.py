"""Where a command looks: from the global flags to a place, a project, a desk.

Who changes something through a desk of `open_desk` hears when a program leaves the answer out.
Never reads a journal and never imports the project's code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentctl.cli.output import Output
from agentctl.errors import NotFound
from agentctl.ops import places
from agentctl.project.config import Flags
from agentctl.project.model import Project

if TYPE_CHECKING:
    from agentctl.engines.desk import Desk, Unanswered


def flags_of(output: Output) -> Flags:
    """What `-C`, `--root` and `--set` say."""
    options = output.options
    return Flags(project=options.project, root=options.root, settings=options.settings)


def find_place(output: Output) -> places.Place:
    """Find where the agents' folders lie.

    Raises:
        NotFound: there is neither a project nor a root.
    """
    try:
        return places.find_place(flags_of(output), output.environ)
    except NotFound as error:
        if output.options.root is None and (Path.cwd() / "agents").is_dir():
            error.hint = "the agents of this folder can be looked at with: --root ."
        raise


def find_project(output: Output) -> Project:
    """Find and load the project.

    Raises:
        NotFound: there is none.
        ProjectError: it can't be loaded.
    """
    return places.find_project(flags_of(output), output.environ)


def open_desk(place: places.Place, output: Output) -> Desk:
    """Open the desk of a command that changes something, which says so if it has to wait."""
    return places.open_desk(place, lambda what: output.note(_unanswered(what)))


def _unanswered(what: Unanswered) -> str:
    pid = f" (pid {what.pid})" if what.pid else ""
    again = "asking again does nothing twice"
    if not what.once:
        again = "without an idempotency key (-i) asking again may make a second event"
    return (
        f"the program that runs {what.agent}{pid} hasn't answered yet; still waiting. Ctrl-C is "
        f"safe: what was asked may be done yet, and {again}. "
        f"See: agentctl inspect lock {what.agent}"
    )
