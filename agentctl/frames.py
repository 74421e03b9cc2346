"""Whose a frame of a traceback is, and how its file is shown.

Invariant: what is neither ours nor the standard library's is the user's, also where the user's
project is installed beside us. Never reads a file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_OURS: Final = f"{Path(__file__).parent}{os.sep}"
_PYTHONS: Final = f"{Path(os.__file__).parent}{os.sep}"
_INSTALLED: Final = ("site-packages", "dist-packages")


def is_users(filename: str) -> bool:
    """Whether a frame's file is the user's: neither ours, nor Python's, nor made by code."""
    if filename.startswith(("<", _OURS)):
        return False
    if not filename.startswith(_PYTHONS):
        return True
    first, _, _ = filename.removeprefix(_PYTHONS).partition(os.sep)
    return first in _INSTALLED


def short_path(filename: str) -> str:
    """A file's path as seen from the working folder, where it lies in it."""
    try:
        relative = os.path.relpath(filename)
    except (OSError, ValueError):  # the working folder is gone, or on another drive
        return filename
    return filename if relative.startswith(f"..{os.sep}") else relative
