"""A journal with an event of every kind, and how it comes into a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentctl.storage.files import frame

AT = 1_764_500_000_000_000  # 2025-11-30T10:53:20Z
STAMP = "2025-11-30T10:53:20.000000Z"
FAR = AT + 10**15
HEADER = b'{"journal":1,"agent":"Bot","id":"00000000000000000000000000000000","next":1,"at":1}'
SECRET = b'{"$secret":"hunter2"}'
LINES = [
    HEADER,
    b'{"state":{"count":3,"token":%s},"of":["eu"]}' % SECRET,
    b'{"outcome":1,"handler":"request","key":"old","status":"completed","of":["eu"],"value":%s'
    b',"at":%d}' % (SECRET, AT),
    b'{"event":2,"handler":"request","args":[7,%s],"of":["eu"],"key":"k","at":%d}' % (SECRET, AT),
    b'{"event":3,"handler":"later","args":[],"due":%d,"at":%d}' % (FAR, AT),
    b'{"event":4,"handler":"request","args":[9],"of":["us"],"at":%d}' % AT,
    b'{"event":5,"handler":"request","args":[9],"of":["xx"],"at":%d}' % AT,
    b'{"start":2,"at":%d}' % AT,
    b'{"call":"2-1","fn":"Shop.pay","args":[%s],"at":%d}' % (SECRET, AT),
    b'{"ok":"2-1","value":{"id":%s},"at":%d}' % (SECRET, AT),
    b'{"call":"2-2","fn":"timer","until":%d,"at":%d}' % (FAR, AT),
    b'{"parked":2}',
    b'{"start":4,"at":%d}' % AT,
    b'{"bug":4,"text":"KeyError: \'total\'","line":"shop/bot.py:31","at":%d}' % AT,
]


def write(folder: Path, lines: Sequence[bytes], agent: str = "Bot") -> Path:
    place = folder / "agents" / agent
    place.mkdir(parents=True, exist_ok=True)
    data, _ = frame.seal(lines, 0, None)
    (place / "journal").write_bytes(data)
    return place
