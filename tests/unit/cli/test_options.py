"""Global flags stand anywhere, and a flag wins over its variable."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from agentctl.cli import table
from agentctl.cli.options import _VALUED, TAKES_VALUE, GlobalOptions, hoist
from agentctl.cli.parsing import options_of, typer_command
from agentctl.cli.shells import VALUED
from agentctl.errors import UsageError


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        (["--json", "inspect", "journal"], ["inspect", "journal"]),
        (["inspect", "journal", "--json"], ["inspect", "journal"]),
        (["inspect", "--json", "journal"], ["inspect", "journal"]),
    ],
)
def test_a_global_flag_stands_before_or_after_the_command(
    words: list[str], rest: list[str]
) -> None:
    options, left = hoist(words, {})
    assert options.json
    assert left == rest


def test_what_stands_behind_two_dashes_is_not_touched() -> None:
    options, rest = hoist(["invoke", "Bot", "echo", "--", "--json", "-h"], {})
    assert not options.json
    assert not options.help
    assert rest == ["invoke", "Bot", "echo", "--", "--json", "-h"]


def test_the_value_of_a_commands_own_option_is_not_touched() -> None:
    options, rest = hoist(["inspect", "journal", "--grep", "-v"], {})
    assert options.verbose == 0
    assert rest == ["inspect", "journal", "--grep", "-v"]


@pytest.mark.parametrize("words", [["-C", "shop"], ["-Cshop"], ["--project=shop"], ["-C=shop"]])
def test_a_project_is_named_in_every_usual_way(words: list[str]) -> None:
    options, rest = hoist([*words, "run"], {})
    assert options.project == Path("shop")
    assert rest == ["run"]


def test_settings_add_up_wherever_they_stand() -> None:
    options, rest = hoist(["--set", "a.b=1", "run", "--set=c=x y", "--", "--set", "d=1"], {})
    assert options.settings == ("a.b=1", "c=x y")
    assert rest == ["run", "--", "--set", "d=1"]


def test_short_flags_add_up() -> None:
    options, _ = hoist(["run", "-vv", "-q"], {})
    assert (options.verbose, options.quiet) == (2, True)


@pytest.mark.parametrize("flag", ["-y", "--yes"])
def test_who_says_yes_beforehand_is_not_refused(flag: str) -> None:
    assert hoist(["run", flag], {}) == (GlobalOptions(yes=True), ["run"])
    assert hoist(["run"], {"AGENTCTL_YES": "1"}) == (GlobalOptions(yes=True), ["run"])


def test_a_flag_wins_over_its_variable() -> None:
    environ = {"AGENTCTL_FORMAT": "jsonl", "AGENTCTL_COLOR": "never", "AGENTCTL_QUIET": "1"}
    options, _ = hoist([], environ)
    assert (options.format, options.color, options.quiet) == ("jsonl", "never", True)
    options, _ = hoist(["--format", "text", "--color=always"], environ)
    assert (options.format, options.color) == ("text", "always")


@pytest.mark.parametrize(
    ("words", "environ", "named"),
    [
        (["--format", "xml"], {}, "xml"),
        (["--color"], {}, "--color"),
        (["run", "-C"], {}, "-C"),
        (["run", "--set"], {}, "--set"),
        ([], {"AGENTCTL_YES": "perhaps"}, "AGENTCTL_YES"),
        ([], {"AGENTCTL_COLOR": "blue"}, "AGENTCTL_COLOR"),
        ([], {"AGENTCTL_QUIET": "perhaps"}, "AGENTCTL_QUIET"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(
    words: list[str], environ: dict[str, str], named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        hoist(words, environ)


def test_the_shells_know_after_which_options_a_value_stands() -> None:
    assert set(VALUED) == {*TAKES_VALUE, *_VALUED}


def test_the_list_of_options_with_values_is_that_of_the_commands() -> None:
    found = set()
    for command in table.COMMANDS:
        module = import_module(command.module)
        for option in options_of(typer_command(module.parse)):
            if not option.is_flag:
                found.update(option.opts)
    assert found - {"--until-idle"} == TAKES_VALUE, "--until-idle may stand without a value"
