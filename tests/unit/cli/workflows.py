"""A journal of workflows: one in each of the states that only steps bring about."""

from __future__ import annotations

from .journals import AT, FAR, HEADER, SECRET

SECOND = 1_000_000
RUN = b'{"event":%d,"handler":"run","args":[],"of":["%s"],"key":"run","once":true,"at":%d}'
STEP = b'{"call":"%d-%d","fn":"step","step":"%s","at":%d}'
OK = b'{"ok":"%d-%d","value":%s,"at":%d}'


def _begun(event: int, who: bytes) -> list[bytes]:
    """A run that has done its first step."""
    return [
        RUN % (event, who, AT),
        b'{"start":%d,"at":%d}' % (event, AT),
        STEP % (event, 1, b"create", AT),
        OK % (event, 1, SECRET, AT),
    ]


BACKING_OFF = [
    *_begun(1, b"ana"),
    STEP % (1, 2, b"charge", AT),
    b'{"tried":"1-2","attempt":1,"type":"builtins.OSError","text":"down","next":%d,"at":%d}'
    % (AT + SECOND, AT),
    b'{"attempt":"1-2","n":2,"at":%d}' % (AT + SECOND),
    b'{"tried":"1-2","attempt":2,"type":"builtins.OSError","text":"still down","next":%d,"at":%d}'
    % (FAR, AT + 2 * SECOND),
    b'{"parked":1}',
]
WAITING = [
    *_begun(2, b"bob"),
    STEP % (2, 2, b"approve", AT),
    b'{"waiting":"2-2","text":"may bob?","type":"bool","until":%d,"at":%d}' % (FAR, AT),
    b'{"parked":2}',
]
UNDONE = [
    *_begun(3, b"cid"),
    STEP % (3, 2, b"ship", AT),
    b'{"error":"3-2","type":"shop.Declined","text":"no","at":%d}' % AT,
    b'{"call":"3-3","fn":"step","step":"create","undoes":"3-1","at":%d}' % AT,
    OK % (3, 3, b"null", AT),
    b'{"failed":3,"type":"shop.Declined","text":"no","calls":["3-2"],"at":%d}' % AT,
]
CUT_OFF = [*_begun(5, b"eve"), STEP % (5, 2, b"charge", AT)]
ONBOARD = [
    HEADER.replace(b"Bot", b"Onboard").replace(b'"next":1', b'"next":1,"kept":1'),
    b'{"outcome":4,"handler":"run","key":"run","status":"completed","of":["dora"],"value":"hi"'
    b',"once":true,"at":%d}' % AT,
    *(line for each in (BACKING_OFF, WAITING, UNDONE, CUT_OFF) for line in each),
    b'{"event":6,"handler":"other","args":[],"of":["fay"],"at":%d}' % AT,
]
