"""`agentctl why`: the reason, what is next, and the line of the journal, for each state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import this_program
from agentctl.times import SystemClock

from .journals import AT, FAR, HEADER, LINES, STAMP, write
from .workflows import ONBOARD

FAR_STAMP = "2057-08-08T12:40:00.000000Z"
WEEK = 7 * 86_400_000_000
BOT = [
    *LINES,
    b'{"event":6,"handler":"request","args":[1],"of":["zz"],"key":"done","at":%d}' % AT,
    b'{"event":7,"handler":"request","args":[2],"of":["zz"],"at":%d}' % AT,
    b'{"event":8,"handler":"request","args":[3],"of":["zz"],"due":%d,"late":1,"at":%d}' % (AT, AT),
    b'{"event":9,"handler":"request","args":[4],"of":["zz"],"at":%d}' % AT,
    b'{"start":6,"at":%d}' % AT,
    b'{"call":"6-1","fn":"Shop.pay","args":[1],"at":%d}' % AT,
    b'{"ok":"6-1","value":"r1","at":%d}' % AT,
    b'{"done":6,"value":"r1","at":%d}' % AT,
    b'{"cancelled":7,"by":"ana","reason":"too late","at":%d}' % AT,
    b'{"missed":8,"late_us":60000000,"at":%d}' % AT,
    b'{"start":9,"at":%d}' % AT,
    b'{"call":"9-1","fn":"ask","args":[],"to":"Stock/eu","handler":"reserve","at":%d}' % AT,
    b'{"parked":9}',
    b'{"aside":5,"handler":"request","starts":3,"nonce":"ab","of":["xx"],"at":%d}' % AT,
    b'{"event":10,"handler":"request","args":[5],"of":["zz"],"at":%d}' % AT,
    b'{"start":10,"at":%d}' % AT,
    b'{"cancel":10,"by":"bob","reason":"no more","at":%d}' % AT,
    b'{"cancelled":10,"ran":true,"at":%d}' % AT,
]
STOCK = [
    HEADER.replace(b"Bot", b"Stock"),
    b'{"event":1,"handler":"reserve","args":[],"of":["eu"],"from":"Bot/zz-9-1","asker":"ab"'
    b',"at":%d}' % AT,
]
SCHEDULES = [
    HEADER.replace(b"Bot", b"Poller"),
    b'{"schedule":"later","of":["eu"],"handler":"poll","due":%d,"period":%d,"at":%d}'
    % (FAR, WEEK, AT),
    b'{"schedule":"late","handler":"poll","due":%d,"period":%d,"at":%d}' % (AT, WEEK, AT),
    b'{"schedule":"resting","handler":"poll","due":%d,"period":%d,"at":%d}' % (FAR, WEEK, AT),
    b'{"paused":"resting","by":"ana","at":%d}' % AT,
    b'{"schedule":"busy","handler":"poll","due":%d,"period":%d,"at":%d}' % (AT, WEEK, AT),
    b'{"event":1,"handler":"poll","args":[],"schedule":"busy","occurrence":%d,"next":%d,"at":%d}'
    % (AT, AT + WEEK, AT),
    b'{"skipped":"busy","due":%d,"why":"overlap","next":%d,"at":%d}' % (AT + WEEK, FAR, AT),
    b'{"schedule":"over","handler":"poll","due":%d,"at":%d}' % (AT, AT),
    b'{"event":2,"handler":"poll","args":[],"schedule":"over","occurrence":%d,"at":%d}' % (AT, AT),
    b'{"schedule":"gone","handler":"poll","due":%d,"period":%d,"at":%d}' % (FAR, WEEK, AT),
    b'{"unschedule":"gone","due":%d,"by":"bob","at":%d}' % (FAR, AT),
]


@pytest.fixture
def folder(command: Any) -> Path:
    write(command.folder, ONBOARD, "Onboard")
    write(command.folder, STOCK, "Stock")
    write(command.folder, SCHEDULES, "Poller")
    write(command.folder, BOT)
    return command.folder


@pytest.fixture
def held(folder: Path) -> Iterator[FilesStore]:
    """A program that holds Bot's folder, and doesn't say what it does."""
    store = FilesStore(folder, "Bot")
    store.lock(this_program("agentctl run", SystemClock()), 0.0)
    yield store
    store.close()


NOBODY = "start your program again"
SAID = {
    "Bot#2": (
        f"Bot/eu#2 is sleeping: its handler waits; it goes on at {FAR_STAMP}, if a program runs "
        f"then: agentctl run Bot; journal line 11: call Bot/eu-2-2 timer until {FAR_STAMP}"
    ),
    "Bot-3-1": (
        f"Bot#3 is scheduled: its time is to come; it begins at {FAR_STAMP}, if a program runs "
        f"then: agentctl run Bot; journal line 5: event later [], due {FAR_STAMP}"
    ),
    "Bot/us#4": (
        "Bot/us#4 is stuck: KeyError: 'total' (shop/bot.py:31); once its code is mended, it runs "
        "again with the next start, or by: agentctl invocation retry Bot/us#4; "
        "journal line 14: bug KeyError: 'total' (shop/bot.py:31)"
    ),
    "Bot#5": (
        "Bot/xx#5 is set aside: it was started 3 times without a new result; it runs again only "
        "by: agentctl requeue set-aside Bot 5; journal line 28: aside request, after 3 starts"
    ),
    "Bot/zz done": (
        f'Bot/zz#6 completed at {STAMP}: "r1"; nothing follows; journal line 22: done "r1"'
    ),
    "Bot#7": (
        f"Bot/zz#7 was cancelled at {STAMP}: too late; nothing follows; "
        "journal line 23: cancelled by ana: too late"
    ),
    "Bot#10": (
        f"Bot/zz#10 was cancelled at {STAMP}: no more; nothing follows; "
        "journal line 31: cancel by bob: no more"
    ),
    "Bot#8": (
        "Bot/zz#8 was missed: it was due 1m before, and never began; nothing follows; invoke it "
        "anew if it is wanted; journal line 24: missed 1m late"
    ),
    "Bot#9": (
        "Bot/zz#9 is waiting: ask Stock/eu.reserve, which is Stock/eu#1 (queued), begun at "
        f"{STAMP}; it goes on when the answer is there, and a program runs (agentctl run Bot); "
        "journal line 26: call Bot/zz-9-1 ask Stock/eu.reserve []"
    ),
    "Bot/eu old": (
        f'Bot/eu#1 completed at {STAMP}: "***"; nothing follows; '
        "journal line 3: outcome completed: request, key old"
    ),
    "Onboard/ana": (
        "Onboard/ana#1 is sleeping: step charge backs off, since attempt 2 failed (OSError: still "
        f"down); attempt 3 begins at {FAR_STAMP}, if a program runs then: {NOBODY}; journal line "
        f"10: tried Onboard/ana-1-2 attempt 2: OSError: still down, next {FAR_STAMP}"
    ),
    "Onboard/bob": (
        f"Onboard/bob#2 is waiting: Onboard/bob-2-2 asked at {STAMP}: may bob? (bool), and its "
        f"time ends at {FAR_STAMP}; it goes on once that is answered, and a program runs "
        f"({NOBODY}): agentctl approval approve Onboard/bob-2-2; "
        f"journal line 17: waiting Onboard/bob-2-2 may bob? (bool, until {FAR_STAMP})"
    ),
    "Onboard/cid": (
        f"Onboard/cid#3 failed at {STAMP}: shop.Declined: no, by attempt 1 of step ship; nothing "
        "follows: its steps were undone; journal line 27: failed shop.Declined: no"
    ),
    "Onboard/eve": (
        "Onboard/eve#5 is queued: it was cut off, and no program runs Onboard; it goes on with "
        f"the next start: {NOBODY}; journal line 29: start"
    ),
    "Poller/eu later": (
        f"the schedule later of Poller/eu waits for its time; it fires at {FAR_STAMP}, if a "
        f"program runs then: {NOBODY}; journal line 2: schedule eu/later: poll, due {FAR_STAMP}, "
        "every 7d"
    ),
    "Poller late": (
        f"the schedule late of Poller was due at {STAMP}, and no program runs Poller; it fires "
        f"with the next start: {NOBODY}; journal line 3: schedule late: poll, due {STAMP}, "
        "every 7d"
    ),
    "Poller resting": (
        "the schedule resting of Poller is paused; it fires no more until: agentctl schedule "
        "unpause Poller resting; journal line 5: paused resting by ana"
    ),
    "Poller busy": (
        "the schedule busy of Poller waits for its time; its last due time was skipped: the "
        "occurrence before it hadn't ended; its occurrence Poller#1 hasn't ended; it fires at "
        f"{FAR_STAMP}, if a program runs then: {NOBODY}; journal line 8: skipped busy: 1 due time, "
        "from 2025-12-07T10:53:20.000000Z on (overlap)"
    ),
    "Poller over": (
        f"the schedule over of Poller fired for the last time at {STAMP}: Poller#2; nothing "
        f"follows; journal line 10: event poll [], by the schedule over, due {STAMP}"
    ),
    "Poller gone": (
        f"the schedule gone of Poller was cancelled at {STAMP} by bob; nothing follows; "
        "journal line 12: unschedule gone by bob"
    ),
}


@pytest.mark.parametrize("who", SAID)
def test_a_sentence_says_why_and_what_is_next(command: Any, folder: Path, who: str) -> None:
    ran = command("why", *who.split())
    assert (ran.code, ran.out.splitlines()) == (0, [SAID[who]])


def test_the_same_for_a_program(command: Any, folder: Path) -> None:
    document = command("why", "Onboard/ana", "--json").json
    record = document.pop("record")
    assert (record["line"], record["kind"], record["key"]) == (10, "tried", "Onboard/ana-1-2")
    assert document == {
        "schema": "agentctl.why/1",
        "event": "Onboard/ana#1",
        "instance": "Onboard/ana",
        "schedule": None,
        "status": "sleeping",
        "why": "Onboard/ana#1 is sleeping: step charge backs off, since attempt 2 failed "
        "(OSError: still down)",
        "next": f"attempt 3 begins at {FAR_STAMP}, if a program runs then: {NOBODY}",
        "at": FAR_STAMP,
        "behind": None,
    }
    schedule = command("why", "Poller", "busy", "--json").json
    named = (schedule["event"], schedule["instance"], schedule["schedule"], schedule["status"])
    assert named == (None, "Poller", "busy", "scheduled")
    assert (schedule["behind"], schedule["record"]["kind"]) == ("Poller#1", "skipped")
    assert command("why", "Bot#9", "--json").json["behind"] == "Stock/eu#1"


def test_what_is_queued_says_who_holds_its_instance(
    command: Any, folder: Path, held: FilesStore
) -> None:
    write(
        folder,
        [
            *LINES,
            b'{"event":6,"handler":"request","args":[1],"of":["eu"],"at":%d}' % AT,
            b'{"start":5,"at":%d}' % AT,
            b'{"cancel":5,"by":"ana","at":%d}' % AT,
        ],
    )
    said = command("why", "Bot#6").out
    assert "Bot/eu#6 is queued: its instance is held by Bot/eu#2, which is sleeping" in said
    assert command("why", "Bot#6", "--json").json["behind"] == "Bot/eu#2"
    cancelled = command("why", "Bot#5").out
    assert "its handler executes; it is being cancelled, and ends when it has cleaned" in cancelled


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("Bot#99",), 3, "Bot#99 isn't known"),
        (("Bot", "nobody"), 3, "neither a schedule 'nobody' nor an event with this key"),
        (("Poller", "busi"), 3, "did you mean busy?"),
        (("Nobody#1",), 3, "no agent 'Nobody'"),
        (("Bot",), 2, "names no event"),
        (("Bot#2", "k"), 2, "leave one of them out"),
    ],
)
def test_whoever_is_not_known_is_told_so(
    command: Any, folder: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    ran = command("why", *words)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_a_damaged_journal_is_said_beside_what_can_be_trusted(command: Any) -> None:
    write(command.folder, [*LINES, HEADER])
    ran = command("why", "Bot#2")
    assert ran.code == 6
    assert "Bot/eu#2 is sleeping" in ran.out
    assert "line 15" in ran.err
