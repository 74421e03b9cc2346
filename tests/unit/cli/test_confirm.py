"""Questions: asked on a terminal, answered beforehand by `--yes`, refused where nobody is."""

from __future__ import annotations

import io
import sys

import pytest

from agentctl.cli.options import GlobalOptions
from agentctl.cli.output import Output
from agentctl.errors import UsageError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def asking(monkeypatch: pytest.MonkeyPatch, typed: str, *, yes: bool = False) -> tuple[bool, str]:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    output = Output(GlobalOptions(yes=yes), {})
    answer = output.confirm("delete Bot?")
    assert sys.stdout.getvalue() == ""  # type: ignore[attr-defined]
    return answer, sys.stderr.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False), ("yep\n", False)],
)
def test_on_a_terminal_it_asks_and_only_yes_is_yes(
    monkeypatch: pytest.MonkeyPatch, typed: str, answer: bool
) -> None:
    assert asking(monkeypatch, typed) == (answer, "delete Bot? [y/N] ")


def test_who_says_yes_beforehand_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asking(monkeypatch, "n\n", yes=True) == (True, "")


@pytest.mark.parametrize("without", ["stdin", "stderr"])
def test_where_nobody_can_be_asked_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(sys, stream, io.StringIO() if stream == without else Terminal("y\n"))
    with pytest.raises(UsageError, match="delete Bot") as caught:
        Output(GlobalOptions(), {}).confirm("delete Bot?")
    assert caught.value.exit_code == 2
    assert "--yes" in str(caught.value.hint)
