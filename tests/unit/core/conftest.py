"""Journals written down as text, folded."""

from __future__ import annotations

import pytest

from agentctl.core.history import JournalHistory
from agentctl.records import decode, kind_of

HEADER = '{"journal":1,"agent":"Bot","id":"ab","next":1}'


def folded(*lines, header=HEADER, trail=None):
    history = JournalHistory(trail)
    for line in (header, *lines) if header else lines:
        body = line.encode()
        history.fold(kind_of(body), decode(body), body)
    return history


@pytest.fixture
def fold():
    """Fold lines of a journal behind a header."""
    return folded
