from __future__ import annotations

import enum
import socket
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from inspect import Parameter
from typing import Any

import pytest

from agentctl.errors import NotRecordable
from agentctl.values import PLAIN, codec, digest


class Color(enum.Enum):
    RED = "red"


@dataclass
class Receipt:
    id: str


class Text(str):
    pass


class Whole(int):
    pass


@pytest.mark.parametrize(
    "value",
    [(1,), {1}, {1: 2}, {None: 1}, b"", float("nan"), Text("a"), Whole(1), {Text("a"): 1},
     pytest.param(object(), id="object"),
     Color.RED, Receipt("r"), len, date(2026, 1, 1), OrderedDict(), "\udc00", {"\udc00": 1}],
    ids=repr,
)  # fmt: skip
def test_without_an_annotation_only_plain_json_passes(value):
    for encode in (PLAIN.encode, codec(Any).encode, codec(object).encode):
        for nested in (value, [value], {"a": [value]}):
            with pytest.raises(NotRecordable, match="can't be recorded"):
                encode(nested)


def test_plain_json_passes_without_an_annotation():
    value = {"a": [1, 2.5, None, True, "x", {}, [], -0.0, 2**70]}
    assert PLAIN.decode(PLAIN.encode(value)) == value
    assert codec(Parameter.empty).encode(value) == PLAIN.encode(value)


def test_a_socket_is_refused_in_the_words_of_the_handbook():
    with socket.socket() as client, pytest.raises(NotRecordable) as caught:
        PLAIN.encode({"items": [{}, {"client": client}]})
    assert str(caught.value) == "items[1].client: socket can't be recorded"


def test_a_digest_is_the_sha_256_in_hex():
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_long_way_to_what_does_not_fit_is_shown_by_both_ends() -> None:
    value: object = {1: 2}
    for depth in range(60):
        value = {f"n{depth}": value}
    with pytest.raises(NotRecordable) as caught:
        PLAIN.encode(value)
    assert caught.value.path == "n59.n58.n57.n56.n55....n4.n3.n2.n1.n0"
