"""Where an event stands, in the words that people read."""

from __future__ import annotations

import pytest

from agentctl.core.states import state_of

EVENT = '{"event":1,"handler":"request","args":[7]}'
START = '{"start":1,"at":5}'
CALL = '{"call":"1-1","fn":"Shop.pay","args":[7],"at":5}'
TIMER = '{"call":"1-2","fn":"timer","until":900,"at":5}'
ASK = '{"call":"1-3","fn":"ask","at":5}'
PARKED = '{"parked":1}'


@pytest.mark.parametrize(
    ("lines", "without", "held"),
    [
        ([EVENT], "queued", "queued"),
        (['{"event":1,"handler":"request","args":[7],"due":101}'], "scheduled", "scheduled"),
        (['{"event":1,"handler":"request","args":[7],"due":100}'], "queued", "queued"),
        ([EVENT, START], "queued", "running"),
        ([EVENT, START, CALL], "queued", "running"),
        ([EVENT, START, TIMER, PARKED], "sleeping", "sleeping"),
        ([EVENT, START, TIMER, ASK, PARKED], "waiting", "waiting"),
        ([EVENT, START, CALL, TIMER, PARKED], "queued", "queued"),
        ([EVENT, START, CALL, '{"ok":"1-1","at":6}', TIMER, PARKED], "sleeping", "sleeping"),
        ([EVENT, START, PARKED], "queued", "queued"),
        ([EVENT, START, TIMER, PARKED, '{"fired":"1-2","at":900}'], "queued", "running"),
        ([EVENT, START, '{"bug":1,"text":"KeyError"}'], "stuck", "stuck"),
        ([EVENT, START, '{"bug":1,"text":"KeyError"}', '{"again":1,"at":7}'], "queued", "running"),
    ],
)
def test_an_open_event_stands_where_its_records_say(fold, lines, without, held):
    (event,) = fold(*lines).open.values()
    assert state_of(event, held=False, now_us=100) == without
    assert state_of(event, held=True, now_us=100) == held
