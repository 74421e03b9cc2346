"""R15: each audit line is a function of its record: the exact texts, one line, no secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.core.audit import AUDITED, audit_lines, escaped, is_audited
from agentctl.records import KINDS, EventRecord, decode

AT = 1_796_030_042_511_034  # 2026-11-30T09:14:02.511034Z
EVENT = decode(b'{"event":7,"handler":"request","args":[7]}')
POLL = decode(b'{"event":7,"handler":"poll","args":[],"of":["eu/7"]}')


def line(body, event=EVENT):
    body = body[:-1] + f',"at":{AT}}}'
    return audit_lines("Bot", decode(body.encode()), event)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"event":7,"handler":"request","args":[7]}', "Bot accepted: event #7 of request"),
        ('{"done":7,"value":"r7"}', "Bot completed: event #7 of request"),
        (
            '{"done":7,"value":{"id":"r7"},"unheard":true}',
            'Bot completed: event #7 of request, nobody waited for {"id":"r7"}',
        ),
        (
            '{"failed":7,"type":"shop.Declined","args":["no"],"text":"no"}',
            "Bot failed: event #7 of request (shop.Declined: no)",
        ),
        ('{"bug":7,"text":"KeyError: 1"}', "Bot stuck: event #7 of request (KeyError: 1)"),
        (
            '{"error":"7-2","type":"agentctl.errors.Denied","text":"closed"}',
            "Bot denied: call 7-2 (closed)",
        ),
        (
            '{"aside":1,"handler":"request","starts":3,"nonce":""}',
            "Bot set aside: event #1 of request (started 3 times without finishing)",
        ),
        (
            '{"aside":1,"handler":"request","starts":1,"nonce":""}',
            "Bot set aside: event #1 of request (started once without finishing)",
        ),
        (
            '{"call":"7-3","fn":"question","text":"refund 900?","type":"bool"}',
            "Bot asked: Bot-7-3: refund 900? (bool)",
        ),
        (
            '{"waiting":"7-2.3","text":"how much?","type":"int","until":1796030042511034}',
            "Bot asked: Bot-7-2.3: how much? (int, until 2026-11-30T09:14:02.511034Z)",
        ),
        (
            '{"answer":"7-3","value":{"a":{"$secret":1}},"by":"ana","note":"as agreed"}',
            'Bot answered: Bot-7-3 by ana: {"a":"***"} (as agreed)',
        ),
        ('{"answer":"7-3","value":true}', "Bot answered: Bot-7-3: true"),
        ('{"requeued":7,"lines":3}', "Bot requeued: event #7"),
        ('{"drop":7,"reason":"no use"}', "Bot dropped: event #7 (no use)"),
        ('{"stop":2}', "Bot stopped: 2 events unfinished"),
        (
            '{"journal":1,"agent":"Bot","id":"a","next":9,"open":1}',
            "Bot started: 1 event unfinished",
        ),
    ],
)
def test_the_line_of_each_record(body, expected):
    assert line(body) == [f"2026-11-30T09:14:02.511034Z {expected}"]


def test_r10_the_line_of_a_set_aside_event_word_for_word():
    (told,) = line('{"aside":1,"handler":"request","starts":3,"nonce":"ab"}')
    assert told.split(" ", 1)[1] == (
        "Bot set aside: event #1 of request (started 3 times without finishing)"
    )


def test_a_start_that_cut_something_off_says_that_first():
    told = line('{"journal":1,"agent":"Bot","id":"a","next":9,"cut":"a torn line 4"}')
    assert [one.split(" ", 1)[1] for one in told] == [
        "Bot repaired: cut off a torn line 4",
        "Bot started: 0 events unfinished",
    ]


def test_an_instance_is_named_by_its_address():
    (told,) = line('{"done":7}', POLL)
    assert told.endswith(" Bot/eu%2F7 completed: event #7 of poll")
    (told,) = line('{"event":8,"handler":"poll","args":[],"of":["a b"]}', None)
    assert told.endswith(" Bot/a%20b accepted: event #8 of poll")


def test_records_of_no_interest_leave_no_line():
    for body in (
        '{"call":"7-1","fn":"x"}',
        '{"ok":"7-1"}',
        '{"start":7}',
        '{"again":7}',
        '{"stopping":1}',
    ):
        assert line(body) == []


def test_what_is_audited_and_what_makes_lines_are_the_same():
    assert AUDITED <= set(KINDS.values())
    assert is_audited(decode(b'{"call":"7-1","fn":"question","text":"","type":"bool","at":1}'))
    assert not is_audited(decode(b'{"call":"7-1","fn":"timer","at":1}'))
    assert not is_audited(decode(b'{"start":7,"at":1}'))


def test_an_error_that_is_no_denial_leaves_no_line():
    assert line('{"error":"7-2","type":"shop.Declined","text":"no"}') == []


def test_r24_a_secret_is_not_shown():
    (told,) = line('{"done":7,"value":{"token":{"$secret":"hunter2"}},"unheard":true}')
    assert "hunter2" not in told
    assert told.endswith('nobody waited for {"token":"***"}')


@given(st.text())
def test_whatever_an_error_says_a_line_stays_one_line_without_control_characters(text):
    shown = escaped(text)
    assert shown.isprintable() or shown == ""
    assert len(escaped("\n".join([text] * 3))) <= 12 * max(1, len(text) * 3 + 2)


def test_a_long_text_is_cut():
    assert escaped("x" * 5000) == "x" * 1999 + "…"


def test_line_breaks_are_escaped():
    (told,) = line('{"failed":7,"type":"x.Y","text":"a\\nBot completed: event #8\\u001b[31m"}')
    assert told.endswith("(x.Y: a\\nBot completed: event #8\\x1b[31m)")


def test_the_same_record_gives_the_same_line_always():
    record = EventRecord(1, "request", EVENT.args, at=AT)
    assert audit_lines("Bot", record, None) == audit_lines("Bot", record, record)


def test_a_fresh_requeue_is_told_by_the_new_event_s_own_record() -> None:
    """It is what decides; the line behind it, which a power cut may take, says nothing more."""
    body = b'{"event":9,"handler":"request","args":[],"was":7,"at":0}'
    told = [line.split(" ", 1)[1] for line in audit_lines("Bot", decode(body), None)]
    assert told == [
        "Bot requeued: event #7 as event #9",
        "Bot accepted: event #9 of request",
    ]
    assert audit_lines("Bot", decode(b'{"requeued":7,"fresh":9}'), None) == []
