"""The control socket: how a command or another program reaches whoever holds an agent's folder.

The names are loaded when they are first used: who only asks needs no event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentctl.engines.local.control.asking import AsyncControl as AsyncControl
    from agentctl.engines.local.control.client import Control as Control
    from agentctl.engines.local.control.client import is_served as is_served
    from agentctl.engines.local.control.place import place_of as place_of
    from agentctl.engines.local.control.reaching import reach as reach
    from agentctl.engines.local.control.server import ControlServer as ControlServer
    from agentctl.engines.local.control.trouble import ControlGone as ControlGone

SOCKET: Final = "control"
"""The socket's name in an agent's folder."""

_HOMES: Final = {
    "AsyncControl": "agentctl.engines.local.control.asking",
    "Control": "agentctl.engines.local.control.client",
    "ControlGone": "agentctl.engines.local.control.trouble",
    "ControlServer": "agentctl.engines.local.control.server",
    "is_served": "agentctl.engines.local.control.client",
    "place_of": "agentctl.engines.local.control.place",
    "reach": "agentctl.engines.local.control.reaching",
}


def __getattr__(name: str) -> object:
    module = _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found: object = getattr(importlib.import_module(module), name)
    globals()[name] = found
    return found
