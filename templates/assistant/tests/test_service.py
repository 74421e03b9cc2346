"""How a real model is asked, by a server on this machine that plays one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from agentctl import AgentError, Secret
from agentctl.testing import Durable

from helpdesk.assistant import Assistant, Message
from helpdesk.service import Service
from helpdesk.world import Shop

WANTS: dict[str, Any] = {
    "content": None,
    "tool_calls": [
        {
            "id": "call-1",
            "type": "function",
            "function": {"name": "find_order", "arguments": '{"order_id": 7}'},
        }
    ],
}
SAYS: dict[str, Any] = {"content": "It is a lamp."}


class Asked(list[tuple[dict[str, str], Any]]):
    """The requests that came: headers and body of each."""

    url = ""


@contextmanager
def served(*answers: tuple[int, bytes]) -> Iterator[Asked]:
    """Serve these answers, one after another; give the requests that come."""
    asked, left = Asked(), list(answers)

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((dict(self.headers), json.loads(body)))
            status, text = left.pop(0)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Answer)
    asked.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def choice(message: dict[str, Any]) -> tuple[int, bytes]:
    return 200, json.dumps({"choices": [{"message": message}]}).encode()


def test_a_conversation_goes_over_http_and_each_request_bears_its_key(durable: Durable) -> None:
    with served(choice(WANTS), choice(SAYS)) as asked:
        model = Service(Secret("hunter2"), "small", asked.url)
        said = durable.run(Assistant, "ask", "what is order 7?", model=model, orders=Shop())
    assert said == "It is a lamp."
    headers, body = zip(*asked, strict=True)
    assert [each["Authorization"] for each in headers] == ["Bearer hunter2"] * 2
    keys = [each["Idempotency-Key"].rpartition("-")[0] for each in headers]
    assert keys == ["Assistant-1-1", "Assistant-1-3"]
    assert [each["model"] for each in body] == ["small", "small"]
    assert [each["function"]["name"] for each in body[0]["tools"]] == ["find_order", "refund_order"]
    assert [each["role"] for each in body[1]["messages"]] == ["system", "user", "assistant", "tool"]
    wanted, found = body[1]["messages"][2:]
    assert wanted["tool_calls"] == WANTS["tool_calls"]
    assert (found["tool_call_id"], found["content"]) == ("call-1", "order 7: a lamp, 40")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((503, b"busy"), ConnectionError),
        ((429, b"slow down"), ConnectionError),
        ((200, b"<html>"), ConnectionError),
        ((401, b"who are you?"), AgentError),
        ((200, b'{"choices": []}'), AgentError),
    ],
)
def test_only_what_may_pass_is_worth_another_try(
    answer: tuple[int, bytes], error: type[Exception]
) -> None:
    with served(answer) as asked:
        ask: Any = Service(url=asked.url).answer  # by others than agents it is just called
        with pytest.raises(error):
            ask([Message("user", "hello")], [])
    assert "Authorization" not in asked[0][0]


def test_nobody_there_is_worth_another_try() -> None:
    with served() as asked:
        pass
    ask: Any = Service(url=asked.url).answer
    with pytest.raises(OSError, match="refused"):
        ask([Message("user", "hello")], [])
