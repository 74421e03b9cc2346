"""Who asks, and under which id: what every request for a change bears."""

from __future__ import annotations

import secrets
from collections.abc import Mapping


def new_id() -> str:
    """The id of one request, however often it is asked."""
    return secrets.token_hex(16)


def asker(environ: Mapping[str, str]) -> str:
    """Who asks, for the audit log: the user's name, "" where the environment knows none."""
    return environ.get("USER") or environ.get("LOGNAME") or ""
