"""Lines are cut and requests read, whatever arrives in whatever pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.engines.local.control.messages import Lines, Refusal, read_answer, read_request


@given(data=st.lists(st.binary(max_size=60), max_size=8))
def test_lines_are_the_same_however_they_are_cut(data):
    stream = b"\n".join(data) + b"\n"
    for size in (1, 2, 7, len(stream)):
        lines = Lines(10_000)
        got = [
            line
            for at in range(0, len(stream), size)
            for line in lines.feed(stream[at : at + size])
        ]
        assert got == stream[:-1].split(b"\n")
        assert lines.unfinished == 0


@pytest.mark.parametrize("size", [1, 4, 11])
def test_a_line_may_have_its_length_and_no_byte_more(size):
    lines = Lines(10)
    assert list(lines.feed(b"x" * 10 + b"\n")) == [b"x" * 10]

    def feed_eleven():
        for at in range(0, 11, size):
            list(lines.feed((b"x" * 11)[at : at + size]))

    with pytest.raises(Refusal, match="longer than 10 bytes"):
        feed_eleven()


def test_each_byte_is_looked_at_once():
    class Counted(bytes):
        looked = 0

        def find(self, sub, begin=0):
            Counted.looked += len(self) - begin
            return super().find(sub, begin)

    lines = Lines(10**9)
    for _ in range(1000):
        list(lines.feed(Counted(b"x" * 100)))
    assert Counted.looked == 100_000


@given(line=st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_any_bytes_are_a_request_or_refused(line):
    try:
        told = read_request(line).jsonrpc
    except Refusal as refusal:
        told = refusal.failure.code
    assert told in ("2.0", -32700, -32600)


def test_an_answer_that_is_too_deep_is_none():
    with pytest.raises(ValueError, match="recursion"):
        read_answer(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000)
