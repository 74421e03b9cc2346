"""`agentctl add`: another agent in a project, and not a byte that was there is changed."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from agentctl.errors import Conflict, DiskTrouble, NotFound, ProjectError, UsageError
from agentctl.project.adding import Addition, plan_addition, write_addition
from agentctl.project.config import load_project
from agentctl.project.loading import load_agent
from agentctl.project.scaffold import create

from .conftest import Folder

TABLES = """\
[agents.Clerk]
class = "shop.clerk:Clerk"

[agents.Clerk.capabilities]
payments = "shop.clerk_world:Shop"
email = "shop.clerk_world:Mail"
"""


@pytest.fixture
def made(tmp_path: Path) -> Path:
    create(tmp_path / "shop")
    return tmp_path / "shop"


def add(folder: Path, agent: str = "Clerk") -> Addition:
    addition = plan_addition(load_project(folder), agent)
    write_addition(addition)
    return addition


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_its_code_its_tests_and_its_tables_are_added_and_nothing_else(made: Path) -> None:
    before = tree(made)
    addition = add(made)
    after = tree(made)
    new = ["shop/clerk.py", "shop/clerk_world.py", "tests/test_clerk.py"]
    assert sorted(set(after) - set(before)) == new
    assert [path.as_posix() for path in addition.files] == new
    assert {name for name in before if after[name] != before[name]} == {"kavach.toml"}
    assert after["kavach.toml"] == before["kavach.toml"] + b"\n" + TABLES.encode()
    assert stat.S_IMODE((made / "agents" / "Clerk").stat().st_mode) == 0o700
    assert addition.next_commands == (
        "agentctl invoke Clerk request 7",
        "agentctl inspect journal Clerk",
        "python -m pytest",
    )


def test_agents_of_one_template_do_not_collide(made: Path, fresh_imports: None) -> None:
    add(made)
    add(made, "OrderRefunder")
    project = load_project(made)
    assert list(project.agents) == ["Bot", "Clerk", "OrderRefunder"]
    loaded = [load_agent(project, name) for name in project.agents]
    assert [each.cls.__module__ for each in loaded] == [
        "shop.bot",
        "shop.clerk",
        "shop.order_refunder",
    ]
    worlds = {type(each.capabilities["payments"]).__module__ for each in loaded}
    assert worlds == {"shop.world", "shop.clerk_world", "shop.order_refunder_world"}


def test_a_schedule_of_the_template_comes_with_its_agent(made: Path, fresh_imports: None) -> None:
    for agent in ("Ping", "Pong"):
        write_addition(plan_addition(load_project(made), agent, "heartbeat"))
    project = load_project(made)
    assert [(one.agent, one.timing.name) for one in project.schedules()] == [
        ("Ping", "ping"),
        ("Pong", "pong"),
    ]
    assert load_agent(project, "Pong").cls.__module__ == "shop.pong"


def test_a_schedule_of_that_name_is_not_replaced(made: Path) -> None:
    with (made / "kavach.toml").open("a") as stream:
        stream.write('\n[schedules.ping]\nagent = "Bot"\nhandler = "request"\nevery = "1h"\n')
    before = tree(made)
    with pytest.raises(Conflict, match=r"a schedule ping already: kavach\.toml:11"):
        plan_addition(load_project(made), "Ping", "heartbeat")
    assert tree(made) == before


@pytest.mark.parametrize(
    "toml",
    [
        "",
        "# nothing yet",
        "# a comment\n\n[project] # behind a table\nname = 'shop'\n# the end",
        '[agents.Bot]\r\nclass = "shop.bot:Bot" # windows\r\n',
        '[agents.Bot]\r\nclass = "shop.bot:Bot"',
        '[agents.Bot]\nclass = "shop.bot:Bot"\n\n\n\n',
        '[agents]\nBot = { class = "shop.bot:Bot", settings = { grace = "1s" } }',
        'agents.Bot.class = "shop.bot:Bot"\nagents.Bot.capabilities.email.use = "shop.world:Mail"',
        '[agents.Bot]\nclass = "shop.bot:Bot"\n[agents.Bot.capabilities]\n'
        'email = { use = "shop.world:Mail", with = { host = { env = "H" } } } # inline',
        "[agents.Bot]\nclass = '''shop.bot:Bot'''\n[engine]\n# last",
    ],
)
def test_every_byte_that_was_there_stays(made: Path, toml: str) -> None:
    before = toml.encode()
    (made / "kavach.toml").write_bytes(before)
    values = tomllib.loads(toml.replace("\r\n", "\n"))
    add(made)
    after = (made / "kavach.toml").read_bytes()
    assert after.startswith(before)
    assert (b"\r" in after[len(before) :]) == (b"\r" in before)
    assert after.replace(b"\r\n", b"\n").endswith(TABLES.encode())
    now = tomllib.loads(after.decode().replace("\r\n", "\n"))
    clerk = now["agents"].pop("Clerk")
    assert clerk == tomllib.loads(TABLES)["agents"]["Clerk"]
    assert {**values, "agents": values.get("agents", {})} == now
    assert "Clerk" in load_project(made).agents


def test_agents_in_an_inline_table_cannot_be_added_to(made: Path) -> None:
    text = '\nagents = { Bot = { class = "shop.bot:Bot" } }\n'
    (made / "kavach.toml").write_text(text)
    before = tree(made)
    with pytest.raises(ProjectError, match=r"kavach\.toml:2: agents: .*Clerk") as caught:
        add(made)
    assert "[agents.NAME]" in str(caught.value.hint)
    assert tree(made) == before


def test_the_code_goes_where_the_agents_are(folder: Folder, fresh_imports: None) -> None:
    folder.write("kavach.toml", '[project]\nroot = "data"\n[agents.Bot]\nclass = "a.b.bot:Bot"\n')
    folder.write("a/__init__.py", "")
    folder.write("a/b/__init__.py", "")
    addition = add(folder.path)
    assert [path.as_posix() for path in addition.files] == [
        "a/b/clerk.py",
        "a/b/clerk_world.py",
        "tests/test_clerk.py",
    ]
    assert (folder.path / "data" / "agents" / "Clerk").is_dir()
    assert load_agent(load_project(folder.path), "Clerk").cls.__module__ == "a.b.clerk"


def test_a_project_without_agents_gets_a_package(folder: Folder, fresh_imports: None) -> None:
    folder.write("kavach.toml", "")
    files = add(folder.path).files
    assert "project/__init__.py" in [path.as_posix() for path in files]
    assert load_agent(load_project(folder.path), "Clerk").cls.__module__ == "project.clerk"


@pytest.mark.parametrize("agent", ["Bot", "bot", "BOT"])
def test_an_agent_that_is_there_is_a_conflict(made: Path, agent: str) -> None:
    before = tree(made)
    with pytest.raises(Conflict, match=r"has an agent Bot already: kavach\.toml:4") as caught:
        add(made, agent)
    assert caught.value.exit_code == 4
    assert tree(made) == before


def test_an_agent_of_the_local_file_is_a_conflict_too(made: Path) -> None:
    (made / "kavach.local.toml").write_text('[agents.Clerk]\nclass = "shop.other:Clerk"\n')
    with pytest.raises(Conflict, match=r"kavach\.local\.toml:1"):
        add(made)


@pytest.mark.parametrize(
    "path", ["shop/clerk.py", "shop/clerk_world.py", "tests/test_clerk.py", "agents/Clerk/journal"]
)
def test_a_file_that_is_there_is_named_and_nothing_is_written(made: Path, path: str) -> None:
    (made / path).parent.mkdir(exist_ok=True)
    (made / path).write_text("mine")
    before = tree(made)
    with pytest.raises(Conflict, match=str(Path(path).parent)) as caught:
        add(made)
    assert "nothing was written" in str(caught.value.hint)
    assert tree(made) == before


@pytest.mark.parametrize("agent", ["Shop", "Receipt", "Mail", "None", "../x", ""])
def test_a_name_that_cannot_be_used_is_refused(made: Path, agent: str) -> None:
    before = tree(made)
    with pytest.raises(UsageError, match="can't be"):
        add(made, agent)
    assert tree(made) == before


def test_an_unknown_template_is_answered_with_the_nearest(made: Path) -> None:
    with pytest.raises(NotFound) as caught:
        plan_addition(load_project(made), "Clerk", "refnud")
    assert "did you mean refund?" in str(caught.value.hint)


def test_planning_writes_nothing(made: Path) -> None:
    before = tree(made)
    assert plan_addition(load_project(made), "Clerk").tables == TABLES
    assert tree(made) == before
    assert not (made / "agents" / "Clerk").exists()


@pytest.mark.parametrize("failing", ["clerk.py", "clerk_world.py", "test_clerk.py", "kavach.toml"])
def test_a_disk_that_fails_at_any_file_leaves_nothing_behind(
    made: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    before, real = tree(made), Path.open
    addition = plan_addition(load_project(made), "Clerk")

    def fail(self: Path, mode: str = "r", *args: object, **kwargs: object) -> object:
        if mode in ("x", "r+b") and self.name == failing:
            raise OSError(28, "No space left on device")
        return real(self, mode, *args, **kwargs)  # type: ignore[call-overload]

    with monkeypatch.context() as broken:
        broken.setattr(Path, "open", fail)
        with pytest.raises(DiskTrouble, match="No space left on device"):
            write_addition(addition)
    assert tree(made) == before
    assert not (made / "agents" / "Clerk").exists()


def test_what_somebody_writes_meanwhile_is_kept(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addition, real = plan_addition(load_project(made), "Clerk"), Path.open

    def interfere(self: Path, mode: str = "r", *args: object, **kwargs: object) -> object:
        if mode == "x" and self.name == "test_clerk.py":
            (made / "kavach.toml").write_text("# theirs\n")
        return real(self, mode, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", interfere)
    with pytest.raises(Conflict, match="changed in this moment"):
        write_addition(addition)
    assert (made / "kavach.toml").read_text() == "# theirs\n"
    assert not (made / "shop" / "clerk.py").exists()
