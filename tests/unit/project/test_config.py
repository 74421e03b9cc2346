"""Loading `kavach.toml`: what is found, what it gives, and who wins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from agentctl.errors import NotFound
from agentctl.project.config import Flags, find_file, load_project
from agentctl.project.explain import explain
from agentctl.project.model import CapabilityConfig

from .conftest import Folder

ROOT = Path(__file__).parents[3]

FULL = """\
[project]
name = "shop"
root = "data"
tz = "Europe/Berlin"

[agents.Bot]
class = "shop.bot:Bot"

[agents.Bot.capabilities]
payments = "shop.world:Shop"
email = { use = "shop.world:Mail" }

[agents.Bot.settings]
journal = false
audit = false
max_starts = 5
concurrency = 8
grace = "1m30s"
retention = "1d"
keep_failed = "0s"
keep = 0
capacity = 7
permits = { high = 6, low = 2 }

[agents.Bot.deny]
"payments.refund" = "closed for the audit"
email.send = "quiet"

[engine]
kind = "files"
"""


def sources(rows: list[tuple[str, object, str]]) -> Mapping[str, tuple[object, str]]:
    return {key: (value, source) for key, value, source in rows}


def test_everything_that_is_written_is_loaded(folder: Folder) -> None:
    project = folder.load(FULL)
    bot = project.agent("Bot")
    assert (project.name, project.tz) == ("shop", "Europe/Berlin")
    assert (project.folder, project.root) == (folder.path, folder.path / "data")
    assert bot.cls == "shop.bot:Bot"
    assert bot.capabilities == {
        "payments": CapabilityConfig("shop.world:Shop"),
        "email": CapabilityConfig("shop.world:Mail"),
    }
    assert bot.settings == {
        "journal": False,
        "audit": False,
        "max_starts": 5,
        "concurrency": 8,
        "grace": timedelta(seconds=90),
        "retention": timedelta(days=1),
        "keep_failed": timedelta(0),
        "keep": 0,
        "capacity": 7,
        "permits": {"high": 6, "low": 2},
    }
    assert bot.deny == {"payments.refund": "closed for the audit", "email.send": "quiet"}


def test_an_empty_file_is_a_project_without_agents(folder: Folder) -> None:
    project = folder.load("")
    assert (project.name, project.root, project.tz) == ("project", folder.path, None)
    assert project.agents == {}


def test_no_limit_of_grace_is_written_none(folder: Folder) -> None:
    toml = '[agents.Bot]\nclass = "b:Bot"\nsettings.grace = "none"\n'
    assert folder.load(toml).agent("Bot").settings == {"grace": None}


def test_the_file_is_found_from_a_folder_below(folder: Folder) -> None:
    path = folder.write("kavach.toml", "")
    below = folder.path / "shop" / "deep"
    below.mkdir(parents=True)
    assert find_file(below) == path
    assert find_file(path) == path


def test_the_nearest_file_wins(folder: Folder) -> None:
    folder.write("kavach.toml", '[project]\nname = "outer"\n')
    folder.write("inner/kavach.toml", '[project]\nname = "inner"\n')
    assert load_project(folder.path / "inner").name == "inner"


@pytest.mark.parametrize("start", ["", "missing", "file/below"])
def test_without_a_project_it_says_how_to_make_one_or_where_it_looked(
    tmp_path: Path, start: str
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFound) as caught:
        load_project(tmp_path / start)
    assert str(tmp_path / start) in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("flag", "environment", "file", "root", "source"),
    [
        (None, None, None, ".", "default"),
        (None, None, "data", "data", "kavach.toml:2"),
        (None, "from-env", "data", "../from-env", "AGENTCTL_ROOT"),
        ("from-flag", "from-env", "data", "../from-flag", "--root"),
        (None, "", "data", "data", "kavach.toml:2"),
    ],
)
def test_the_root_comes_from_flag_then_environment_then_file_then_default(
    folder: Folder,
    flag: str | None,
    environment: str | None,
    file: str | None,
    root: str,
    source: str,
) -> None:
    folder.write("kavach.toml", f'[project]\nroot = "{file}"\n' if file else "")
    project = load_project(
        folder.path.parent,
        flags=Flags(project=folder.path, root=Path(flag) if flag else None),
        environ={} if environment is None else {"AGENTCTL_ROOT": environment},
    )
    assert project.root == (folder.path / root).resolve()
    assert sources(explain(project))["project.root"] == (str(project.root), source)


def test_the_project_comes_from_flag_then_environment_then_working_folder(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kavach.toml").write_text("")
    environ = {"AGENTCTL_PROJECT": "../b"}
    by_flag = load_project(tmp_path / "c", flags=Flags(project=Path("../a")), environ=environ)
    by_environment = load_project(tmp_path / "c", environ=environ)
    by_folder = load_project(tmp_path / "c")
    assert [(p.name, p.found_by) for p in (by_flag, by_environment, by_folder)] == [
        ("a", "-C"),
        ("b", "AGENTCTL_PROJECT"),
        ("c", "working folder"),
    ]


def test_explain_says_where_each_value_comes_from(folder: Folder) -> None:
    rows = sources(explain(folder.load(FULL)))
    assert rows == {
        "file": (str(folder.path / "kavach.toml"), "working folder"),
        "project.name": ("shop", "kavach.toml:2"),
        "project.root": (str(folder.path / "data"), "kavach.toml:3"),
        "project.tz": ("Europe/Berlin", "kavach.toml:4"),
        "agents.Bot.class": ("shop.bot:Bot", "kavach.toml:7"),
        "agents.Bot.capabilities.payments": ("shop.world:Shop", "kavach.toml:10"),
        "agents.Bot.capabilities.email": ("shop.world:Mail", "kavach.toml:11"),
        "agents.Bot.settings.journal": (False, "kavach.toml:14"),
        "agents.Bot.settings.audit": (False, "kavach.toml:15"),
        "agents.Bot.settings.max_starts": (5, "kavach.toml:16"),
        "agents.Bot.settings.concurrency": (8, "kavach.toml:17"),
        "agents.Bot.settings.grace": ("1m30s", "kavach.toml:18"),
        "agents.Bot.settings.retention": ("1d", "kavach.toml:19"),
        "agents.Bot.settings.keep_failed": ("0s", "kavach.toml:20"),
        "agents.Bot.settings.keep": (0, "kavach.toml:21"),
        "agents.Bot.settings.capacity": (7, "kavach.toml:22"),
        "agents.Bot.settings.permits": ('{"high": 6, "low": 2}', "kavach.toml:23"),
        'agents.Bot.deny."payments.refund"': ("closed for the audit", "kavach.toml:26"),
        'agents.Bot.deny."email.send"': ("quiet", "kavach.toml:27"),
        "engine.kind": ("files", "kavach.toml:30"),
    }


def test_explain_tells_what_the_class_carries_from_defaults_and_from_the_file(
    folder: Folder,
) -> None:
    from agentctl.sdk.settings import AgentSettings

    project = folder.load('[agents.Bot]\nclass = "b:Bot"\nsettings.audit = true\n')
    carried = AgentSettings(max_starts=9, audit=False)
    rows = sources(explain(project, of_classes={"Bot": carried}))
    assert rows["agents.Bot.settings.max_starts"] == (9, "class Bot")
    assert rows["agents.Bot.settings.audit"] == (True, "kavach.toml:3")
    assert rows["agents.Bot.settings.journal"] == (True, "default")


def test_a_reading_command_imports_nothing_heavy_to_load_the_file(folder: Folder) -> None:
    folder.write("kavach.toml", '[agents.Bot]\nclass = "b:Bot"\ncapabilities.pay = "b:Pay"\n')
    program = (
        "import sys, pathlib; from agentctl.project.config import load_project;"
        f"load_project(pathlib.Path({str(folder.path)!r}));"
        "print(*sorted({'asyncio', 'rich', 'pydantic', 'watchfiles', 'filelock', 'difflib'}"
        " & sys.modules.keys()))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "\n"


def test_an_unknown_agent_is_answered_with_the_nearest(folder: Folder) -> None:
    project = folder.load('[agents.Poller]\nclass = "p:Poller"\n')
    with pytest.raises(NotFound) as caught:
        project.agent("Poler")
    assert "Poler" in caught.value.message
    assert "did you mean Poller?" in str(caught.value.hint)
