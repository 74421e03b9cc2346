"""What a handler's loop refuses: everything that would reach around the journal (R5).

Two fences. The loop's own methods that would open sockets, threads or processes raise. And while
a turn runs in a thread, an audit hook of the interpreter refuses sockets, threads and processes
made without asyncio. Each says what to use instead. What the interpreter itself must have changed
for that, and for repeatable order, is changed by `guard_interpreter` and nowhere else; importing
agentctl changes nothing.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import events
from collections.abc import Callable
from typing import Any, Final

from agentctl.errors import UsageError

_IN_A_CAPABILITY: Final = "do it in a capability's method, whose result is recorded"

_AUDITED: Final = {
    "socket.connect": "open a connection",
    "socket.bind": "listen on a socket",
    "socket.getaddrinfo": "look up a host",
    "subprocess.Popen": "start a process",
    "os.system": "start a process",
    "os.fork": "fork",
    "os.posix_spawn": "start a process",
    "os.exec": "become another process",
    "_thread.start_new_thread": "start a thread",
    "_thread.start_joinable_thread": "start a thread",  # from 3.13 on
}


class HandlerReach(UsageError):
    """A handler tried to reach around the journal."""

    title = "a handler can't do that"


def refuse(what: str, hint: str = _IN_A_CAPABILITY) -> HandlerReach:
    """Make the error for a handler that tried `what`."""
    return HandlerReach(f"a handler can't {what}: {hint}", hint="see docs/concepts.md, Replay")


_REFUSED: Final = {
    "use threads": "run_in_executor set_default_executor",
    "be called from another thread": "call_soon_threadsafe",
    "run its own loop": "run_forever run_until_complete",
    "stop its loop": "stop close shutdown_asyncgens shutdown_default_executor",
    "change how tasks are made": "set_task_factory",
    "look up a host": "getaddrinfo getnameinfo",
    "open a connection": "create_connection create_unix_connection start_tls sock_connect",
    "listen on a socket": "create_server create_unix_server",
    "open a socket": "create_datagram_endpoint connect_accepted_socket",
    "open a pipe": "connect_read_pipe connect_write_pipe",
    "send a file": "sendfile",
    "use a socket": (
        "sock_recv sock_recv_into sock_recvfrom sock_sendall sock_sendto sock_accept sock_sendfile"
    ),
    "watch a file": "add_reader add_writer",
    "handle signals": "add_signal_handler remove_signal_handler",
    "start a process": "subprocess_exec subprocess_shell",
}
_HINTS: Final = {"use threads": "mark the capability's method @blocking"}


def _refusing(what: str) -> Callable[..., Any]:
    def method(_self: object, *_args: Any, **_kwargs: Any) -> Any:
        raise refuse(what, _HINTS.get(what, _IN_A_CAPABILITY))

    return method


class ForbiddenLoop(asyncio.AbstractEventLoop):
    """An event loop that has no sockets, threads, processes, signals or run of its own."""

    def next_order(self) -> int:
        """Number one more thing that hashes by its creation."""
        raise NotImplementedError


for _what, _names in _REFUSED.items():
    for _name in _names.split():
        setattr(ForbiddenLoop, _name, _refusing(_what))


def _audit(event: str, _args: tuple[Any, ...]) -> None:
    what = _AUDITED.get(event)
    if what is not None and isinstance(events._get_running_loop(), ForbiddenLoop):
        raise refuse(what)


_hooked = False


def guard_interpreter() -> None:
    """Make the interpreter ready to run handlers, once; it can't be undone.

    The audit hook refuses what reaches around the journal, and what `gather` gives to a handler
    hashes by order (docs/decisions/0010).
    """
    global _hooked  # noqa: PLW0603 - the hook is the process's
    if not _hooked:
        _hooked = True
        # There is no other way in: `gather` names this class, and offers nobody to choose another.
        asyncio.tasks._GatheringFuture.__hash__ = _hash_of_gathering  # type: ignore[attr-defined]
        sys.addaudithook(_audit)
        if sys.version_info < (3, 12):
            _audit_threads()


def _hash_of_gathering(future: asyncio.Future[Any]) -> int:
    """Hash a handler's future by order, any other as ever; `gather` makes it without the loop."""
    loop = future.get_loop()
    if not isinstance(loop, ForbiddenLoop):
        return object.__hash__(future)
    order: int | None = getattr(future, "order", None)
    if order is None:
        order = future.order = loop.next_order()  # type: ignore[attr-defined]
    return order


def _audit_threads() -> None:
    """Let `threading` say when it starts a thread, as interpreters from 3.12 on do."""
    import threading

    start: Callable[..., int] = threading._start_new_thread  # type: ignore[attr-defined]

    def audited(*args: Any) -> int:
        _audit("_thread.start_new_thread", ())
        return start(*args)

    threading._start_new_thread = audited  # type: ignore[attr-defined]
