"""Arbitrary bytes in a journal's records and in `set-aside`: only our own errors come back."""

from __future__ import annotations

import json
import os

from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.core.history import JournalHistory
from agentctl.core.set_aside import parse, render
from agentctl.errors import AgentctlError, SetAsideDamaged
from agentctl.records import KINDS, Header, decode, encode, kind_of

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"

BODIES = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda kind, rest: b'{"' + kind.encode() + b'":' + rest,
        st.sampled_from([*KINDS, "telegram", ""]),
        st.binary(max_size=40),
    ),
    st.builds(
        lambda kind, members: json.dumps({kind: 1, **members}).encode(),
        st.sampled_from([*KINDS]),
        st.dictionaries(
            st.sampled_from(
                "at args handler fn until call ok value state of times extra starts nonce due next"
                " from asker schedule occurrence missed count period cron timing to".split()
            ),
            st.recursive(
                st.none() | st.integers() | st.text(max_size=4) | st.floats() | st.booleans(),
                lambda inner: (
                    st.lists(inner, max_size=2)
                    | st.dictionaries(st.text(max_size=3), inner, max_size=2)
                ),
                max_leaves=4,
            ),
            max_size=4,
        ),
    ),
)

NAMES = (b"t", b"2-1")
WELL_FORMED = [
    b'{"event":1,"handler":"h","args":[]}',
    b'{"event":2,"handler":"h","args":[7],"key":"k","of":["x"]}',
    *(b'{"start":%d,"at":1}' % n for n in (1, 2)),
    *(b'{"call":"%d-1","fn":"x","args":[]}' % n for n in (1, 2)),
    *(b'{"call":"%d-2","fn":"timer","until":9}' % n for n in (1, 2)),
    *(b'{"ok":"%d-1","value":7}' % n for n in (1, 2)),
    *(b'{"error":"%d-1","type":"x.Y","args":["t"]}' % n for n in (1, 2)),
    *(b'{"fired":"%d-2"}' % n for n in (1, 2)),
    *(b'{"dropped":"%d-%d"}' % pair for pair in ((1, 1), (2, 2))),
    *(b'{"parked":%d}' % n for n in (1, 2)),
    *(b'{"again":%d,"alone":true}' % n for n in (1, 2)),
    *(b'{"bug":%d,"text":"t"}' % n for n in (1, 2)),
    *(b'{"done":%d,"value":7,"state":{"a":1}}' % n for n in (1, 2)),
    *(b'{"failed":%d,"type":"x.Y"}' % n for n in (1, 2)),
    *(b'{"aside":%d,"handler":"h","starts":3,"nonce":""}' % n for n in (1, 2)),
    *(b'{"requeued":%d}' % n for n in (1, 2)),
    b'{"requeued":1,"fresh":2}',
    *(b'{"drop":%d,"reason":"r"}' % n for n in (1, 2)),
    b'{"stopping":1}',
    b'{"stop":1}',
    b'{"state":{"a":1}}',
    b'{"cancelled":1}',
    b'{"missed":2,"late_us":9}',
    b'{"deleted":["x"]}',
    *(
        b'{"schedule":"%b","of":["x"],"handler":"h","args":[],"due":9,"period":3}' % n
        for n in NAMES
    ),
    b'{"schedule":"t","of":["x"],"handler":"h","args":[],"due":9,"from":"Bot/x-2-1"}',
    *(
        b'{"event":%d,"handler":"h","args":[],"of":["x"],"schedule":"t","occurrence":9%b}' % one
        for one in ((3, b',"next":12'), (4, b""), (5, b',"beside":true'))
    ),
    b'{"event":6,"handler":"h","args":[],"due":9,"from":"Bot-1-1"}',
    *(b'{"skipped":"%b","of":["x"],"due":9,"next":12}' % n for n in NAMES),
    b'{"skipped":"t","of":["x"],"due":9}',
    *(b'{"unschedule":"%b","of":["x"]}' % n for n in NAMES),
    *(b'{"paused":"%b","of":["x"]}' % n for n in NAMES),
    *(b'{"resumed":"%b","of":["x"],"due":12}' % n for n in NAMES),
]


@settings(max_examples=20_000 if NIGHTLY else 600, deadline=None)
@given(BODIES)
def test_arbitrary_bytes_as_a_record_give_a_record_or_one_of_our_errors(body):
    kind_of(body)
    try:
        record = decode(body)
    except (ValueError, AgentctlError):
        return
    assert decode(encode(record)) == record


@settings(max_examples=20_000 if NIGHTLY else 600, deadline=None)
@given(st.lists(st.sampled_from(WELL_FORMED) | BODIES, max_size=14))
def test_records_in_any_order_are_folded_or_refused_never_a_traceback(bodies):
    history = JournalHistory()
    header = encode(Header(1, "Bot", "ab", 1))
    for body in [header, *bodies]:
        try:
            history.fold(kind_of(body), decode(body), body)
        except (ValueError, RecursionError, AgentctlError):
            return
    assert set(history.open) & set(history.asides) == set()
    for event in history.open.values():
        assert event.ended <= set(event.calls)
        assert event.dropped <= event.ended
        assert {path for path, _ in event.deliveries} | event.dropped == event.ended
    assert all(number < history.next_event for number in history.open)
    live = history.schedules.live
    assert not live.keys() & history.schedules.gone.keys()
    of_each = [
        (of, one.schedule) for of in {of for of, _ in live} for one in history.schedules.of(of)
    ]
    assert sorted(of_each) == sorted(live)


@settings(max_examples=20_000 if NIGHTLY else 600, deadline=None)
@given(
    st.binary(max_size=80)
    | st.lists(st.sampled_from(WELL_FORMED) | BODIES, max_size=6).map(b"\n".join)
)
def test_arbitrary_bytes_as_set_aside_are_read_or_refused_with_the_line(content):
    try:
        events = parse(content, "agents/Bot/set-aside")
    except SetAsideDamaged as error:
        message = error.message
    else:
        assert parse(render(events), "again") == events
        return
    assert message.startswith("agents/Bot/set-aside, line ")
