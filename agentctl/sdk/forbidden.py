"""What a handler's loop refuses: everything that would reach around the journal (R5).

Two fences. The loop's own methods that would open sockets, threads or processes raise. And while
a turn runs in a thread, an audit hook of the interpreter refuses sockets, threads and processes
made without asyncio. Each says what to use instead.
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
}


class HandlerReach(UsageError):
    """A handler tried to reach around the journal."""

    title = "a handler can't do that"


def refuse(what: str, hint: str = _IN_A_CAPABILITY) -> HandlerReach:
    """Make the error for a handler that tried `what`."""
    return HandlerReach(f"a handler can't {what}: it has no world but its capabilities", hint=hint)


def _refusing(what: str, hint: str = _IN_A_CAPABILITY) -> Callable[..., Any]:
    def method(_self: object, *_args: Any, **_kwargs: Any) -> Any:
        raise refuse(what, hint)

    return method


class ForbiddenLoop(asyncio.AbstractEventLoop):
    """An event loop that has no sockets, threads, processes, signals or run of its own."""

    run_in_executor = _refusing("use threads", "mark the capability's method @blocking")
    call_soon_threadsafe = _refusing("be called from another thread")
    set_default_executor = _refusing("use threads")
    run_forever = _refusing("run its own loop")
    run_until_complete = _refusing("run its own loop")
    stop = _refusing("stop its loop")
    getaddrinfo = _refusing("look up a host")
    getnameinfo = _refusing("look up a host")
    create_connection = _refusing("open a connection")
    create_server = _refusing("listen on a socket")
    create_unix_connection = _refusing("open a connection")
    create_unix_server = _refusing("listen on a socket")
    create_datagram_endpoint = _refusing("open a socket")
    connect_accepted_socket = _refusing("open a socket")
    connect_read_pipe = _refusing("open a pipe")
    connect_write_pipe = _refusing("open a pipe")
    sendfile = _refusing("send a file")
    start_tls = _refusing("open a connection")
    sock_recv = _refusing("use a socket")
    sock_recv_into = _refusing("use a socket")
    sock_recvfrom = _refusing("use a socket")
    sock_sendall = _refusing("use a socket")
    sock_sendto = _refusing("use a socket")
    sock_connect = _refusing("open a connection")
    sock_accept = _refusing("use a socket")
    sock_sendfile = _refusing("use a socket")
    add_reader = _refusing("watch a file")
    add_writer = _refusing("watch a file")
    add_signal_handler = _refusing("handle signals")
    remove_signal_handler = _refusing("handle signals")
    subprocess_exec = _refusing("start a process")
    subprocess_shell = _refusing("start a process")


def _audit(event: str, _args: tuple[Any, ...]) -> None:
    what = _AUDITED.get(event)
    if what is not None and isinstance(events._get_running_loop(), ForbiddenLoop):
        raise refuse(what)


_hooked = False


def guard_interpreter() -> None:
    """Put the audit hook in place, once; the interpreter has no way to take one off again."""
    global _hooked  # noqa: PLW0603 - the hook is the process's
    if not _hooked:
        _hooked = True
        sys.addaudithook(_audit)
