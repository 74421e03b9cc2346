"""A record in one line for people, of each kind."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from agentctl.cli.records_text import _WHAT, what
from agentctl.ops.journal_documents import SeenRecord
from agentctl.records import KINDS


def told(line: str) -> str:
    kind = next(iter(json.loads(line)))
    return what(SeenRecord(1, None, None, kind, None, Raw(line.encode())))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"event":1,"handler":"h","args":[7],"from":"Boss-1-1"}', "h [7], asked by Boss-1-1"),
        ('{"call":"1-1","fn":"ask","to":"Bot/a","handler":"h","args":[7]}', "ask Bot/a.h [7]"),
        ('{"cancel":1,"by":"ana","reason":"not wanted"}', "by ana: not wanted"),
        ('{"cancelled":1,"reason":"not wanted"}', "not wanted"),
        ('{"cancelled":1,"ran":true}', "its clean-up is done"),
        ('{"retry":1,"by":"ana"}', "by ana"),
        (
            '{"retry":1,"undo":["1-1","1-2"],"forget":["1-3"]}',
            "made again: 1-1, 1-2; forgotten: 1-3",
        ),
        ('{"deleted":["a"],"by":"ana"}', "a by ana"),
        ('{"deleted":["a","b"]}', "a/b"),
        ('{"told":"Boss-1-1","event":1}', "Boss-1-1 has the answer"),
        (
            '{"event":1,"handler":"h","args":[7],"schedule":"tick","occurrence":1}',
            "h [7], by the schedule tick",
        ),
        (
            '{"schedule":"tick","of":["a"],"handler":"h","args":[7],"due":1000000,"period":1000}',
            "a/tick: h [7], due 1970-01-01T00:00:01.000000Z, every 0.001s",
        ),
        (
            '{"schedule":"t","handler":"h","due":1000000,"cron":"0 9 * * *","tz":"UTC","args":[]}',
            "t: h [], due 1970-01-01T00:00:01.000000Z, cron 0 9 * * * UTC",
        ),
        (
            '{"skipped":"tick","due":1000000,"count":3,"why":"overlap"}',
            "tick: 3 times, from 1970-01-01T00:00:01.000000Z on (overlap)",
        ),
        ('{"unschedule":"tick","of":["a"],"by":"ana"}', "a/tick by ana"),
        ('{"paused":"tick"}', "tick"),
        (
            '{"resumed":"tick","due":1000000,"count":2}',
            "tick: due 1970-01-01T00:00:01.000000Z, 2 passed",
        ),
        ('{"missed":1,"late_us":3600000000}', "1h late"),
        ('{"answered":"x","do":"invoke","value":{"event":"Bot#1"}}', 'invoke: {"event":"Bot#1"}'),
    ],
)
def test_what_a_record_says(line: str, said: str) -> None:
    assert told(line) == said


def test_every_kind_has_words_of_its_own() -> None:
    assert set(KINDS) <= set(_WHAT)
