"""Hides recorded secrets in JSON that is about to be shown.

Invariant: what isn't asked to show them shows `***`. Never touches what is on disk.
"""

from __future__ import annotations

from typing import Final

import msgspec

from agentctl.secrets import SECRET_KEY, mask

_MARK: Final = SECRET_KEY.encode()
_ESCAPED: Final = rb"\u0024"


def hide(json: bytes, *, show_secrets: bool = False) -> bytes:
    """Return JSON with every recorded secret as `***`; what holds none comes back as it is."""
    if show_secrets or (_MARK not in json and _ESCAPED not in json):
        return json
    try:
        return msgspec.json.encode(mask(msgspec.json.decode(json)))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # Not JSON, so nothing of ours wrote it; it may still hold a piece of a secret.
        return b'"***"'
