"""A journal that can't be written stops the program; what was acknowledged is there afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .support import CRASH, Project

FAT = "20000"  # bytes of one result: more than a page that happens to be free


def test_k9_a_full_disk_accepts_nothing_and_exits_with_74(finished_shop: Project) -> None:
    refused = finished_shop.agentctl(
        "invoke", "Bot", "echo", "x" * 20_000, launch=("file-size=8192",)
    )
    refused.expect_error(74, "journal")
    assert refused.out == ""
    finished_shop.agentctl("inspect", "journal", "Bot").expect(0)
    later = finished_shop.agentctl("invoke", "Bot", "request", "8").expect(0)
    assert later.out == '"r8"\n'
    assert len(finished_shop.ledger("refund 7")) == 1


def test_k9_a_read_only_journal_exits_with_74(finished_shop: Project) -> None:
    before = finished_shop.tree()
    finished_shop.journal_path().chmod(0o400)
    finished_shop.folder().chmod(0o500)
    try:
        refused = finished_shop.agentctl("invoke", "Bot", "request", "8", launch=("plain",))
        refused.expect_error(74, str(finished_shop.folder().resolve()))
        assert finished_shop.tree() == before
        read = finished_shop.agentctl("inspect", "journal", "Bot", launch=("plain",)).expect(0)
        assert read.out
    finally:
        finished_shop.folder().chmod(0o700)
        finished_shop.journal_path().chmod(0o600)
    assert finished_shop.ledger("refund 8") == [], "a call was made that is nowhere on record"
    finished_shop.agentctl("invoke", "Bot", "request", "8").expect(0)


def test_k9_a_folder_that_cannot_be_made_exits_with_74(shop: Project) -> None:
    shop.root.chmod(0o500)
    try:
        refused = shop.agentctl("invoke", "Bot", "request", "7", launch=("plain",))
    finally:
        shop.root.chmod(0o700)
    refused.expect_error(74, "agents")
    assert shop.ledger() == []


EMBEDDED = """
import asyncio

from agentctl import DiskTrouble, start
from shop.bot import Bot
from shop.world import Mail, Shop


async def ask(bot) -> None:
    try:
        await bot.request(7)
    except DiskTrouble:
        print("the call: DiskTrouble")


async def main() -> None:
    try:
        async with start(Bot, payments=Shop(), email=Mail()) as bot:
            await ask(bot)
    except DiskTrouble:
        print("the block: DiskTrouble")
    print("the program lives")


asyncio.run(main())
"""


def test_k9_a_program_that_embeds_the_agent_gets_disk_trouble(shop: Project) -> None:
    shop.write("embedded.py", EMBEDDED)
    ended = shop.python("embedded.py", env={"FILL_IN": "refund", "FAT": FAT}).expect(0)
    told = [line for line in ended.out.splitlines() if line.startswith("the ")]
    assert told == ["the call: DiskTrouble", "the block: DiskTrouble", "the program lives"]
    assert shop.ledger("send") == [], "the event went on without its record"


@pytest.fixture(params=["limit", "disk"])
def small_disk(request: pytest.FixtureRequest, shop: Project) -> Iterator[dict[str, str]]:
    """Settings under which the shop fills its disk: a real small one where we may mount it."""
    agents = shop.root / "agents"
    agents.mkdir(mode=0o700)
    mounted = request.param == "disk" and mount(agents)
    yield {"FILLER": str(agents / "filler")} if mounted else {}
    if mounted:
        shop.close()
        subprocess.run(["umount", str(agents)], check=True)


def mount(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_p12_a_disk_that_is_full_and_then_has_space(
    shop: Project, small_disk: dict[str, str]
) -> None:
    trouble = {"FILL_IN": "refund", "FAT": FAT, **small_disk}
    shop.agentctl("invoke", "Bot", "request", "7", env=trouble).expect_error(74)
    assert shop.ledger("send") == [], "the event went on without its record"
    seen = shop.agentctl("inspect", "journal", "Bot").expect(0)
    assert "Bot#1" in seen.out
    (shop.root / "agents" / "filler").unlink(missing_ok=True)
    shop.agentctl("run", "--until-idle").expect(0)
    keys = [tuple(line.split()[2:]) for line in shop.ledger("refund 7")]
    assert len(keys) == 2, "the refund's result was never on record: it is made again"
    assert keys[0] == keys[1], "made again under other keys"
    assert shop.ledger("send") == ["send Bot-1-2 order 7: r7"]


def test_p12_what_was_on_record_when_the_disk_filled_is_not_done_again(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"FILL_IN": "send"}).expect(74)
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == 1
    assert {line.split()[1] for line in shop.ledger("send")} == {"Bot-1-2"}


def test_k9_the_disk_fails_after_a_crash_and_the_event_is_still_there(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    before = shop.journal_path().read_bytes()
    shop.agentctl("run", "--until-idle", launch=(f"file-size={len(before) // 2}",)).expect(74)
    assert shop.journal_path().read_bytes() == before
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == 1
