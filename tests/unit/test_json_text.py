"""JSON that people write: what it loses, and how deep it may be."""

from __future__ import annotations

import pytest

from agentctl.errors import BadArguments
from agentctl.json_text import DEEPEST, read_json


@pytest.mark.parametrize(
    "text",
    [
        '{"what":1,"what":2}',
        '[{"x":{"what":1,"y":{},"what":1}}]',
        r'{"what":1,"\u0077hat":2}',
        '{"a":' + "9" * 4200 + ',"what":1,"what":1}',
    ],
)
def test_a_name_that_stands_twice_is_refused(text: str) -> None:
    with pytest.raises(BadArguments, match="the name 'what' stands twice") as caught:
        read_json(text)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
        ('{"a":{"a":1.5}}', {"a": {"a": 1.5}}),
        (r'{"a":"\"a\":1,\"a\":2"}', {"a": '"a":1,"a":2'}),
    ],
)
def test_the_same_name_in_another_object_is_none(text: str, value: object) -> None:
    assert read_json(text) == value


def test_it_may_be_so_deep_and_no_deeper() -> None:
    assert read_json("[" * DEEPEST + "]" * DEEPEST)
    assert len(read_json("[" + "[]," * 5000 + "[]]")) == 5001
    for deep in (DEEPEST + 1, 900, 5000, 200_000):
        for text in ("[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep):
            with pytest.raises(BadArguments, match="nested too deeply: more than 512 levels"):
                read_json(text)


def test_a_long_name_is_shortened_and_none_reaches_the_terminal_raw() -> None:
    with pytest.raises(BadArguments) as caught:
        read_json('{"NAME":1,"NAME":2}'.replace("NAME", "\\u001b" + "x" * 900))
    assert len(caught.value.message) < 100
    assert "\x1b" not in caught.value.message
