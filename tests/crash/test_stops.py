"""R12: SIGTERM at every point of an event's life, then `kill -9`; nothing is lost or counted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("stop_program.py")
KINDS = ("before a write", "after a write", "before a sync", "after a sync", "in a call")
AFTER_MS = ("0", "5", "40", "-")


class Server:
    """Forks programs, one at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "0"},
        )

    def run(self, folder: Path, act: str, kind: str = "", number: int = 0, after: str = "-") -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), act, kind, number, after]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the server of programs is gone"
        return int(answer)

    def close(self) -> str:
        return self._process.communicate(timeout=20)[1]


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def records(folder: Path) -> list[dict[str, object]]:
    path = folder / "agents" / "Bot" / "journal"
    lines = path.read_bytes().splitlines() if path.exists() else []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:  # cut off by the kill
            assert line is lines[-1]
    return found


def made(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text().split() if path.exists() else []


def has(found: list[dict[str, object]], kind: str) -> bool:
    return any(kind in record for record in found)


def stop_at(server: Server, folder: Path, point: tuple[str, int], after: str) -> str:
    """One life that is stopped at a point, and the next; answers what the first left."""
    what = f"SIGTERM at {point[0]} {point[1]}, killed after {after} ms"
    folder.mkdir()
    code = server.run(folder, "invoke", *point, after)
    if after == "-":
        assert code in (0, 143), f"{what}: it ended with {code}"
    left, before = records(folder), made(folder)
    under_way = has(left, "start") and not has(left, "done")
    if under_way:
        assert has(left, "stopping") or has(left, "stop"), f"{what}: the signal isn't on record"
    known = {f"Bot-{record['ok']}" for record in left if "ok" in record}
    assert server.run(folder, "serve") == 0, f"{what}: the next start failed"
    after_all, again = records(folder), made(folder)[len(before) :]
    assert not has(after_all, "again"), f"{what}: it was counted as a death"
    assert not known & set(again), f"{what}: made again though on record: {known & set(again)}"
    assert not (folder / "agents" / "Bot" / "set-aside").exists()
    if has(left, "event"):
        audit = (folder / "agents" / "Bot" / "audit.log").read_text()
        assert audit.count("Bot completed: ") == 1, f"{what}: its ends are {audit}"
        assert set(made(folder)) == {"Bot-1-1", "Bot-1-2", "Bot-1-3"}, f"{what}: not all was done"
    return "parted" if under_way else "whole"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", KINDS)
def test_r12_a_stop_at_every_point_and_then_a_kill_loses_and_doubles_nothing(
    server: Server, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "counted").mkdir()
    assert server.run(tmp_path / "counted", "invoke") == 0
    count = json.loads((tmp_path / "counted" / "moments").read_text())[kind]
    assert count >= 4, f"only {count} points of this kind"
    left = [
        stop_at(server, tmp_path / f"{number} {after}", (kind, number), after)
        for number in range(1, count + 1)
        for after in AFTER_MS
    ]
    assert left.count("parted") >= 4, "hardly any stop came in the middle of the event"


def test_r12_killed_after_each_of_ten_stops_it_is_never_set_aside(
    server: Server, tmp_path: Path
) -> None:
    folder = tmp_path / "world"
    folder.mkdir()
    server.run(folder, "invoke", "in a call", 1, "0")
    for _ in range(9):
        server.run(folder, "serve", "in a call", 1, "0")
        assert has(records(folder), "stopping")
    assert server.run(folder, "serve") == 0
    assert set(made(folder)) == {"Bot-1-1", "Bot-1-2", "Bot-1-3"}
    assert not (folder / "agents" / "Bot" / "set-aside").exists()
