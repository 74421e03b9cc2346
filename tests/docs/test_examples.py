"""Every example in the README and the docs does what the page shows."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from agentctl import Agent
from agentctl.errors import NotInThisVersion

from .pages import LANGUAGES, PAGES, REPOSITORY, Block, Reader, blocks_of

_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
_FILE_IN_SH = re.compile(r"(?<![\w/.-])(?:scripts|docs|\.ci)/[\w./-]+")


def anchors_of(page: Path) -> set[str]:
    """The anchors that a forge makes of a page's headings."""
    titles = [found["title"] for found in _HEADING.finditer(page.read_text(encoding="utf-8"))]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def all_pages() -> list[Path]:
    found = [REPOSITORY / page for page in (*PAGES, "CHANGELOG.md", "CONTRIBUTING.md")]
    return found + sorted((REPOSITORY / "docs" / "decisions").glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    reader = Reader(folder)
    try:
        for block in blocks_of(page):
            read(reader, block)
    finally:
        reader.close()


def read(reader: Reader, block: Block) -> None:
    assert block.language in LANGUAGES, f"{block}: nobody runs a block of {block.language!r}"
    if block.language in ("python", "toml"):
        reader.write(block)
    elif block.language in ("console", "terminal-1", "terminal-2"):
        reader.follow(block)
    elif block.language == "sh":
        check_sh(block)
    elif block.language == "json":
        for line in block.text.splitlines():
            json.loads(line)


@pytest.mark.parametrize("shown", ["one\ntwo\n", "one\n^Cstopped\n"])
@pytest.mark.parametrize("page", ["what it shows", "something else"])
def test_what_a_terminal_shows_is_compared(page: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "reader").mkdir()
    reader = Reader(tmp_path / "reader")
    reader.first.patience_s = 0.5
    program = "trap 'echo stopped; exit' INT; echo one; sleep 60 & wait"
    if "^C" not in shown:
        program = "echo one; echo two"
    if page == "something else":
        shown = shown.replace("stopped", "gone").replace("two", "three")
    block = Block("a page", 1, "terminal-1", f"$ bash -c {shlex.quote(program)}\n{shown}")
    try:
        if page == "something else":
            with pytest.raises(AssertionError, match="the first terminal shows"):
                reader.follow(block)
        else:
            reader.first.patience_s = 20.0
            reader.follow(block)
    finally:
        reader.close()


def check_sh(block: Block) -> None:
    subprocess.run(["bash", "-n", "-c", block.text], check=True)
    for name in _FILE_IN_SH.findall(block.text):
        assert (REPOSITORY / name).exists(), f"{block}: there is no {name}"


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for found in _LINK.finditer(page.read_text(encoding="utf-8")):
        path, _, anchor = found["target"].partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}, which isn't there"
        if anchor:
            assert anchor in anchors_of(target), f"{page.name}: {target.name} has no #{anchor}"


def test_the_index_of_decisions_names_each_of_them() -> None:
    folder = REPOSITORY / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = sorted(page.name for page in folder.glob("0*.md"))
    assert re.findall(r"\((0\d{3}-[\w-]+\.md)\)", index) == pages
    for name in pages:
        number = int(name[:4])
        first = (folder / name).read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith(f"# {number}. "), f"{name} doesn't bear its number"


def test_the_commands_of_the_readme_exist() -> None:
    for name in ("scripts/demo", "scripts/test"):
        path = REPOSITORY / name
        assert path.stat().st_mode & 0o111, f"{name} can't be run"


def test_what_is_not_there_yet_is_told_where_the_errors_say() -> None:
    with pytest.raises(NotInThisVersion) as refused:
        type("Later", (Agent,), {"state_version": 2})
    assert refused.value.hint is not None
    found = re.fullmatch(r"see (?P<page>\S+), (?P<heading>.+)", refused.value.hint)
    assert found, refused.value.hint
    text = (REPOSITORY / found["page"]).read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(found['heading'])}", text, re.MULTILINE)
