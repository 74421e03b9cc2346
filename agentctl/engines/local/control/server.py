"""ControlServer: the control socket of a folder that this program holds.

Binds the socket, lets in who may ask, and ends it. Only the holder of the folder's lock starts
one, so what lies in its place before is left over from a program that died. Peers are never
waited for: neither by the program while it runs, nor for longer than half a second at its end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import stat
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from agentctl.engines.local.control.connection import Connection, Limits, Methods, Shared
from agentctl.engines.local.control.credentials import is_admitted, peer_uid
from agentctl.engines.local.control.place import Place, place_of, prepare
from agentctl.errors import DiskTrouble
from agentctl.storage.files.disk import disk_trouble

log = logging.getLogger("agentctl")

_BACKLOG: Final = 4096
_CLOSE_S: Final = 0.5
_AGAIN_S: Final = 0.1
_LOOK_S: Final = 5.0
_IDLE_S: Final = 1.0
_ACCEPTED_AT_ONCE: Final = 16


class ControlServer:
    """Serves the folder's control socket between `start` and `close`."""

    def __init__(
        self,
        folder: str,
        methods: Methods,
        *,
        limits: Limits | None = None,
        uid_of: Callable[[socket.socket], int] = peer_uid,
        look_s: float = _LOOK_S,
    ) -> None:
        """Prepare to serve; nothing is bound yet.

        Args:
            folder: the agent's folder, whose lock this program holds.
            methods: what peers may ask, by name; gets the parameters as JSON.
            limits: what peers may take up.
            uid_of: tells a peer's user.
            look_s: how often to look whether the socket is still in its place.
        """
        self._folder = folder
        self._methods = methods
        self._uid_of = uid_of
        self._look_s = look_s
        self._shared = Shared(limits or Limits())
        self._room = _room(self._shared.limits.connections)
        self._left = asyncio.Event()
        self._connections: dict[Connection, None] = {}
        self._bound: _Bound | None = None
        self._resting: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Bind the socket in place of a stale one, and begin to accept.

        Raises:
            DiskTrouble: it can't be bound there.
        """
        assert self._bound is None, "served already"
        self._loop = asyncio.get_running_loop()
        self._begin(_Bound(place_of(self._folder)))
        self._held = self._folder_inode()
        self._looking = self._loop.call_later(self._look_s, self._look_after)
        _serving.add(self)

    async def close(self) -> None:
        """Stop accepting, remove the socket, write the answers that are there, hang up.

        Takes half a second at most. Safe to call twice, and without `start`.
        """
        if self._looking is not None:
            self._looking.cancel()
        if self._bound is not None:
            self._bound.remove()
            self._stop_accepting()
        ends = [asyncio.ensure_future(one.finish()) for one in self._connections]
        if ends:
            _, late = await asyncio.wait(ends, timeout=_CLOSE_S)
            for end in late:
                end.cancel()
        for connection in self._connections:
            connection.hang_up()
        while self._connections:
            self._left.clear()
            await self._left.wait()
        _serving.discard(self)

    # -- accepting

    def _begin(self, bound: _Bound) -> None:
        self._bound = bound
        self._loop.add_reader(bound.sock, self._accept)

    def _stop_accepting(self) -> None:
        assert self._bound is not None
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        self._loop.remove_reader(self._bound.sock)
        self._bound.sock.close()
        self._bound = None

    def _accept(self) -> None:
        assert self._bound is not None
        # Not all of them at once: peers that come without end must leave the others their turn.
        for _ in range(_ACCEPTED_AT_ONCE):
            if not self._has_room():
                self._rest()
                return
            try:
                sock, _ = self._bound.sock.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # Out of file descriptors or memory, or this peer is gone; it may pass.
                log.debug("a peer couldn't be let in: %s", error)
                self._rest()
                return
            self._let_in(sock)

    def _rest(self) -> None:
        """Accept nobody until a peer leaves, or some time has passed."""
        assert self._bound is not None
        self._loop.remove_reader(self._bound.sock)
        self._resting = self._loop.call_later(_AGAIN_S, self._resume)

    def _resume(self) -> None:
        assert self._bound is not None
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
            self._loop.add_reader(self._bound.sock, self._accept)

    def _has_room(self) -> bool:
        """Whether one more may come in; if not, one that has long been idle has to leave."""
        if len(self._connections) < self._room:
            return True
        idle = next((one for one in self._connections if one.idle_s >= _IDLE_S), None)
        if idle is not None:
            idle.hang_up()
        return False

    def _let_in(self, sock: socket.socket) -> None:
        try:
            uid = self._uid_of(sock)
        except OSError:
            sock.close()  # it is gone already
            return
        if not is_admitted(uid):
            log.warning("a program of the user %s was turned away at the control socket", uid)
            sock.close()
            return
        sock.setblocking(False)
        connection = Connection(sock, self._methods, self._shared, self._leave)
        self._connections[connection] = None

    def _leave(self, connection: Connection) -> None:
        del self._connections[connection]
        self._left.set()
        if self._bound is not None:
            self._resume()

    # -- the socket's place

    def _look_after(self) -> None:
        """Bind the socket anew where somebody removed it (a cleaner of temporary folders)."""
        self._looking = self._loop.call_later(self._look_s, self._look_after)
        if not self._is_gone():
            return
        try:
            bound = _Bound(place_of(self._folder))
        except DiskTrouble as trouble:
            log.debug("the control socket is gone from its place: %s", trouble.message)
            return
        log.info("the control socket was gone from its place; it is there again")
        self._stop_accepting()
        self._begin(bound)

    def _folder_inode(self) -> tuple[int, int]:
        return _inode(Path(self._folder).resolve())

    def _is_gone(self) -> bool:
        """Whether nothing stands there, in the folder that this program holds.

        Where the folder was moved away, another one of its name is somebody else's.
        """
        assert self._bound is not None
        try:
            same = self._folder_inode() == self._held
            return same and not os.path.lexists(self._bound.path)
        except OSError:
            return False

    def close_in_child(self) -> None:
        """Let go of every socket in a forked child; the files are its parent's."""
        if self._bound is not None:
            self._bound.sock.close()
        for connection in self._connections:
            connection.close_in_child()


class _Bound:
    """A listening socket in its place."""

    def __init__(self, place: Place) -> None:
        """Bind and listen.

        Raises:
            DiskTrouble: that can't be done.
        """
        prepare(place)
        self._place = place
        self.path = place.path
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind()
        except OSError as error:
            self.sock.close()
            raise disk_trouble("can't be bound as a control socket", self.path, error) from error

    def _bind(self) -> None:
        path = Path(self.path)
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()
        with self._place.address() as address:
            self.sock.bind(address)
            # Nobody can connect before it listens, so nobody comes in while the mode is wider.
            Path(address).chmod(0o600)
            self._inode = _inode(path)
        self.sock.setblocking(False)
        self.sock.listen(_BACKLOG)

    def in_place(self) -> bool:
        """Whether the name still leads to this socket."""
        try:
            return _inode(Path(self.path)) == self._inode
        except OSError:
            return False

    def remove(self) -> None:
        """Remove the name; somebody else's socket of that name stays."""
        if self.in_place():
            with suppress(OSError):
                Path(self.path).unlink()


def _inode(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _room(wanted: int) -> int:
    """How many peers at once: at most half of what this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft // 2))


_serving: weakref.WeakSet[ControlServer] = weakref.WeakSet()


def _let_go() -> None:
    for server in list(_serving):
        server.close_in_child()


# A forked child would keep the sockets open: peers would wait for a program that is gone.
os.register_at_fork(after_in_child=_let_go)
