"""Help texts, word for word. After a wanted change: `python -m tests.golden.test_help`."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

from agentctl.cli import table
from agentctl.cli.app import main
from agentctl.cli.topics import TOPICS

FOLDER = Path(__file__).with_name("help")
LATER = ("chaos", "compact", "doctor", "agentctl check")


def pages() -> dict[str, list[str]]:
    """Each file's name, and the words that show it."""
    found = {"agentctl": ["--help"]}
    for command in table.COMMANDS:
        found["-".join(command.words)] = [*command.words, "--help"]
    for group in sorted({command.words[0] for command in table.COMMANDS if len(command.words) > 1}):
        found[f"group-{group}"] = [group, "--help"]
    for topic in TOPICS:
        found[f"topic-{topic}"] = ["help", topic]
    return found


def shown(words: list[str]) -> str:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        assert main(words, {}) == 0
    return stream.getvalue()


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("name", pages())
def test_help_is_what_it_was(name: str) -> None:
    assert shown(pages()[name]) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_there_is_no_page_of_something_else() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(pages())


@pytest.mark.parametrize("name", pages())
def test_help_begins_with_examples_and_is_one_way_to_ask(name: str) -> None:
    words = pages()[name]
    text = shown(words)
    assert text.startswith("Examples:\n  ")
    if words[-1] == "--help":
        assert shown(["-h", *words[:-1]]) == text
        assert shown(["help", *words[:-1]]) == text


@pytest.mark.parametrize("name", pages())
def test_help_names_nothing_that_is_not_built(name: str) -> None:
    text = shown(pages()[name])
    assert [word for word in LATER if word in text] == []
    every = {"-h", "--help", "--json", "--format", "--project", "--root", "--color", "--quiet"}
    every |= {"--verbose", "--version", "--set", "--yes"}
    for command in table.COMMANDS:
        module = __import__(command.module, fromlist=["parse"])
        from agentctl.cli.parsing import options_of, typer_command

        for option in options_of(typer_command(module.parse)):
            every.update(option.opts)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= every


@pytest.mark.parametrize("name", pages())
def test_help_fits_its_width(name: str) -> None:
    assert max(len(line) for line in shown(pages()[name]).splitlines()) <= 100


def write() -> None:
    os.environ["COLUMNS"] = "100"
    FOLDER.mkdir(exist_ok=True)
    for name, words in pages().items():
        (FOLDER / f"{name}.txt").write_text(shown(words), encoding="utf-8")


if __name__ == "__main__":
    write()
