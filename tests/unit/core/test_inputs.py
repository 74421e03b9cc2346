from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

import pytest

from agentctl.core.inputs import check, read_input
from agentctl.errors import UsageError
from agentctl.value_schemas import describe
from agentctl.values import Secret, codec


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Refund:
    amount: int
    note: str | None = None
    parts: list[Refund] = field(default_factory=list)


@dataclass
class Login:
    user: str
    password: Secret[str]
    old: Secret[str] | None = None


def checked(annotation: Any, raw: str) -> Any:
    takes = describe(annotation)
    return json.loads(check(raw.encode(), takes.name, takes.description))


def read(annotation: Any, text: str) -> Any:
    takes = describe(annotation)
    return json.loads(read_input(text, takes.name, takes.description))


@pytest.mark.parametrize(
    ("annotation", "raw", "message"),
    [
        (bool, "1", "answer: expected bool, got 1"),
        (int, "1.0", "answer: expected int, got 1.0"),
        (int, "true", "answer: expected int, got true"),
        (float, "9007199254740993", "answer: expected float, got 9007199254740993"),
        (str, "[1]", "answer: expected str, got a list"),
        (None, "0", "answer: expected None, got 0"),
        (Color, '"green"', 'answer: expected "red" or "blue", got "green"'),
        (Literal[1, 2], "true", "answer: expected 1 or 2, got true"),
        (datetime, '"2026-01-01"', 'answer: expected datetime, got "2026-01-01"'),
        (dict[str, date], '{"a b": "x"}', "answer['a b']: expected date, got \"x\""),
        (dict[int, str], '{"01": "x"}', "answer['01']: expected whole number, got \"01\""),
        (tuple[int, str], "[1]", "answer: expected 2 parts, got 1"),
        (tuple[int, str], '[1, "a", 2]', "answer: expected 2 parts, got 3"),
        (set[int], "[1, 1]", "answer: expected a set, got a member twice"),
        (Refund, '{"amount": "x"}', 'answer.amount: expected int, got "x"'),
        (Refund, "{}", "answer: its field 'amount' is missing"),
        (Refund, "7", "answer: expected Refund, got 7"),
        (
            Refund,
            '{"amount": 1, "parts": [{"amount": 1}, {"amount": null}]}',
            "answer.parts[1].amount: expected int, got null",
        ),
        (list[int | None], '[1, "a"]', 'answer[1]: expected int | None, got "a"'),
        (Refund | None, '{"amount": 1.5}', "answer.amount: expected int, got 1.5"),
        (bool, "{", "answer: this is no JSON: Input data was truncated"),
    ],
)
def test_an_answer_of_another_type_is_refused_with_its_place(annotation, raw, message):
    with pytest.raises(UsageError) as caught:
        checked(annotation, raw)
    assert caught.value.message == message


def test_a_refusal_says_how_the_answer_is_written():
    with pytest.raises(UsageError) as caught:
        checked(list[Refund], "7")
    assert caught.value.hint == (
        'it takes [{"amount": int, "note": str | None, "parts": [Refund, …]}, …]'
    )


def test_a_secret_is_put_on_record_as_one_however_it_was_given():
    wrapped = {"user": "ana", "password": {"$secret": "x"}}
    assert checked(Login, '{"user": "ana", "password": "x"}') == wrapped
    assert checked(Login, json.dumps(wrapped)) == wrapped
    assert checked(Login, '{"user": "", "password": "x", "old": "y"}')["old"] == {"$secret": "y"}
    assert checked(Secret[Refund], '{"amount": 1}') == {"$secret": {"amount": 1}}
    assert read(Secret[str], "hunter2") == {"$secret": "hunter2"}


@pytest.mark.parametrize(
    "raw", ['"hunter2"', '{"user": 1, "password": "hunter2"}', '{"user": "", "password": 4711}',
            '{"user": "", "password": "", "old": 4711}', '["hunter2"]', '{"password": "hunter2"}']
)  # fmt: skip
def test_a_refusal_never_shows_a_secret(raw):
    with pytest.raises(UsageError) as caught:
        checked(Login, raw)
    assert "hunter2" not in str(caught.value)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, "approved", "approved"),
        (str, "7", "7"),
        (str, "null", "null"),
        (str, '"approved"', "approved"),
        (str, '{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        (str, '{"a"', '{"a"'),
        (str, '"a', '"a'),
        (str, "", ""),
        (str | None, "null", None),
        (bool, "true", True),
        (date, "2026-03-15", "2026-03-15"),
        (Color, "red", "red"),
        (Color, '"red"', "red"),
        (Refund, '{"amount": 5}', {"amount": 5}),
        (Any, "[1]", [1]),
    ],
)
def test_an_answer_is_read_as_a_person_types_it(annotation, text, value):
    assert read(annotation, text) == value


@pytest.mark.parametrize(
    ("annotation", "text", "message"),
    [
        (bool, "yes", 'answer: expected bool, got "yes"'),
        (int, "7.5", "answer: expected int, got 7.5"),
        (Color, "green", 'answer: expected "red" or "blue", got "green"'),
        (Refund, '{"amount": 5', "answer: this is no JSON: Input data was truncated"),
        (Refund, '{"amount": 5, "amount": 6}', "'amount' stands twice"),
        (Any, "hello", "answer: this is no JSON"),
        (str, "\udcff", "no text in this terminal's encoding"),
    ],
)
def test_what_cant_be_read_is_refused(annotation, text, message):
    with pytest.raises(UsageError) as caught:
        read(annotation, text)
    assert message in caught.value.message


def test_a_value_as_deep_as_a_codec_writes_passes():
    deep = Refund(0)
    for _ in range(90):
        deep = Refund(1, parts=[deep])
    takes = describe(Refund)
    raw = codec(Refund).encode(deep)
    assert check(raw, takes.name, takes.description) == raw


def test_a_deeper_one_is_refused():
    for raw in ("[" * 100_000, '{"amount":1,"parts":[' * 400 + "]}" * 400):
        with pytest.raises(UsageError, match=r"answer: (it nests too deeply|this is no JSON)"):
            checked(Refund, raw)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"$ref": 7},
        {"type": ["object"], "properties": 5, "required": "abc", "items": 3},
        {"anyOf": {}, "enum": 7, "format": [], "minItems": "a"},
        {"format": "a later one", "type": "a later one"},
    ],
)
def test_what_makes_no_sense_in_a_record_is_passed_over(schema):
    assert check(b'{"a":[1]}', "Later", json.dumps(schema).encode()) == b'{"a":[1]}'


def test_a_name_of_a_later_version_takes_anything():
    assert check(b"[1]", "Later", None) == b"[1]"


def test_a_record_that_would_take_for_ever_is_refused():
    twice = [{"type": "array", "items": {"$ref": "#"}}] * 2
    schema = json.dumps({"anyOf": [*twice, {"type": "null"}]}).encode()
    raw = b"[" * 60 + b"1" + b"]" * 60
    with pytest.raises(UsageError, match="too long to check"):
        check(raw, "Deep", schema)


def test_a_name_that_would_upset_a_terminal_is_shown_harmless():
    with pytest.raises(UsageError) as caught:
        check(b"1", "\x1b[2J\u202e", b'{"type":"string"}')
    assert caught.value.message.isprintable()
