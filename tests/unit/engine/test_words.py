"""Words become arguments by the handler's annotations; what doesn't fit is refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentctl import Agent, Secret, handler
from agentctl.engines.local.asking.words import from_json, from_words, handler_signature
from agentctl.errors import BadArguments, NotFound, UsageError


@dataclass(frozen=True)
class Card:
    """A record with a secret in it."""

    pin: Secret[int]


class Bot(Agent):
    @handler
    async def text(self, text: str) -> None: ...

    @handler
    async def number(self, number: int, ratio: float = 0.5, on: bool = False) -> None: ...

    @handler
    async def numbers(self, numbers: list[int]) -> None: ...

    @handler
    async def day(self, day: date, path: Path, price: Decimal) -> None: ...

    @handler
    async def maybe(self, text: str | None) -> None: ...

    @handler
    async def pin(self, pin: Secret[int]) -> None: ...

    @handler
    async def pins(self, pins: list[Secret[int]]) -> None: ...

    @handler
    async def card(self, card: Card) -> None: ...

    @handler
    async def rest(self, *names: str, **more: int) -> None: ...

    @handler
    async def anything(self, value: Any) -> None: ...

    @handler
    async def bare(self, value) -> None: ...  # type: ignore[no-untyped-def]


def words(name: str, *given: str) -> Any:
    made = from_words(handler_signature(Bot, name), given)
    return list(made.args), dict(made.kwargs)


@pytest.mark.parametrize("text", ["7", "true", "null", '"x"', "", "a=b", "[1", "é🙂\n"])
def test_for_a_str_the_text_stands_as_it_is(text: str) -> None:
    assert words("text", text) == ([text], {})


def test_for_anything_else_it_is_json() -> None:
    assert words("number", "7", "1.5", "true") == ([7, 1.5, True], {})
    assert words("numbers", "[1, 2]") == ([[1, 2]], {})
    assert words("number", "7", "on=true") == ([7], {"on": True})
    assert words("bare", "7") == ([7], {})


def test_what_is_written_as_a_json_text_may_go_without_its_quotes() -> None:
    day, path, price = words("day", "2026-03-15", "a/b", "1.50")[0]
    assert (day, path, price) == ("2026-03-15", "a/b", "1.50")
    assert words("maybe", "hello") == (["hello"], {})
    assert words("maybe", "null") == ([None], {})


def test_many_names_and_any_keyword() -> None:
    assert words("rest", "a", "7", "x=1") == (["a", "7"], {"x": 1})


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("number", ("abc",), "'abc' is no JSON"),
        ("number", ("1.5",), "number"),
        ("number", ('"7"',), "number"),
        ("number", (), "number"),
        ("number", ("1", "1", "true", "4"), "too many"),
        ("number", ("1", "number=2"), "number"),
        ("number", ("number=1", "number=2"), "twice"),
        ("numbers", ('[1,"2"]',), "numbers"),
        ("bare", ("abc",), "no JSON"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(name: str, given: tuple[str, ...], said: str) -> None:
    with pytest.raises(BadArguments, match=said):
        words(name, *given)


@pytest.mark.parametrize("name", ["bare", "anything", "numbers"])
@pytest.mark.parametrize("deep", [513, 900, 5000])
def test_what_nests_too_deeply_is_refused_and_is_no_text(name: str, deep: int) -> None:
    with pytest.raises(BadArguments) as caught:
        words(name, "[" * deep + "]" * deep)
    assert len(caught.value.message) < 200


def test_a_name_twice_is_refused_where_an_object_is_taken() -> None:
    twice = '{"what":1,"what":2}'
    assert words("maybe", twice) == ([twice], {})
    with pytest.raises(BadArguments, match="argument value: the name 'what' stands twice"):
        words("bare", twice)
    with pytest.raises(BadArguments, match="stands twice"):
        from_json(handler_signature(Bot, "number"), '{"number":1,"number":2}')


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="encoding"):
        words("text", "\udcff")


def test_all_arguments_at_once() -> None:
    signature = handler_signature(Bot, "number")
    assert from_json(signature, "[7]").args == [7]
    assert from_json(signature, '{"number": 7}').kwargs == {"number": 7}
    for text in ("7", "[", '["x"]', '{"nobody": 1}', "[" * 5000):
        with pytest.raises(BadArguments):
            from_json(signature, text)


def test_an_unknown_handler_is_refused_with_the_nearest() -> None:
    with pytest.raises(NotFound) as caught:
        handler_signature(Bot, "nubmer")
    assert caught.value.hint == "did you mean number?"


@pytest.mark.parametrize("name", ["pin", "pins", "card"])
@pytest.mark.parametrize("text", ["hunter2", "pin=hunter2", '"hunter2"', "hunter2\udcff"])
def test_r24_no_error_quotes_what_was_given_for_a_secret(name: str, text: str) -> None:
    given = text.replace("pin=", f"{name}=")
    with pytest.raises(UsageError) as caught:
        words(name, given)
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "json", ['["hunter2"]', '{"NAME": "hunter2"}', '["hunter2", 1]', "[hunter2"]
)
@pytest.mark.parametrize("name", ["pin", "pins", "card"])
def test_r24_no_error_quotes_a_secret_given_as_json(name: str, json: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_json(handler_signature(Bot, name), json.replace("NAME", name))
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"
