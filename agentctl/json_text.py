"""JSON that a person wrote."""

from __future__ import annotations

from typing import Any

import msgspec

from agentctl.errors import BadArguments


def read_json(text: str) -> Any:
    """Read it.

    Raises:
        BadArguments: it isn't JSON.
    """
    try:
        return msgspec.json.decode(text.encode())
    except (ValueError, RecursionError) as error:  # lone surrogates, too
        raise BadArguments(
            f"this is no JSON: {error}", hint="""write it like [7], or {"order_id": 7}"""
        ) from None
