"""What goes over a control socket is read back as it was."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from agentctl import Agent, handler
from agentctl.engines.local.events import questions
from agentctl.engines.local.events.questions import AskRequest, Question
from agentctl.records import EventRecord
from agentctl.sdk.ops import AskOp, Target


class Asked(Agent):
    @handler
    async def echo(self, text: str) -> str:
        return text


@pytest.mark.parametrize("named", [None, b'{"text":"a"}'])
def test_a_question_with_or_without_named_arguments(named: bytes | None) -> None:
    op = AskOp("1", Target("Asked", (), "echo"), Asked, b'["a"]', named, query=False)
    accepted = EventRecord(7, "ask", Raw(b"[]"), nonce="0123456789abcdef", at=1)

    request = Question(op, "Bot-7-1", "Bot", accepted, exclusive=True).request

    assert msgspec.json.decode(msgspec.json.encode(request), type=AskRequest) == request


@pytest.mark.parametrize("answer", [b'{"value":null}', b'{"type":"ValueError"}'])
def test_an_answer_is_a_result_or_an_error(answer: bytes) -> None:
    assert msgspec.json.encode(msgspec.json.decode(answer, type=questions.Asked)) == answer
    with pytest.raises(msgspec.ValidationError, match="a result or an error"):
        msgspec.json.decode(b'{"text":"of another version"}', type=questions.Asked)
