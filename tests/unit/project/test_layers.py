"""`kavach.local.toml` and `--set` go over `kavach.toml`, key by key; errors say which it was."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.errors import AgentctlError, ProjectError, UsageError
from agentctl.project.config import Flags, load_project
from agentctl.project.explain import explain
from agentctl.project.layers import GivenLayer, Layers
from agentctl.project.model import Project
from agentctl.project.toml_file import TomlFile

from .conftest import Folder

BASE = """\
[project]
name = "shop"
root = "data"

[agents.Bot]
class = "shop.bot:Bot"

[agents.Bot.capabilities]
payments = "shop.world:Shop"
email = { use = "shop.world:Mail", timeout = "30s", limit = 4 }

[agents.Bot.settings]
grace = "1s"
keep = 1
"""


def load(folder: Folder, *settings: str, local: str | None = None, variable: str = "") -> Project:
    folder.write("kavach.toml", BASE)
    if local is not None:
        folder.write("kavach.local.toml", local)
    flags = Flags(settings=settings)
    return load_project(folder.path, flags=flags, environ={"AGENTCTL_SET": variable})


def sources(project: Project) -> Mapping[str, tuple[object, str]]:
    return {key: (value, source) for key, value, source in explain(project)}


def test_tables_merge_and_other_values_replace(folder: Folder) -> None:
    local = """\
    [agents.Bot.settings]
    grace = "2s"
    [agents.Bot.capabilities]
    email.limit = 1
    [agents.Local]
    class = "local:Local"
    """
    project = load(folder, local=local)
    bot = project.agents["Bot"]
    assert bot.settings == {"grace": timedelta(seconds=2), "keep": 1}
    assert (bot.capabilities["email"].use, bot.capabilities["email"].limit) == (
        "shop.world:Mail",
        1,
    )
    assert bot.capabilities["email"].timeout == timedelta(seconds=30)
    assert list(project.agents) == ["Bot", "Local"]


def test_a_capability_that_is_a_text_replaces_the_table_with_all_that_was_in_it(
    folder: Folder,
) -> None:
    local = 'agents.Bot.capabilities.email = "shop.fake:Mail"\n'
    email = load(folder, local=local).agents["Bot"].capabilities["email"]
    assert (email.use, email.timeout, email.limit) == ("shop.fake:Mail", None, None)


def test_options_can_be_added_to_a_capability_that_was_a_text(folder: Folder) -> None:
    project = load(folder, "agents.Bot.capabilities.payments.limit=2")
    payments = project.agents["Bot"].capabilities["payments"]
    assert (payments.use, payments.limit) == ("shop.world:Shop", 2)
    rows = sources(project)
    at = "agents.Bot.capabilities.payments"
    assert rows[at] == ("shop.world:Shop", "kavach.toml:9")
    assert rows[f"{at}.limit"] == (2, "--set")


def test_a_flag_wins_over_the_variable_over_the_local_file_over_the_file(folder: Folder) -> None:
    key = "agents.Bot.settings.grace"
    local = f'{key} = "2s"\n'
    files = load(folder)
    locally = load(folder, local=local)
    by_variable = load(folder, local=local, variable=f"{key}=3s\n")
    by_flag = load(folder, f"{key}=4s", local=local, variable=f"{key}=3s")
    assert [sources(each)[key] for each in (files, locally, by_variable, by_flag)] == [
        ("1s", "kavach.toml:13"),
        ("2s", "kavach.local.toml:1"),
        ("3s", "AGENTCTL_SET"),
        ("4s", "--set"),
    ]
    assert sources(by_flag)["agents.Bot.settings.keep"] == (1, "kavach.toml:14")
    assert sources(by_flag)["agents.Bot.settings.audit"] == (True, "default")


def test_the_last_of_several_flags_wins_and_the_variable_has_one_a_line(folder: Folder) -> None:
    key = "agents.Bot.settings"
    project = load(
        folder, f"{key}.keep=7", f"{key}.keep=8", variable=f"\n{key}.max_starts=5\n{key}.keep=2\n\n"
    )
    assert project.agents["Bot"].settings == {
        "grace": timedelta(seconds=1),
        "keep": 8,
        "max_starts": 5,
    }


def test_a_root_that_is_set_goes_over_the_variable_and_under_its_own_flag(folder: Folder) -> None:
    folder.write("kavach.toml", BASE)
    environ = {"AGENTCTL_ROOT": "by-variable", "AGENTCTL_SET": "project.root=by-set-variable"}
    roots = [
        load_project(folder.path, flags=flags, environ=environ).root.name
        for flags in (
            Flags(root=Path("by-root"), settings=("project.root=by-set",)),
            Flags(settings=("project.root=by-set",)),
            Flags(),
        )
    ]
    assert roots == ["by-root", "by-set", "by-variable"]
    told = load_project(folder.path, flags=Flags(settings=("project.root=by-set",)))
    assert sources(told)["project.root"][1] == "--set"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10s", "10s"),
        ('"10s"', "10s"),
        ("7", 7),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ("{ a = 1 }", {"a": 1}),
        ("07", "07"),
        ("", ""),
        ("a = b", "a = b"),
        ("1\nother = 2", "1\nother = 2"),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_a_value_is_toml_or_else_the_text_as_it_stands(text: str, value: object) -> None:
    assert GivenLayer.parse("--set", [f"a.b={text}"]).values == {"a": {"b": value}}


def test_keys_are_written_as_in_toml() -> None:
    layer = GivenLayer.parse("--set", ['agents.Bot.deny."pay.re=fund"=closed', "'x y' . z = 1"])
    assert layer.values == {
        "agents": {"Bot": {"deny": {"pay.re=fund": "closed"}}},
        "x y": {"z": 1},
    }


@pytest.mark.parametrize(
    "setting",
    ["", "=", "agents", "a.=1", ".a=1", 'a"b=1', '"\\q"=1', "a#\n.b=1", "a." * 200 + "b=1"],
)
def test_what_is_no_key_and_value_is_refused(folder: Folder, setting: str) -> None:
    with pytest.raises(UsageError, match="--set: ") as caught:
        load(folder, setting)
    assert "agents.Bot.settings.grace=10s" in str(caught.value.hint)
    assert caught.value.message.isprintable()


def refusal(folder: Folder, *settings: str, **layers: Any) -> AgentctlError:
    with pytest.raises(AgentctlError) as caught:
        load(folder, *settings, **layers)
    return caught.value


def test_an_error_names_the_layer_that_its_value_came_from(folder: Folder) -> None:
    grac = "agents.Bot.settings.grac"
    error = refusal(folder, f"{grac}=1s")
    assert isinstance(error, UsageError)
    assert error.message == f"--set {grac}: there is no such key"
    assert error.hint == "did you mean grace?"
    error = refusal(folder, variable=f"{grac}=1s")
    assert error.message == f"AGENTCTL_SET {grac}: there is no such key"
    error = refusal(folder, local="\n[agents.Bot.settings]\ngrac = 1\n")
    assert isinstance(error, ProjectError)
    assert error.message == f"{folder.path}/kavach.local.toml:3: {grac}: there is no such key"
    error = refusal(folder, local="agents.Bot.settings.keep = -1\n")
    assert f"{folder.path}/kavach.local.toml:1: agents.Bot.settings.keep" in error.message
    error = refusal(folder, local="agents.New.settings.audit = false\n")
    assert f"{folder.path}/kavach.local.toml:1: agents.New.class" in error.message


def test_a_value_that_another_goes_over_is_not_looked_at(folder: Folder) -> None:
    local = 'agents.Bot.settings.grace = "never"\n'
    project = load(folder, "agents.Bot.settings.grace=none", local=local)
    assert project.agents["Bot"].settings["grace"] is None


@pytest.mark.parametrize("content", [b"\xff", b"a = ", b"a" * 200_000])
def test_a_local_file_of_any_bytes_is_one_error_that_names_it(
    folder: Folder, content: bytes
) -> None:
    folder.write("kavach.toml", BASE)
    (folder.path / "kavach.local.toml").write_bytes(content)
    with pytest.raises(ProjectError, match=r"kavach\.local\.toml:1: "):
        load_project(folder.path)


def test_a_local_file_that_cant_be_read_is_one_error(folder: Folder) -> None:
    folder.write("kavach.toml", BASE)
    (folder.path / "kavach.local.toml").mkdir()
    with pytest.raises(ProjectError, match=r"kavach\.local\.toml can't be read"):
        load_project(folder.path)


def test_a_text_of_a_setting_is_not_shown_where_it_is_no_key_and_value(folder: Folder) -> None:
    assert "hunter2" not in refusal(folder, "password key=hunter2").message


TREES = st.recursive(
    st.integers(0, 3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
).filter(lambda tree: isinstance(tree, dict))


def flat(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    found: dict[tuple[str, ...], object] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            found |= flat(value, (*path, key))
        else:
            found[*path, key] = value
    return found


@given(trees=st.lists(TREES, min_size=1, max_size=4))
def test_every_value_is_that_of_the_layer_which_is_named_for_it(
    trees: list[dict[str, Any]],
) -> None:
    first, *rest = trees
    file = TomlFile(Path("kavach.toml"), "", first)
    given_by = {f"layer {n}": tree for n, tree in enumerate(rest)}
    layers = Layers(file, tuple(GivenLayer(by, tree) for by, tree in given_by.items()))
    for key, value in flat(layers.values).items():
        named = given_by.get(layers.source_of(key), first)
        assert flat(named)[key] == value
    for tree in trees[-1:]:
        assert flat(tree).items() <= flat(layers.values).items()
