"""A reader of journals, written from docs/format.md and records*.md, without a line of agentctl.

It follows the chain of checksums, tells damage from a tail that doesn't count, and finds the open
events with what each has done and waits for, and the schedules. Should the page be wrong or leave
something out, this fails first.
"""

import json
import re
import zlib

SUFFIX = re.compile(rb',"crc":"([0-9a-f]{8})"}')
MARK = re.compile(rb'[,{]"synced":([0-9]+)$')


class Damaged(Exception):
    pass


def framed(line):
    """Whether a line is one whole JSON object with a frame; then its head and its mark."""
    suffix = SUFFIX.fullmatch(line[-18:])
    try:
        whole = suffix is not None and isinstance(json.loads(line), dict)
    except ValueError:
        whole = False
    if not whole:
        return None
    mark = MARK.search(line[:-18])
    return line[:-18], int(mark[1]) if mark else None


def records(data):
    """The records that count; `Damaged` where durable data was changed."""
    crc, offset, found, previous = 0, 0, [], None
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines):
        frame = framed(line)
        following = zlib.crc32(line[:-18], crc)
        if frame is None or line[-18:] != b',"crc":"%08x"}' % following:
            later = [framed(one) for one in lines[number:]]
            if any(one and one[1] is not None and one[1] > offset for one in later):
                raise Damaged(f"line {number + 1}")
            if line == previous and number + 1 < len(lines):
                after = lines[number + 1]
                if after[-18:] == b',"crc":"%08x"}' % zlib.crc32(after[:-18], crc):
                    raise Damaged(f"line {number + 1}")
            break
        record = json.loads(line)
        record.pop("crc")
        record.pop("synced", None)
        if record:
            found.append(record)
        crc, offset, previous = following, offset + len(line) + 1, line
    return found


def counting(found):
    """The records, without what a call made in a write that ends before the call's result."""
    last = found[-1] if found else {}
    kind = next(iter(last), None)
    made = "from" in last and (kind == "schedule" or (kind == "event" and "asker" not in last))
    kept = 1 + found[0].get("kept", 0) if found else 0
    return found[:-1] if made and len(found) > kept else found


def schedules(found):
    """The schedules that are there, by instance and name: each as its record, moved on."""
    live, kept = {}, 1 + (found[0].get("kept", 0) if found else 0)
    for number, record in enumerate(counting(found), 1):
        kind = next(iter(record))
        at = (*record.get("of", ()), record[kind])
        moves = kind == "skipped" and number > kept
        if kind == "event" and "schedule" in record and "beside" not in record and number > kept:
            at, moves = (*record.get("of", ()), record["schedule"]), True
        if moves and "next" not in record:
            del live[at]
        elif moves:
            live[at] = {**live[at], "due": record["next"]}
        elif kind == "schedule":
            live[at] = record
        elif kind == "unschedule" and number > kept:
            del live[at]
        elif kind in ("paused", "resumed"):
            due = record["due"] if kind == "resumed" else live[at]["due"]
            live[at] = {**live[at], "due": due, "paused": kind == "paused"}
        elif kind == "deleted":
            live = {one: live[one] for one in live if list(one[:-1]) != record["deleted"]}
    return live


def open_events(found):
    """The events that haven't ended, by number: the calls and the outcomes of each."""
    events, over, requeuing, aside = {}, {}, {}, set()
    for record in counting(found):
        kind = next(iter(record))
        value = record[kind]
        if kind == "event":
            event = {"calls": {}, "outcomes": {}, "stands": {}, "answers": {}}
            (requeuing if value in aside else events)[value] = event
            aside.discard(record.get("was"))
        elif kind in ("call", "ok", "error", "fired", "dropped"):
            number = int(value.split("-")[0])
            event = requeuing.get(number) or events[number]
            event["calls" if kind == "call" else "outcomes"][value] = record
        elif kind in ("tried", "attempt", "waiting", "answer"):
            number = int(value.split("-")[0])
            event = requeuing.get(number) or events[number]
            if kind == "answer":
                event["answers"][value] = record["value"]
            else:
                event["stands"][value] = record
            if kind == "waiting":
                event["answers"].pop(value, None)
        elif kind in ("done", "failed", "cancelled", "missed"):
            over[value] = events.pop(value)
        elif kind == "retry":
            event = events[value] = over.pop(value, None) or events[value]
            for call in record.get("undo", []) + record.get("forget", []):
                for part in ("outcomes", "stands", "answers"):
                    event[part].pop(call, None)
            for call in record.get("forget", []):
                del event["calls"][call]
        elif kind == "aside":
            events.pop(value, None)
            aside.add(value)
        elif kind == "requeued":
            aside.discard(value)
            if "fresh" not in record:
                events[value] = requeuing.pop(value)
        elif kind == "drop":
            aside.discard(value)
    return events


def waits(event):
    """The inputs that an open event waits for: by call, what is asked and of which type."""
    found = {}
    for call, record in event["calls"].items():
        if call in event["outcomes"] or call in event["answers"]:
            continue
        asked = record if record["fn"] == "question" else event["stands"].get(call, {})
        if asked is record or "waiting" in asked:
            found[call] = asked["text"], asked["type"]
    return found


def attempt(event, call):
    """Which attempt a call is at, or waits to begin."""
    stands = event["stands"].get(call, {})
    if "tried" in stands:
        return stands["attempt"] + 1
    if next(iter(stands), None) == "attempt":
        return stands["n"]
    return stands.get("attempt", 1)
