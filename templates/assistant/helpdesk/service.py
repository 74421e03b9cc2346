"""A real model, asked over HTTP as OpenAI's chat completions are; many services speak that.

`kavach.toml` binds it by its module and class, with `with = { key = { env = "OPENAI_API_KEY" } }`.
"""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from agentctl import NonRetryable, Secret, blocking, service_key

from helpdesk.assistant import Message, Model, Tool, ToolCall

WORTH_ANOTHER_TRY = {408, 409, 429}
LONGEST_S = 110  # a thread can't be stopped: it ends before the call's timeout


class Service(Model):
    """Asks a service.

    Args:
        key: by which the service knows its customer; some need none.
        name: of the model.
        url: what stands in front of `/chat/completions`.
    """

    def __init__(
        self,
        key: Secret[str] | None = None,
        name: str = "gpt-4o-mini",
        url: str = "https://api.openai.com/v1",
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} begins with neither http:// nor https://")
        self.url = f"{url.rstrip('/')}/chat/completions"
        self.name = name
        self.key = key

    @blocking
    def answer(self, messages: list[Message], tools: list[Tool]) -> Message:
        """Ask once; what is worth another try is an OSError, anything else a NonRetryable."""
        said = self._ask([_sent(one) for one in messages], [_told(one) for one in tools])
        try:
            found = said["choices"][0]["message"]
            calls = [
                ToolCall(one["id"], one["function"]["name"], one["function"]["arguments"])
                for one in found.get("tool_calls") or ()
            ]
            return Message("assistant", found.get("content") or "", calls)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise NonRetryable(f"no answer of a model: {json.dumps(said)[:300]}") from None

    def _ask(self, messages: list[Any], tools: list[Any]) -> Any:
        body = {"model": self.name, "messages": messages, "tools": tools}
        # The service key is the same in each attempt: who knows such keys charges for one.
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(service_key())}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key.reveal()}"
        request = Request(self.url, json.dumps(body).encode(), headers)
        try:
            with urlopen(request, timeout=LONGEST_S) as reply:
                return json.load(reply)
        except HTTPError as error:
            text = f"{error.code}: {error.read(300).decode(errors='replace')}"
            if error.code in WORTH_ANOTHER_TRY or error.code >= 500:
                raise ConnectionError(text) from None
            raise NonRetryable(text) from None
        except (HTTPException, ValueError) as error:  # no HTTP, or no JSON: cut off, most likely
            raise ConnectionError(f"no answer: {error}") from None


def _sent(one: Message) -> dict[str, Any]:
    message: dict[str, Any] = {"role": one.role, "content": one.text}
    if one.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool, "arguments": call.arguments},
            }
            for call in one.calls
        ]
    if one.answers:
        message["tool_call_id"] = one.answers
    return message


def _told(one: Tool) -> dict[str, Any]:
    function = {"name": one.name, "description": one.about, "parameters": one.parameters}
    return {"type": "function", "function": function}
