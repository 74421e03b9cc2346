"""`agentctl new`: a project that works, and nothing that exists is overwritten."""

from __future__ import annotations

import ast
import os
import stat
import tomllib
from pathlib import Path
from typing import TypeGuard

import pytest

from agentctl.errors import Conflict, DiskTrouble, NotFound, UsageError
from agentctl.project.config import load_project
from agentctl.project.loading import load_agent
from agentctl.project.scaffold import create, package_name
from agentctl.project.templates import list_templates, templates_folder

FILES = [
    ".gitignore",
    "README.md",
    "kavach.toml",
    "pyproject.toml",
    "shop/__init__.py",
    "shop/bot.py",
    "shop/world.py",
    "tests/test_bot.py",
]


def is_class(node: ast.stmt) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef)


def tree(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_a_new_project_has_all_its_files_and_says_what_to_try(tmp_path: Path) -> None:
    made = create(tmp_path / "shop")
    assert tree(tmp_path / "shop") == FILES
    assert [path.as_posix() for path in made.files] == FILES
    assert made.next_commands == (
        f"cd {tmp_path}/shop",
        "agentctl invoke Bot request 7",
        "agentctl inspect journal Bot",
    )
    assert (made.package, made.agent, made.note) == ("shop", "Bot", None)


def test_a_new_project_can_be_loaded(tmp_path: Path, fresh_imports: None) -> None:
    create(tmp_path / "shop")
    loaded = load_agent(load_project(tmp_path / "shop"), "Bot")
    assert loaded.cls.__name__ == "Bot"
    assert loaded.capabilities.keys() == {"payments", "email"}


def test_only_the_owner_can_look_into_the_agents_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o022)
    try:
        create(tmp_path / "shop")
    finally:
        os.umask(before)
    modes = {
        p: stat.S_IMODE((tmp_path / "shop" / p).stat().st_mode) for p in ("agents/Bot", *FILES)
    }
    assert modes == {"agents/Bot": 0o700} | dict.fromkeys(FILES, 0o644)


def test_package_agent_and_module_take_the_new_names(tmp_path: Path, fresh_imports: None) -> None:
    made = create(tmp_path / "My-Store", agent="OrderRefunder")
    folder = tmp_path / "My-Store"
    assert (made.package, made.agent) == ("my_store", "OrderRefunder")
    assert made.next_commands[1] == "agentctl invoke OrderRefunder request 7"
    assert "my_store/order_refunder.py" in tree(folder)
    assert "tests/test_order_refunder.py" in tree(folder)
    assert (folder / "agents" / "OrderRefunder").is_dir()
    for path in folder.rglob("*"):
        if path.is_file():
            words = path.read_text().replace("[", " ").replace(".", " ").replace(":", " ").split()
            assert not {"shop", "Bot", "bot"} & set(words), path
    loaded = load_agent(load_project(folder), "OrderRefunder")
    assert loaded.cls.__module__ == "my_store.order_refunder"


@pytest.mark.parametrize("agent", ["Poller", "A", "Bot2"])
def test_renamed_python_files_are_still_python(tmp_path: Path, agent: str) -> None:
    create(tmp_path / "store", agent=agent)
    parsed = {path.name: ast.parse(path.read_text()) for path in (tmp_path / "store").rglob("*.py")}
    classes = [each.name for tree in parsed.values() for each in tree.body if is_class(each)]
    assert agent in classes
    assert len(parsed) == 4


@pytest.mark.parametrize("agent", ["Shop", "Receipt", "str", "World", "None", "Class", "store"])
def test_an_agents_name_that_means_something_else_is_refused(tmp_path: Path, agent: str) -> None:
    with pytest.raises(UsageError, match="can't be named"):
        create(tmp_path / "store", agent=agent)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("agent", ["../x", "a/b", "x" * 300, "NUL", "Bücher"])
def test_p16_an_agents_name_that_could_leave_its_folder_is_refused(
    tmp_path: Path, agent: str
) -> None:
    with pytest.raises(UsageError, match="can't be an agent's name"):
        create(tmp_path / "store", agent=agent)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_exists_is_named_and_nothing_is_written(tmp_path: Path, file: str) -> None:
    path = tmp_path / "shop" / file
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(Conflict) as caught:
        create(tmp_path / "shop")
    assert caught.value.exit_code == 4
    assert str(path) in caught.value.message
    assert tree(tmp_path) == [f"shop/{file}"]
    assert path.read_text() == "mine"


def test_a_link_that_leads_nowhere_counts_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "README.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Conflict, match=r"README\.md"):
        create(tmp_path / "shop")
    assert not (tmp_path / "elsewhere").exists()


def test_a_journal_that_exists_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "shop" / "agents" / "Bot").mkdir(parents=True)
    (tmp_path / "shop" / "agents" / "Bot" / "journal").write_text("old")
    with pytest.raises(Conflict, match="agents/Bot"):
        create(tmp_path / "shop")


def test_the_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("mine")
    with pytest.raises(Conflict, match="is a file"):
        create(tmp_path / "shop")


def test_other_files_in_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "notes").write_text("mine")
    create(tmp_path / "shop")
    assert (tmp_path / "shop" / "notes").read_text() == "mine"
    assert tree(tmp_path / "shop") == sorted([*FILES, "notes"])


def test_in_the_working_folder_there_is_no_cd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    made = create(Path("."))
    assert made.package == "shop"
    assert len(made.next_commands) == 3
    assert made.next_commands[0] == "agentctl invoke Bot request 7"


def test_a_folder_with_spaces_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert create(Path("my shop")).next_commands[0] == "cd 'my shop'"
    assert create(Path("-x")).next_commands[0] == "cd ./-x"


@pytest.mark.parametrize("nth", range(1, len(FILES) + 1))
def test_a_disk_that_fails_at_any_file_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    real, count = Path.open, 0

    def fail(self: Path, mode: str = "r", *args: object, **kwargs: object) -> object:
        nonlocal count
        count += mode == "x"
        if mode == "x" and count == nth:
            raise OSError(28, "No space left on device")
        return real(self, mode, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(DiskTrouble, match="No space left on device") as caught:
        create(tmp_path / "deep" / "shop")
    assert caught.value.exit_code == 74
    assert list(tmp_path.iterdir()) == []


def test_kavach_toml_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = Path.open

    def note(self: Path, mode: str = "r", *args: object, **kwargs: object) -> object:
        if mode == "x":
            opened.append(self.name)
        return real(self, mode, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", note)
    create(tmp_path / "shop")
    assert opened[-1] == "kavach.toml"


def test_a_file_that_appears_in_this_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.open

    def interfere(self: Path, mode: str = "r", *args: object, **kwargs: object) -> object:
        if mode == "x" and self.name == "world.py":
            self.write_text("theirs")
        return real(self, mode, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", interfere)
    with pytest.raises(Conflict, match=r"world\.py"):
        create(tmp_path / "shop")
    assert tree(tmp_path / "shop") == ["shop/world.py"]
    assert (tmp_path / "shop" / "shop" / "world.py").read_text() == "theirs"


def test_an_unknown_template_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        create(tmp_path / "shop", "refnd")
    assert "did you mean refund?" in str(caught.value.hint)


def test_the_templates_are_listed() -> None:
    refund = {each.name: each for each in list_templates()}["refund"]
    assert refund.about
    assert refund.folder == templates_folder() / "refund"


def test_what_using_a_template_leaves_in_it_isnt_copied(tmp_path: Path) -> None:
    template = tmp_path / "templates" / "mini"
    for name in ("shop/__pycache__/bot.pyc", ".pytest_cache/x", "agents/Bot/journal", ".venv/y"):
        (template / name).parent.mkdir(parents=True)
        (template / name).write_bytes(b"\xff")
    (template / "kavach.toml").write_text('[agents.Bot]\nclass = "shop.bot:Bot"\n')
    (template / "template.toml").write_text(
        'about = "mini"\npackage = "shop"\nagent = "Bot"\nmodule = "bot"\nnext = []\n'
    )
    create(tmp_path / "store", "mini", templates=tmp_path / "templates")
    assert tree(tmp_path / "store") == ["kavach.toml"]
    text = (tmp_path / "store" / "kavach.toml").read_text()
    assert tomllib.loads(text) == {"agents": {"Bot": {"class": "store.bot:Bot"}}}


@pytest.mark.parametrize(
    ("folder", "package", "why"),
    [
        ("shop", "shop", None),
        ("my-shop", "my_shop", "can't be imported"),
        ("My Shop 2", "my_shop_2", "can't be imported"),
        ("Bücher", "bucher", "can't be imported"),
        ("2nd", "project_2nd", "can't be imported"),
        ("本", "project", "can't be imported"),
        ("", "project", "can't be imported"),
        ("class", "class_project", "Python keyword"),
        ("json", "json_project", "hide another module"),
        ("tests", "tests_project", "hide another module"),
        ("agents", "agents_project", "hide another module"),
        ("agentctl", "agentctl_project", "hide another module"),
        ("rich", "rich_project", "hide another module"),
    ],
)
def test_a_folders_name_becomes_a_package_that_can_be_imported(
    folder: str, package: str, why: str | None
) -> None:
    name, note = package_name(folder)
    assert name == package
    assert name.isidentifier()
    assert (note is None) == (why is None)
    assert why is None or why in str(note)
