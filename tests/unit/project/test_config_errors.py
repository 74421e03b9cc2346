"""What is wrong in `kavach.toml` is one error: file, line, key, what was expected, how to go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentctl.errors import ProjectError
from agentctl.project.config import load_project
from agentctl.project.toml_file import MAX_BYTES

from .conftest import Folder

BOT = '[agents.Bot]\nclass = "shop.bot:Bot"\n'
RETRY = BOT + 'capabilities.pay.use = "a:B"\ncapabilities.pay.retry = '


@pytest.mark.parametrize(
    ("toml", "line", "says", "hint"),
    [
        ("[projct]\n", 1, "projct: there is no such key", "did you mean project?"),
        ('[project]\n\nnaem = "x"\n', 3, "project.naem: there is no such key", "mean name?"),
        ("[project]\nname = 7\n", 2, "project.name: expected a text, not the number 7", None),
        ('[project]\nname = ""\n', 2, "project.name: expected a text that isn't empty", None),
        ("project = 3\n", 1, "project: expected a table, not the number 3", None),
        ("[[agents]]\n", 1, "agents: expected a table, not an array", None),
        (
            '[project]\ntz = "Europe/Berln"\n',
            2,
            "project.tz: expected a time zone",
            "Europe/Berlin",
        ),
        ('[project]\ntz = "Europe"\n', 2, "project.tz: expected a time zone", ""),
        ("# first\n[agents.Bot]\n", 2, "agents.Bot.class: the key is missing", 'class = "shop'),
        ('[agents.Bot]\nclas = "x"\n', 2, "agents.Bot.clas: there is no such key", "mean class?"),
        ('[agents.Bot]\nclass = "shop.bot"\n', 2, 'class: expected "module:Class"', "colon"),
        ('[agents.Bot]\nclass = "shop/bot.py:Bot"\n', 2, 'expected "module:Class"', "colon"),
        ("[agents]\nBot = 1\n", 2, "agents.Bot: expected a table", None),
        (BOT + "capabilities.pay = 1\n", 3, "agents.Bot.capabilities.pay: expected a text", None),
        (BOT + "capabilities.pay = {}\n", 3, "capabilities.pay.use: the key is missing", None),
        (BOT + 'capabilities.pay = {usee = "a:B"}\n', 3, "pay.usee: there is no such key", "use"),
        (BOT + 'capabilities.pay = {use = "a:B", limit = 0}\n', 3, "number from 1 on", None),
        (BOT + 'capabilities.pay = {use = "a:B", timeout = "0s"}\n', 3, "some time", None),
        (BOT + 'capabilities.pay = {use = "a:B", timeout = 30}\n', 3, "timeout: expected a", None),
        (RETRY + "5\n", 4, "capabilities.pay.retry: expected a table, not the number 5", None),
        (RETRY + "{}\n", 4, "pay.retry.max_attempts: the key is missing: how many", None),
        (RETRY + "{attempts = 3}\n", 4, "retry.attempts: there is no such key", "max_attempts"),
        (RETRY + "{max_attempts = 0}\n", 4, "max_attempts: expected a whole number from 1", None),
        (RETRY + "{max_attempts = 2, delay = 5}\n", 4, "delay: expected a text", 'write "5s"'),
        (RETRY + '{max_attempts = 2, delay = "-5s"}\n', 4, "delay: expected a duration", None),
        (RETRY + '{max_attempts = 2, delay = "4000d"}\n', 4, "delay: expected at most ten", None),
        (RETRY + '{max_attempts = 2, base = "5s"}\n', 4, "retry.cap: the key is missing", None),
        (RETRY + "{max_attempts = 2, factor = 2}\n", 4, "retry.base: the key is missing", None),
        (
            RETRY + '{max_attempts = 2, delay = "1s", cap = "5s"}\n',
            4,
            "retry.delay: expected delay alone, or base and cap",
            "base grows by factor, up to cap",
        ),
        (
            RETRY + '{max_attempts = 2, base = "5s", cap = "1s"}\n',
            4,
            "retry.cap: expected a duration that isn't shorter than base",
            None,
        ),
        (
            RETRY + '{max_attempts = 2, base = "1s", cap = "5s", factor = 0.5}\n',
            4,
            "retry.factor: expected a number from 1 to 1000",
            None,
        ),
        (
            RETRY + "{max_attempts = 2, jitter = 2}\n",
            4,
            "jitter: expected a number from 0 to",
            None,
        ),
        (RETRY + "{max_attempts = 2, jitter = true}\n", 4, "jitter: expected a number, not", None),
        (BOT + 'capabilities.pay = {use = "a:B", with = 3}\n', 3, "with: expected a table", None),
        (
            BOT + 'capabilities.pay = {use = "a:B", with.host = {env = "H", default = "x"}}\n',
            3,
            "pay.with.host: expected env or file alone, not default, env together",
            "where the value comes from",
        ),
        (BOT + 'capabilities.pay = {use = "a:B", with.host.env = 3}\n', 3, "host.env: exp", None),
        (
            BOT + "[agents.Bot.settings]\nmax_start = 1\n",
            4,
            "settings.max_start: there is no",
            "max_starts",
        ),
        (
            BOT + "[agents.Bot.settings]\nmax_starts = 0\n",
            4,
            "expected a whole number from 1",
            None,
        ),
        (BOT + "[agents.Bot.settings]\nmax_starts = true\n", 4, "number from 1 on, not true", None),
        (BOT + "[agents.Bot.settings]\njournal = 1\n", 4, "expected true or false, not the", None),
        (
            BOT + "[agents.Bot.settings]\ngrace = 5\n",
            4,
            "grace: expected a text, not the number 5",
            'write "5s"',
        ),
        (BOT + '[agents.Bot.settings]\ngrace = "5"\n', 4, "expected a duration or", "with a unit"),
        (BOT + f'[agents.Bot.settings]\ngrace = "{"9" * 400}s"\n', 4, "expected a duration", None),
        (BOT + "[agents.Bot.settings]\nkeep = -1\n", 4, "expected a whole number from 0 on", None),
        (BOT + "[agents.Bot.settings]\ncapacity = 0\n", 4, "a whole number from 1 on", None),
        (BOT + "[agents.Bot.settings.permits]\nlow = 0\n", 4, "a whole number from 1 on", None),
        (BOT + "[agents.Bot.settings.permits]\nlov = 1\n", 4, "no such key", "low"),
        (BOT + "[agents.Bot.settings]\npermits = 8\n", 4, "permits: expected a table", None),
        (BOT + '[agents.Bot.settings]\nretention = "-1d"\n', 4, "expected a duration, not", None),
        (BOT + '[agents.Bot.settings]\nkeep_failed = "none"\n', 4, "expected a duration", None),
        (BOT + '[agents.Bot.deny]\nrefund = "no"\n', 4, 'expected "capability.method"', "payments"),
        (BOT + '[agents.Bot.deny]\n"a.b" = true\n', 4, 'deny."a.b": expected a text', None),
        ('[engine]\nkind = "fils"\n', 2, 'engine.kind: expected "files"', None),
    ],
)
def test_a_mistake_names_file_line_key_and_what_was_expected(
    folder: Folder, toml: str, line: int, says: str, hint: str | None
) -> None:
    error = folder.refusal(toml)
    assert error.exit_code == 7
    assert error.message.startswith(f"{folder.path}/kavach.toml:{line}: ")
    assert says in error.message
    if hint is not None:
        assert hint in str(error.hint)


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        ('[engine]\nkind = "sqlite"\n', 2),
        ('[engine]\nkind = "restate"\n', 2),
        (BOT + '[agents.Bot.settings]\naudit = { max_size = "64MiB" }\n', 4),
    ],
)
def test_what_only_a_later_version_acts_on_is_refused_not_ignored(
    folder: Folder, toml: str, line: int
) -> None:
    error = folder.refusal(toml)
    assert error.message.startswith(f"{folder.path}/kavach.toml:{line}: ")
    assert "this version of agentctl doesn't have it yet" in error.message


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "x" * 300, "NUL", "Bücher", "", "con", "a b", "1x"]
)
def test_p16_a_name_that_could_leave_its_folder_is_refused(folder: Folder, name: str) -> None:
    error = folder.refusal(f'[agents."{name}"]\nclass = "a:B"\n')
    assert "can't be an agent's name" in error.message
    assert ":1: agents." in error.message


def test_p16_names_that_differ_only_in_case_are_refused(folder: Folder) -> None:
    error = folder.refusal('[agents.x]\nclass = "a:x"\n[agents.X]\nclass = "a:X"\n')
    assert "kavach.toml:3: agents.X: it differs from the agent x only in case" in error.message


@pytest.mark.parametrize(
    ("text", "line"),
    [("[project]\nname = \n", 2), ("\n\n= 1\n", 3), ("a = [1,\n2", 2), ("a=1\na=2\n", 2)],
)
def test_what_isnt_toml_names_the_line(folder: Folder, text: str, line: int) -> None:
    error = folder.refusal(text)
    assert error.message.startswith(f"{folder.path}/kavach.toml:{line}: this isn't TOML")


@pytest.mark.parametrize(
    "data",
    [
        b'[project]\nname = "\xff"\n',
        b"a = " + b"[" * 100_000,
        b"a = " + b"{a=" * 100_000,
        b"a" + b".a" * 100_000 + b" = 1",
        (b"a" + b".a" * 101 + b" = 1\n") * 10,
        b"["
        + b"a." * 99
        + b"a]\n"
        + b"".join(b"k%d" % n + b".a" * 100 + b" = 1\n" for n in range(500)),
        b"a = " + b"9" * 10_000,
        b"#" * (MAX_BYTES + 1),
        b"\x00",
        b"\xef\xbb\xbf[project]",
        b"a = 0000-00-00",
        b'"\\u0000" = 1',
        b'"\\u001b[31m" = 1',
    ],
)
def test_hostile_bytes_are_one_clear_error(folder: Folder, data: bytes) -> None:
    (folder.path / "kavach.toml").write_bytes(data)
    with pytest.raises(ProjectError) as caught:
        load_project(folder.path)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 1500


def test_a_file_that_cant_be_read_is_one_clear_error(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    folder.write("kavach.toml", "")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ProjectError, match=r"kavach\.toml can't be read: Permission denied"):
        load_project(folder.path)


PIECES = st.sampled_from(
    ["[", "]", "{", "}", "=", '"', "'", "'''", '"""', ".", "#", "\n", ",", " ", "\\", "project",
     "agents", "Bot", "class", "settings", "grace", "deny", "capabilities", "engine", "kind",
     "true", "1", '"5s"', '"a:B"', "1e400", "1979-05-27", "\x1b", "é"]
)  # fmt: skip


def refusal_of(folder: Folder) -> str | None:
    try:
        load_project(folder.path)
    except ProjectError as error:
        return error.message
    return None


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.binary(max_size=200) | st.lists(PIECES, max_size=40).map(lambda p: "".join(p).encode())
)
def test_arbitrary_bytes_load_or_are_a_project_error(folder: Folder, data: bytes) -> None:
    (folder.path / "kavach.toml").write_bytes(data)
    message = refusal_of(folder)
    if message is not None:
        assert message.startswith(f"{folder.path}/kavach.toml:")
        assert "\n" not in message


VALUES = st.recursive(
    st.sampled_from(["true", "-1", "1e400", '"x"', '""', '"a:B"', '"none"', "1979-05-27", "nan"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda v: f"[{', '.join(v)}]")
        | st.lists(inner, max_size=3).map(
            lambda v: "{" + ", ".join(f"k{n} = {each}" for n, each in enumerate(v)) + "}"
        )
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["project", "project.name", "project.root", "project.tz", "agents", "agents.Bot",
     "agents.Bot.class", "agents.Bot.capabilities", "agents.Bot.capabilities.pay",
     "agents.Bot.capabilities.pay.use", "agents.Bot.settings", "agents.Bot.settings.grace",
     "agents.Bot.settings.max_starts", "agents.Bot.settings.audit", "agents.Bot.deny",
     "agents.Bot.deny.a", 'agents.Bot.deny."a.b"', "engine", "engine.kind",
     "schedules", "schedules.s", "schedules.s.agent", "schedules.s.handler", "schedules.s.args",
     "schedules.s.instances", "schedules.s.every", "schedules.s.cron", "schedules.s.at"]
)  # fmt: skip


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pairs=st.lists(st.tuples(KEYS, VALUES), max_size=4))
def test_any_value_under_any_key_loads_or_names_its_line(
    folder: Folder, pairs: list[tuple[str, str]]
) -> None:
    text = "".join(f"{key} = {value}\n" for key, value in pairs)
    (folder.path / "kavach.toml").write_text(text, encoding="utf-8")
    message = refusal_of(folder)
    if message is not None:
        line = int(message.removeprefix(f"{folder.path}/kavach.toml:").split(":")[0])
        assert 1 <= line <= max(1, len(pairs))
