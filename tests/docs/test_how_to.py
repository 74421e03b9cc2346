"""The how-to pages: what they show is what happens, and their files do what they say."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agentctl.times import parse_duration

from .pages import REPOSITORY, Reader, blocks_of, matches

HOW_TO = REPOSITORY / "docs" / "how-to"
NOT_WORTH_A_RESTART = {1, 2, 3, 4, 6, 7}
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\S+Z ", re.MULTILINE)


class Shop:
    """A new project in a folder, its commands, and the programs that run in it."""

    def __init__(self, folder: Path) -> None:
        self.reader = Reader(folder)
        self.programs: list[subprocess.Popen[bytes]] = []
        self.folder = folder / "shop"
        self.err = folder.parent / "err.txt"
        self.call("agentctl", "new", "shop", folder=folder)

    @property
    def environment(self) -> dict[str, str]:
        return self.reader._environment()

    def call(self, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        where = shutil.which(words[0], path=self.environment["PATH"])
        assert where, f"there is no {words[0]}"
        return subprocess.run(
            [where, *words[1:]],
            cwd=folder or self.folder,
            env=self.environment,
            capture_output=True,
            timeout=30,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        where = shutil.which(words[0], path=self.environment["PATH"])
        assert where, f"there is no {words[0]}"
        with self.err.open("wb") as err:
            program = subprocess.Popen(
                [where, *words[1:]], cwd=self.folder, env=self.environment, stderr=err, stdout=err
            )
        self.programs.append(program)
        return program

    @property
    def told(self) -> str:
        return self.err.read_text()

    def edit(self, old: str, new: str) -> None:
        path = self.folder / "shop" / "bot.py"
        text = path.read_text()
        assert old in text
        beside = path.with_name(".bot.py.new")
        beside.write_text(text.replace(old, new))
        beside.replace(path)

    def close(self) -> None:
        for program in self.programs:
            program.kill()
            program.wait()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    (tmp_path / "reader").mkdir()
    made = Shop(tmp_path / "reader")
    yield made
    made.close()


def until(true: Callable[[], object], what: Callable[[], str]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, what()
        time.sleep(0.02)


def test_watch_shows_what_the_page_shows(shop: Shop) -> None:
    shown = [block.text for block in blocks_of("docs/how-to/watch.md")]
    commands, start, save, waiting, syntax, stuck, mended = shown
    assert commands.splitlines()[-1] == "agentctl run --watch"

    def told(block: str, begin: int) -> int:
        """Wait until each line of the block was said, in this order; answer where it ends."""
        text = ""
        for line in block.splitlines():
            pattern = line.replace("/srv/shop", str(shop.folder.resolve()))

            def said(pattern: str = pattern) -> bool:
                nonlocal text, begin
                text = _STAMP.sub("", shop.told)
                for found in re.finditer(r"^(?:\w+: )?(.*)$", text, re.MULTILINE):
                    whole = found[0], found[1]
                    if found.start() >= begin and any(matches(pattern, one) for one in whole):
                        begin = found.end()
                        return True
                return False

            until(said, lambda: f"it doesn't say {pattern!r} behind {text[:begin]!r} in:\n{text}")
        return begin

    program = shop.start("agentctl", "run", "--watch")
    at = told(start, 0)
    shop.edit('f"order {order_id}: ', 'f"Order {order_id}: ')
    at = told(save, at)
    shop.edit("receipt = await", "receipt = = await")
    at = told(syntax, at)
    program.send_signal(signal.SIGINT)
    assert program.wait(10) == 0
    shop.edit("receipt = = await", "receipt = await")
    shop.edit("{receipt.id}", "{receipt.number}")
    assert shop.call("agentctl", "invoke", "Bot", "request", "7").returncode == 1
    shop.start("agentctl", "run", "--watch")
    at = told(stuck, 0)
    until(lambda: "serving" in shop.told, lambda: shop.told)
    shop.edit("{receipt.number}", "{receipt.id}")
    told(mended, at)
    assert "[pay]" not in shop.told, "the refund was paid again"
    assert re.fullmatch(
        r"waiting for \S+ \(Bot-1-1\), at most 1s; save again to cut it off\n", waiting
    )


# -- systemd


def unit() -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=True, interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(HOW_TO / "agentctl.service")
    return found


def seconds(text: str) -> float:
    return parse_duration(text) / timedelta(seconds=1)


def test_systemd_finds_nothing_wrong_with_the_unit(shop: Shop) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("this machine has no systemd-analyze; the next test parses the unit")
    text = (HOW_TO / "agentctl.service").read_text()
    (shop.folder / ".venv").mkdir()
    (shop.folder / ".venv" / "bin").symlink_to(shop.reader.bin)
    copy = shop.folder / "shop.service"
    copy.write_text(text.replace("/srv/shop", str(shop.folder)).replace("User=shop", "User=root"))
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in ran.stderr.splitlines() if "shop.service" in line]
    assert not ours, ran.stderr


def test_the_unit_restarts_only_what_is_worth_it_and_waits_longer_than_the_grace() -> None:
    service = unit()["Service"]
    prevented = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert prevented == NOT_WORTH_A_RESTART
    words = shlex.split(service["ExecStart"])
    assert seconds(service["TimeoutStopSec"]) > seconds(words[words.index("--grace") + 1]) + 1
    assert service["KillSignal"] == "SIGTERM"
    assert service["ReadWritePaths"] == f"{service['WorkingDirectory']}/agents"


def test_the_line_of_the_unit_serves_and_stops_by_its_signal(shop: Shop) -> None:
    service = unit()["Service"]
    program = shop.start("agentctl", *shlex.split(service["ExecStart"])[1:])
    until(lambda: "serving" in shop.told, lambda: shop.told)
    assert all(json.loads(line)["schema"] == "agentctl.log/1" for line in shop.told.splitlines())
    program.send_signal(signal.Signals[service["KillSignal"]])
    assert program.wait(seconds(service["TimeoutStopSec"])) == 0


# -- Docker


def dockerfile() -> list[tuple[str, str]]:
    lines = (HOW_TO / "Dockerfile").read_text().splitlines()
    pairs = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return [(word, rest) for word, _, rest in pairs]


def only(word: str) -> str:
    (found,) = [rest for one, rest in dockerfile() if one == word]
    return found


def test_what_the_dockerfile_copies_is_there_in_a_new_project(shop: Shop) -> None:
    copied = [rest.split()[:-1] for word, rest in dockerfile() if word == "COPY"]
    names = [name for one in copied for name in one if not name.startswith("dist/")]
    assert {"kavach.toml", "shop"} <= set(names)
    for name in names:
        assert (shop.folder / name).exists(), name
    for word, rest in dockerfile():
        if word == "RUN":
            subprocess.run(["sh", "-n", "-c", rest], check=True)
    assert only("VOLUME") == f"{only('WORKDIR')}/agents"


def test_the_command_of_the_image_is_a_good_process_1(shop: Shop, tmp_path: Path) -> None:
    own = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.call([*own, "true"], stderr=subprocess.DEVNULL) != 0:
        pytest.skip("this machine lets nobody be process 1 of a namespace of its own")
    (tmp_path / "image").mkdir()
    for name in ("kavach.toml", "pyproject.toml", "shop"):  # as the image has it
        where = shutil.copytree if (shop.folder / name).is_dir() else shutil.copy
        where(shop.folder / name, tmp_path / "image" / name)  # type: ignore[operator]
    shop.folder = tmp_path / "image"
    program = shop.start(*own, sys.executable, "-m", "agentctl", *json.loads(only("CMD"))[1:])
    until(lambda: "serving" in shop.told, lambda: shop.told)
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.Signals[only("STOPSIGNAL")])
    assert program.wait(10) == 0, shop.told
    assert "stopped: 0 calls were cut off" in shop.told


def test_docker_waits_longer_than_the_grace_and_puts_nothing_in_between() -> None:
    text = (HOW_TO / "compose.yaml").read_text()
    waits = re.search(r"^    stop_grace_period: (\S+)$", text, re.MULTILINE)
    command = json.loads(only("CMD"))
    assert waits
    assert seconds(waits[1]) > seconds(command[command.index("--grace") + 1]) + 1
    assert "\n    init: false\n" in text
    assert f":{only('VOLUME')}\n" in text


def test_the_health_check_is_a_command(shop: Shop) -> None:
    words = json.loads(only("HEALTHCHECK").partition("CMD ")[2])
    assert shop.call(*words).returncode == 0
