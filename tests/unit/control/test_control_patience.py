"""Who asks a program that doesn't answer hears so, once, and goes on waiting."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress

import pytest

from agentctl.engines.local.control.client import SLOW_S, Control
from agentctl.engines.local.door import Remote
from agentctl.engines.port import InvokeRequest
from agentctl.names import Address

LARGE = "x" * (8 * 1024 * 1024)


class Ticking:
    """A clock on which time passes only by being looked at."""

    def __init__(self, step_s):
        self.now_s = 0.0
        self.step_s = step_s

    def monotonic_s(self):
        self.now_s += self.step_s
        return self.now_s


class Peer(threading.Thread):
    """Reads no request before `goes_on` is set, then answers each with the same."""

    def __init__(self, result):
        super().__init__(daemon=True)
        ours, self.sock = socket.socketpair()
        self.client = ours
        self.result = result
        self.goes_on = threading.Event()
        self.start()

    def run(self):
        assert self.goes_on.wait(20)
        with suppress(ConnectionError):  # who asked gave up
            for line in self.sock.makefile("rb"):
                asked = json.loads(line)["id"]
                answer = {"jsonrpc": "2.0", "id": asked, "result": self.result}
                self.sock.sendall(json.dumps(answer).encode() + b"\n")


@pytest.fixture
def asking():
    """Make a control to a peer, on a clock of such steps."""
    made = []

    def make(step_s, result=None):
        peer = Peer(result)
        made.append(peer)
        return Control(peer.client, Ticking(step_s)), peer

    yield make
    for peer in made:
        peer.goes_on.set()
        peer.client.close()
        peer.join(20)
        peer.sock.close()


@pytest.mark.parametrize("params", [{}, {"text": LARGE}], ids=["small", "larger than a buffer"])
def test_after_a_while_without_an_answer_it_is_said_once_and_the_answer_still_comes(asking, params):
    control, peer = asking(SLOW_S / 2, "done")
    heard = []

    def slow():
        heard.append("slow")
        peer.goes_on.set()

    assert control.call("change", params, str, slow=slow) == "done"
    assert control.call("change", {}, str) == "done"
    assert heard == ["slow"]


def test_an_answer_in_time_and_a_time_that_is_up_before_say_nothing(asking):
    heard = []
    control, peer = asking(SLOW_S / 10, "done")
    peer.goes_on.set()
    assert control.call("change", {}, str, slow=lambda: heard.append("slow")) == "done"
    control, _ = asking(SLOW_S / 2)
    with pytest.raises(TimeoutError):
        control.call("change", {}, str, 0.9 * SLOW_S, slow=lambda: heard.append("slow"))
    assert heard == []


@pytest.mark.parametrize("key", [None, "k"])
def test_waiting_for_an_event_to_be_accepted_is_said_and_for_its_end_is_not(asking, key):
    heard = []
    control, peer = asking(5 * SLOW_S, {"event": "Bot#1"})
    peer.goes_on.set()
    request = InvokeRequest("Bot", (), "request", [7], key=key)
    assert Remote(control, heard.append).invoke(request, None).event == "Bot#1"
    assert heard == [key is not None]
    end = {"event": "Bot#1", "handler": "request", "status": "completed"}
    control, peer = asking(5 * SLOW_S, end)
    peer.goes_on.set()
    ended = Remote(control, heard.append).wait(Address("Bot", (), 1), None)
    assert (ended.status, len(heard)) == ("completed", 1)
