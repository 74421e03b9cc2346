"""A record in one line for people, of each kind."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from agentctl.cli.records_text import _WHAT, what
from agentctl.ops.journal_documents import SeenRecord
from agentctl.records import KINDS

FIRST = "1970-01-01T00:00:01.000000Z"


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
        (
            '{"call":"1-1","fn":"question","text":"refund?","type":"bool","until":1000000}',
            f"question refund? (bool, until {FIRST})",
        ),
        ('{"call":"1-1","fn":"step","step":"charge","args":[7]}', "step charge [7]"),
        (
            '{"call":"1-2","fn":"step","step":"charge","undoes":"1-1","args":[]}',
            "undo charge (of 1-1) []",
        ),
        (
            '{"tried":"1-1","attempt":1,"type":"builtins.OSError","text":"no","next":1000000}',
            f"attempt 1: OSError: no, next {FIRST}",
        ),
        ('{"attempt":"1-1","n":2}', "attempt 2"),
        ('{"waiting":"1-1","text":"how much?","type":"int"}', "how much? (int)"),
        ('{"answer":"1-1","value":5,"by":"ana","note":"agreed"}', "5 by ana: agreed"),
        ('{"deleted":["a","b"]}', "a/b"),
        ('{"told":"Boss-1-1","event":1}', "Boss-1-1 has the answer"),
        (
            '{"event":1,"handler":"h","args":[7],"schedule":"tick","occurrence":1000000}',
            f"h [7], by the schedule tick, due {FIRST}",
        ),
        (
            '{"event":1,"handler":"h","args":[],"schedule":"tick","occurrence":1000000,"missed":3,'
            '"next":2000000,"note":"twice there"}',
            f"h [], by the schedule tick, due {FIRST}, counts for 3 due times, twice there",
        ),
        (
            '{"event":1,"handler":"h","args":[],"schedule":"tick","occurrence":1000000,'
            '"beside":true}',
            f"h [], beside the schedule tick, due {FIRST}",
        ),
        (
            '{"event":2,"handler":"h","args":[],"due":1000000,"from":"Bot-1-1","nonce":"ab"}',
            f"h [], due {FIRST}, asked by Bot-1-1",
        ),
        (
            '{"call":"1-1","fn":"trigger","args":[7],"to":"Bot/a","handler":"h","timing":{}}',
            "trigger Bot/a.h [7]",
        ),
        (
            '{"call":"1-1","fn":"schedule","args":[7],"to":"Bot/a","handler":"h",'
            '"timing":{"name":"t","due_us":1000000,"period_us":1500000}}',
            f"schedule Bot/a.h [7], as t, due {FIRST}, every 1.5s",
        ),
        (
            '{"call":"1-1","fn":"schedule","args":[],"to":"Bot","handler":"h",'
            '"timing":{"name":"t","cron":"0 9 * * *","tz":"Europe/Berlin"}}',
            "schedule Bot.h [], as t, cron 0 9 * * * Europe/Berlin",
        ),
        (
            '{"call":"1-1","fn":"schedule","args":[],"to":"Bot","handler":"h",'
            '"timing":{"due_us":1000000,"key":"k"}}',
            f"schedule Bot.h [], due {FIRST}, key k",
        ),
        ('{"call":"1-1","fn":"cancel","to":"Bot/a#7"}', "cancel Bot/a#7"),
        (
            '{"call":"1-1","fn":"cancel","to":"Bot/a my tick 1000000"}',
            f"cancel Bot/a my tick, due {FIRST}",
        ),
        ('{"call":"1-1","fn":"result","to":"Bot/a#7","handler":"h"}', "result Bot/a#7"),
        ('{"call":"1-1","fn":"schedules"}', "schedules"),
        ('{"call":"1-1","fn":"cancel","to":7}', '{"call":"1-1","fn":"cancel","to":7}'),
        (
            '{"schedule":"tick","of":["a"],"handler":"h","args":[7],"due":1000000,'
            '"period":1500000}',
            f"a/tick: h [7], due {FIRST}, every 1.5s",
        ),
        (
            '{"schedule":"t","handler":"h","due":1000000,"cron":"0 9 * * *","tz":"UTC","args":[]}',
            f"t: h [], due {FIRST}, cron 0 9 * * * UTC",
        ),
        (
            '{"skipped":"tick","due":1000000,"count":3,"why":"overlap"}',
            f"tick: 3 due times, from {FIRST} on (overlap)",
        ),
        (
            '{"schedule":"tick","handler":"h","args":[],"due":1000000,"source":"shell",'
            '"key":"k","paused":true}',
            f"tick: h [], due {FIRST}, key k, paused, by shell",
        ),
        (
            '{"schedule":"tick","handler":"h","args":[],"due":1000000,"from":"Bot-1-1"}',
            f"tick: h [], due {FIRST}, by Bot-1-1",
        ),
        ('{"skipped":"tick","due":1000000}', f"tick: 1 due time, from {FIRST} on (missed)"),
        ('{"unschedule":"tick","of":["a"],"by":"ana"}', "a/tick by ana"),
        ('{"paused":"tick"}', "tick"),
        (
            '{"resumed":"tick","due":1000000,"count":2}',
            f"tick: due {FIRST}, 2 due times passed",
        ),
        ('{"missed":1,"late_us":3600000000}', "1h late"),
        ('{"answered":"x","do":"invoke","value":{"event":"Bot#1"}}', 'invoke: {"event":"Bot#1"}'),
    ],
)
def test_what_a_record_says(line: str, said: str) -> None:
    assert told(line) == said


def test_every_kind_has_words_of_its_own() -> None:
    assert set(KINDS) <= set(_WHAT)
