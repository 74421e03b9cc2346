"""Lets a person edit JSON in their editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agentctl.errors import UsageError


def edit_json(json: bytes, environ: Mapping[str, str]) -> bytes:
    """Show a JSON list in `$VISUAL` or `$EDITOR`, and return what the person made of it.

    Raises:
        UsageError: there is no editor, it failed, or what it left is no JSON list.
    """
    editor = environ.get("VISUAL") or environ.get("EDITOR")
    if not editor:
        raise UsageError(
            "no editor is named: $EDITOR is empty", hint="set EDITOR, or give the list with --args"
        )
    number, name = tempfile.mkstemp(prefix="agentctl-", suffix=".json")
    try:
        with os.fdopen(number, "wb") as file:  # only its owner can read it
            file.write(json + b"\n")
        try:
            ended = subprocess.run([*shlex.split(editor), name], check=False)  # noqa: S603
        except (OSError, ValueError) as error:
            raise UsageError(
                f"the editor {editor!r} can't be started: {error}", hint="set EDITOR to another"
            ) from None
        if ended.returncode != 0:
            raise UsageError(
                f"the editor ended with code {ended.returncode}", hint="nothing was changed"
            )
        from agentctl.cli.inputs import read_arguments

        return read_arguments(f"@{name}", objects=False)
    finally:
        Path(name).unlink(missing_ok=True)
