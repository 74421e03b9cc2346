"""`--json` holds for every command: also help, the version and the completion script."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentctl import __version__


def test_the_version(command: Any) -> None:
    ended = command("--json", "--version")
    assert json.loads(ended.out) == {"schema": "agentctl.version/1", "version": __version__}


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        (("help",), ""),
        (("--help",), ""),
        (("help", "times"), "times"),
        (("inspect", "--help"), "inspect"),
        (("invoke", "-h"), "invoke"),
        (("help", "inspect", "journal"), "inspect journal"),
    ],
)
def test_help_says_the_same(command: Any, words: tuple[str, ...], topic: str) -> None:
    document = json.loads(command("--json", *words).out)
    assert document == {
        "schema": "agentctl.help/1",
        "topic": topic,
        "text": command(*words).out,
    }


def test_unknown_help_is_an_error_in_json_too(command: Any) -> None:
    ended = command("help", "nope", "--json")
    assert ended.out == ""
    assert json.loads(ended.err)["code"] == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script(command: Any, shell: str) -> None:
    document = json.loads(command("completion", shell, "--json").out)
    assert (document["schema"], document["shell"]) == ("agentctl.completion/1", shell)
    assert document["script"] == command("completion", shell).out
