"""Where a command looks: from the global flags to a place, a project, a desk.

Never reads a journal and never imports the project's code.
"""

from __future__ import annotations

from pathlib import Path

from agentctl.cli.output import Output
from agentctl.errors import NotFound
from agentctl.ops import places
from agentctl.project.config import Flags
from agentctl.project.model import Project


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
