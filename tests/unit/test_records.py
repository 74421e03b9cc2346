"""The records: short lines whose first key names the kind, and nothing run on reading them."""

from __future__ import annotations

import gc
import json
import sys

import msgspec
import pytest
from msgspec import Raw

from agentctl.errors import FormatTooNew, JournalDamaged
from agentctl.record_lines import check_format, decode_line
from agentctl.records import (
    FORMAT,
    KINDS,
    CallRecord,
    DoneRecord,
    ErrorRecord,
    EventRecord,
    Header,
    OkRecord,
    StartRecord,
    decode,
    encode,
    kind_of,
)

AS_IN_THE_DESIGN = [
    b'{"journal":1,"agent":"Bot","id":"ab","next":1}',
    b'{"event":1,"handler":"request","args":[7]}',
    b'{"start":1,"at":5}',
    b'{"call":"1-1","fn":"Payments.refund","args":[7]}',
    b'{"ok":"1-1","value":{"id":"r7"}}',
    b'{"error":"1-2","type":"shop.world.Declined","args":["no"]}',
    b'{"call":"1-3","fn":"timer","until":1764500000000000}',
    b'{"fired":"1-3"}',
    b'{"dropped":"1-2"}',
    b'{"parked":1}',
    b'{"again":1}',
    b'{"bug":1,"text":"KeyError: \'total\'","line":"shop/bot.py:31"}',
    b'{"done":1,"value":"r7","state":{"failures":0}}',
    b'{"failed":1,"type":"shop.Declined"}',
    b'{"aside":1,"handler":"request","starts":3,"nonce":"ab"}',
    b'{"requeued":1,"lines":3}',
    b'{"drop":1,"reason":"no use"}',
    b'{"state":{"failures":0},"of":["my-poller"]}',
    b'{"outcome":1,"handler":"request","key":"k","status":"completed"}',
    b'{"stopping":3}',
    b'{"stop":3}',
    b'{"cancel":1,"by":"ana","reason":"no longer wanted"}',
    b'{"cancelled":1,"ran":true}',
    b'{"retry":1,"by":"ana","undo":["1-2"],"forget":["1-3"]}',
    b'{"deleted":["my-poller"],"by":"ana"}',
    b'{"told":"Boss-1-1","event":1}',
    b'{"answered":"0123","do":"cancel","value":{"answer":"cancelled"}}',
    b'{"answered":"Boss-1-1-ab","do":"schedule","value":{"name":"t"},"owed":true}',
    b'{"told":"Boss-1-1-ab","event":0}',
    b'{"missed":1,"late_us":60000000}',
    b'{"event":2,"handler":"h","args":[],"schedule":"t","occurrence":9,"missed":3,"next":12}',
    b'{"event":2,"handler":"h","args":[],"due":9,"from":"Bot-1-1","late":3}',
    b'{"call":"1-4","fn":"schedule","args":[],"to":"Bot","handler":"h","timing":{"name":"t"}}',
    b'{"call":"1-5","fn":"cancel","to":"Bot t 9"}',
    b'{"schedule":"t","of":["my-poller"],"handler":"h","args":[],"due":9,"period":3,"seed":"ab"}',
    b'{"schedule":"t","handler":"h","args":[],"due":9,"cron":"0 9 * * 1-5","tz":"Europe/Berlin"}',
    b'{"skipped":"t","due":9,"count":3,"why":"overlap","next":12}',
    b'{"unschedule":"t","due":9,"by":"ana"}',
    b'{"paused":"t","of":["my-poller"],"by":"ana"}',
    b'{"resumed":"t","due":12,"count":1}',
    b'{"call":"1-6","fn":"step","step":"charge","args":[7]}',
    b'{"call":"1-7","fn":"step","step":"charge","undoes":"1-6","args":["r7"]}',
    b'{"tried":"1-6","attempt":1,"type":"OSError","text":"down","next":1764500000000000}',
    b'{"attempt":"1-6","n":2}',
    b'{"waiting":"1-6","text":"approved?","type":"str","until":1764500000000000}',
    b'{"call":"1-8","fn":"question","text":"refund 900?","type":"bool","until":1764500000000000}',
    b'{"answer":"1-8","value":true,"by":"ana","note":"it is fine"}',
    b'{"ok":"1-6","value":"sent","state":{"customer":"c-ana"}}',
    b'{"cancel":1,"by":"ana","gently":true}',
    b'{"event":3,"handler":"run","args":[],"key":"run","lane":"high","once":true}',
]


@pytest.mark.parametrize("body", AS_IN_THE_DESIGN, ids=kind_of)
def test_each_record_of_the_design_is_read_and_written_back_byte_for_byte(body):
    record = decode(body)
    assert type(record) is KINDS[kind_of(body)]
    assert encode(record) == body


def test_every_kind_that_can_be_written_is_among_them():
    assert {kind_of(body) for body in AS_IN_THE_DESIGN} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_member_names_the_kind(kind):
    struct = KINDS[kind]
    assert struct.__struct_encode_fields__[0] == kind


def test_a_reader_ignores_keys_that_it_does_not_know():
    record = decode(b'{"ok":"1-1","value":7,"colour":"green","at":3}')
    assert record == OkRecord("1-1", Raw(b"7"), at=3)


def test_a_line_leaves_out_what_is_at_its_default():
    assert encode(EventRecord(1, "request", Raw(b"[7]"))) == AS_IN_THE_DESIGN[1]
    assert encode(StartRecord(1, 5)) == b'{"start":1,"at":5}'
    assert encode(DoneRecord(1)) == b'{"done":1}'


def test_a_value_stays_the_bytes_it_was_written_as():
    value = b'{"b":1,"a":[1.0,1e2,"\\u00e9"]}'
    record = decode(b'{"ok":"1-1","value":%b}' % value)
    assert isinstance(record, OkRecord)
    assert bytes(record.value) == value


def test_p8_a_record_that_names_a_module_or_holds_a_pickle_imports_and_runs_nothing():
    before = set(sys.modules)
    error = decode(b'{"error":"1-1","type":"antigravity.Boom","args":["x"],"text":"t"}')
    assert isinstance(error, ErrorRecord)
    ok = decode(rb'{"ok":"1-1","value":{"py/object":"os.system","$pickle":"gASVKAAAAAAAAACM"}}')
    assert isinstance(ok, OkRecord)
    assert set(sys.modules) == before


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b"x", b'{"', b"{1:2}", b' {"ok":1}'])
def test_what_is_no_record_is_refused(body):
    assert kind_of(body) == ""
    with pytest.raises(ValueError, match="not a record"):
        decode(body)


def test_a_kind_of_a_later_version_is_refused_as_such():
    with pytest.raises(FormatTooNew, match="'telegram'") as refused:
        decode(b'{"telegram":1}')
    assert refused.value.hint


@pytest.mark.parametrize(
    "body",
    [
        b'{"event":"1","handler":"request","args":[7]}',
        b'{"event":1,"args":[7]}',
        b'{"ok":1}',
        b'{"call":"1-1","fn":7}',
        b'{"done":1,"value":}',
        b'{"start":1}',
        b'{"done":1} ',
        b'{"done":1}x',
        b'{"done":1',
    ],
)
def test_a_record_with_a_member_of_a_wrong_type_is_refused(body):
    if body == b'{"done":1} ':
        assert decode(body) == DoneRecord(1)  # white space behind it means nothing
        return
    with pytest.raises(ValueError, match=r".+"):
        decode(body)


def test_a_line_that_passed_its_checksum_and_is_no_record_is_damage_with_file_and_line():
    with pytest.raises(JournalDamaged) as damaged:
        decode_line(b'{"ok":1}', path="agents/Bot/journal", line=4)
    assert damaged.value.message.startswith("agents/Bot/journal, line 4: ")
    assert (damaged.value.path, damaged.value.line) == ("agents/Bot/journal", 4)
    assert damaged.value.hint


def test_the_format_of_a_header_is_checked_and_told_in_one_place():
    check_format("agents/Bot/journal", FORMAT)
    with pytest.raises(FormatTooNew, match=r"^agents/Bot/journal has the format 2, and this"):
        check_format("agents/Bot/journal", FORMAT + 1)


def test_a_line_of_a_later_version_names_file_and_line_too():
    with pytest.raises(FormatTooNew, match=r"^agents/Bot/journal, line 4: "):
        decode_line(b'{"telegram":1}', path="agents/Bot/journal", line=4)


def test_a_line_nested_without_end_is_damage_and_not_a_traceback():
    deep = b'{"ok":"1-1","value":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    try:
        record = decode_line(deep, path="j", line=1)
    except JournalDamaged:
        return
    assert isinstance(record, OkRecord)


def test_records_are_plain_json_for_any_reader():
    record = CallRecord("1-1", "Payments.refund", args=Raw(b'["\xc3\xa9"]'), repeat=False, at=1)
    body = encode(record)
    assert json.loads(body) == {
        "call": "1-1", "fn": "Payments.refund", "args": ["é"], "repeat": False, "at": 1
    }  # fmt: skip
    assert msgspec.json.decode(body) == json.loads(body)


def test_the_header_says_what_a_start_needs_to_know():
    header = Header(1, "Bot", "ab", 7, kept=3, open=2, cut="a torn line", at=9)
    assert decode(encode(header)) == header


def test_the_garbage_collector_looks_at_no_record():
    for body in AS_IN_THE_DESIGN:
        assert not gc.is_tracked(decode(body)), body
