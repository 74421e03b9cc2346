"""Where the user's code stands: file and line, for people."""

from __future__ import annotations

import sys
import traceback
from types import FrameType

from agentctl.frames import is_users, short_path
from agentctl.value_errors import clean


def line_of(error: BaseException) -> str | None:
    """The innermost line of the user's code that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if is_users(frame.filename):
            return clean(f"{short_path(frame.filename)}:{frame.lineno}")
    return None


def handler_line() -> str | None:
    """The file and line of the user's code that is on the stack."""
    return users_line(sys._getframe(1))


def users_line(frame: FrameType | None) -> str | None:
    """The file and line of the innermost code of the user on a stack."""
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return clean(f"{short_path(frame.f_code.co_filename)}:{frame.f_lineno}")
        frame = frame.f_back
    return None
