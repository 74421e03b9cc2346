"""Which result each order of completion allows; told from the record alone.

`heard` is what the handler heard, in order: the names of the calls that ended, `time` for a timer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from agentctl.records import CallRecord, decode, kind_of

from .stage import DELIVERIES, path_of, unended

Allows = Callable[[Any, list[str]], bool]


def heard_in(journal: Sequence[bytes]) -> list[str]:
    """What the handler heard, in order."""
    names: dict[str, str] = {}
    heard = []
    for body in unended(journal):
        record, kind = decode(body), kind_of(body)
        if isinstance(record, CallRecord):
            text = bytes(record.args).decode() if record.until is None else "time"
            names[path_of(record.call)] = text.removeprefix('["').removesuffix('"]')
        elif kind in DELIVERIES:
            heard.append(names[path_of(getattr(record, kind))])
    return heard


def _answers(heard: list[str], *begins: str) -> list[str]:
    return [f"<{one}>" for one in heard if one.startswith(begins)]


def _lines(heard: list[str]) -> list[str]:
    """The lines that ended, in order."""
    return [f"<{one}>" for one in heard if one[1:].startswith(" then ")]


def _first_error(result: Any, heard: list[str]) -> bool:
    # The lines that ended before the error was heard, and those that ended while it was told.
    error = heard.index("bad first")
    before = _lines(heard[:error])
    return result[: len(before) + 1] == [*before, "declined bad first"]


def _group(result: Any, heard: list[str]) -> bool:
    # The limit may cut off the clean-up of the child that failed: then its error is lost.
    why = "1 failed" if {"b", "clean b"} <= set(heard) else "too late"
    return result[:-2] == _answers(heard, "more", "clean") and result[-2] == why


def _wait_with_limit(result: Any, heard: list[str]) -> bool:
    in_time = _lines(heard[: heard.index("time")] if "time" in heard else heard)
    return set(result[:-1]) == set(in_time)


def _completed_calls(result: Any, heard: list[str]) -> bool:
    got = [one for one in result if one in ("<a>", "<b>", "<c>", "<d>", "<e>")]
    in_time = len(got) == 5 or result[-1] == "too late"
    return in_time and got == [f"<{one}>" for one in heard if len(one) == 1][: len(got)]


def _race_of_calls(result: Any, heard: list[str]) -> bool:
    return result[:-1] == _answers(heard, "undo") and f"won ['<{heard[0]}>']" in result[-1]


def _fixed(*wanted: str) -> Allows:
    return lambda result, _heard: result[: len(wanted)] == list(wanted)


ALLOWS: Final[dict[str, Allows]] = {
    "h1_gather": _fixed("<a then <a first>>", "bad b first", "<c then <c first>>"),
    "h1_first_error": _first_error,
    "h2_race": lambda result, heard: result == f"<won ['{_lines(heard)[0]}']>",
    "h2_race_of_calls": _race_of_calls,
    "h3_everyone": lambda result, heard: (
        {one.removeprefix("<mail ")[:-1] for one in result} == set(_answers(heard[:10], ""))
    ),
    "h3_sets_as_values": lambda result, _heard: result == sorted(result) and len(result) == 16,
    "h4_completed_tasks": lambda result, heard: result[::2] == _lines(heard),
    "h4_completed_calls": _completed_calls,
    "h4_bare": lambda result, _heard: (
        "tasks" not in result[0] and result[1].startswith("UsageError: as_completed() of bare")
    ),
    "h5_group": _group,
    "h5_groups_in_groups": lambda result, _heard: "declined" in result,
    "h6_wait_with_limit": _wait_with_limit,
    "h7_queue": lambda result, heard: (
        result == [f"<eat <{one}>>" for one in heard if one in set("abcde")]
    ),
    "h7_lock_and_event": _fixed("<a>", "<b>", "<c>"),
    "h7_generator": _fixed("<by hand 0>", "<by hand 1>", "<left 0>"),
    "h7_forgotten": lambda result, _heard: result == "<own>",
    "h7_call_later": lambda result, _heard: result == "<rung>",
}
