"""`kavach.toml`: one error with file, line, key and the way on; and where values come from."""

from __future__ import annotations

import re

import pytest

from .support import Project


def test_config_show_says_where_each_value_came_from(shop: Project) -> None:
    shop.edit("kavach.toml", "audit = true", 'audit = true\ngrace = "10s"')
    told = shop.agentctl("config", "show").expect(0)
    line = {
        name: next(line for line in told.out.splitlines() if f"agents.Bot.settings.{name}" in line)
        for name in ("audit", "grace", "max_starts")
    }
    assert "kavach.toml" in line["audit"]
    assert "kavach.toml" in line["grace"]
    assert "10" in line["grace"]
    assert "default" in line["max_starts"]
    assert "3" in line["max_starts"]


def test_config_show_as_json(shop: Project) -> None:
    document = shop.agentctl("config", "show", "--json").expect(0).json
    assert document["schema"] == "agentctl.config/1"


def test_a_local_file_goes_over_the_project_s_and_a_flag_over_both(shop: Project) -> None:
    shop.write("kavach.local.toml", "[agents.Bot.settings]\njournal = false\n")
    shop.agentctl("invoke", "Bot", "nothing").expect(0)
    assert not shop.journal_path().exists()
    setting = "agents.Bot.settings.journal=true"
    shop.agentctl("invoke", "Bot", "nothing", "--set", setting).expect(0)
    assert shop.journal_path().exists()


def test_config_show_names_the_local_file_the_flag_and_the_variable(shop: Project) -> None:
    shop.write("kavach.local.toml", "[agents.Bot.settings]\ngrace = '9s'\nmax_starts = 9\n")
    words = ("--set", "agents.Bot.settings.grace=10s", "config", "show")
    variable = {"AGENTCTL_SET": "agents.Bot.settings.keep=5\nagents.Bot.settings.grace=1s\n"}
    told = shop.agentctl(*words, env=variable).expect(0)
    lines = dict(line.split("\t", 1) for line in told.out.splitlines())
    assert lines["agents.Bot.settings.grace"] == "10s\t--set"
    assert lines["agents.Bot.settings.max_starts"] == "9\tkavach.local.toml:3"
    assert lines["agents.Bot.settings.keep"] == "5\tAGENTCTL_SET"
    assert "kavach.toml:" in lines["agents.Bot.class"]


def test_an_error_in_the_local_file_names_it(shop: Project) -> None:
    shop.write("kavach.local.toml", "[agents.Bot.settings]\ngrac = '9s'\n")
    refused = shop.agentctl("run", "--until-idle")
    refused.expect_error(7, "kavach.local.toml:2", "grac", "did you mean grace?")


@pytest.mark.parametrize(
    ("setting", "word"),
    [("agents.Bot.settings.grac=1s", "grace"), ("agents.Bot", "KEY=VALUE"), ("=1", "KEY=VALUE")],
)
def test_a_setting_that_makes_no_sense_is_refused(shop: Project, setting: str, word: str) -> None:
    shop.agentctl("run", "--until-idle", "--set", setting).expect_error(2, "--set", word)


def test_the_project_is_found_from_a_folder_below(shop: Project) -> None:
    told = shop.agentctl("invoke", "Bot", "request", "7", cwd=shop.root / "shop").expect(0)
    assert told.out == '"r7"\n'
    assert shop.journal_path().exists()
    assert not (shop.root / "shop" / "agents").exists()


@pytest.mark.parametrize("how", ["-C", "--project", "AGENTCTL_PROJECT"])
def test_the_project_can_be_named(shop: Project, how: str) -> None:
    root = str(shop.root)
    named = {"env": {how: root}} if how.startswith("AGENTCTL") else {}
    flags = () if named else (how, root)
    told = shop.agentctl(*flags, "invoke", "Bot", "nothing", cwd=shop.root.parent, **named)
    assert told.expect(0).out == "null\n"
    assert shop.journal_path().exists()


@pytest.mark.parametrize("how", ["--root", "AGENTCTL_ROOT"])
def test_the_agents_folder_can_lie_elsewhere(shop: Project, how: str) -> None:
    elsewhere = shop.root.parent / "elsewhere"
    named = {"env": {how: str(elsewhere)}} if how.startswith("AGENTCTL") else {}
    flags = () if named else (how, str(elsewhere))
    shop.agentctl("invoke", "Bot", "nothing", *flags, **named).expect(0)
    assert (elsewhere / "agents" / "Bot" / "journal").exists()
    assert not (shop.root / "agents").exists()


def test_outside_of_a_project_the_command_says_so(project: Project) -> None:
    refused = project.agentctl("invoke", "Bot", "request", "7")
    refused.expect_error(3, "kavach.toml", "agentctl new")


BOT = '[agents.Bot]\nclass = "shop.bot:Bot"\n'
BROKEN = {
    "syntax": ('[agents.Bot\nclass = "shop.bot:Bot"\n', 1, []),
    "unknown-key": ('[agents.Bot]\nclas = "shop.bot:Bot"\n', 2, ["clas", "class"]),
    "unknown-setting": (
        BOT + "[agents.Bot.settings]\nmax_start = 3\n",
        4,
        ["max_start", "max_starts"],
    ),
    "unknown-table": ('[agent.Bot]\nclass = "shop.bot:Bot"\n', 1, ["agent", "agents"]),
    "wrong-type": (BOT + '[agents.Bot.settings]\nmax_starts = "three"\n', 4, ["max_starts"]),
    "bare-duration": (BOT + "[agents.Bot.settings]\ngrace = 5\n", 4, ["grace"]),
    "no-class": ("[agents.Bot.settings]\naudit = true\n", None, ["Bot", "class"]),
    "no-module": ('[agents.Bot]\nclass = "nowhere:Bot"\n', 2, ["nowhere"]),
    "no-such-class": ('[agents.Bot]\nclass = "shop.bot:Bott"\n', 2, ["Bott", "shop.bot"]),
    "no-agent": ('[agents.Bot]\nclass = "shop.bot:Receipt"\n', 2, ["Receipt"]),
    "no-colon": ('[agents.Bot]\nclass = "shop.bot.Bot"\n', 2, ["class", "shop.bot:Bot"]),
    "unbound": (
        BOT + '[agents.Bot.capabilities]\npayments = "shop.world:Shop"\n',
        None,
        ["email", "Bot"],
    ),
    "unknown-capability": (
        BOT + '[agents.Bot.capabilities]\npayment = "shop.world:Shop"\nemail = "shop.world:Mail"\n',
        None,
        ["payment", "payments"],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_bad_kavach_toml_is_one_error_with_file_line_and_key(shop: Project, name: str) -> None:
    text, line, words = BROKEN[name]
    shop.write("kavach.toml", text)
    refused = shop.agentctl("run", "--until-idle").expect_error(7, "kavach.toml")
    for word in words:
        assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", refused.err), refused.err
    if line is not None:
        assert re.search(rf"(kavach\.toml:|line ){line}\b", refused.err), refused.err
    assert refused.out == ""
    assert not shop.journal_path().exists()


def test_invoke_refuses_a_bad_kavach_toml_too(shop: Project) -> None:
    shop.edit("kavach.toml", "class =", "clas =")
    shop.agentctl("invoke", "Bot", "request", "7").expect_error(7, "kavach.toml", "clas")
    assert not shop.journal_path().exists()


CODE = {
    "handler-not-async": ("    async def echo(", "    def echo(", ["Bot", "echo", "async"]),
    "reserved-name": ("    async def echo(", "    async def ref(", ["Bot", "ref"]),
    "state-cannot-be-recorded": (
        "    payments: Payments\n",
        "    payments: Payments\n    thing: object = object()\n",
        ["Bot", "thing"],
    ),
}


@pytest.mark.parametrize("name", CODE)
def test_a_class_that_is_no_agent_is_refused_naming_class_and_field(
    shop: Project, name: str
) -> None:
    old, new, words = CODE[name]
    shop.edit("shop/bot.py", old, new)
    refused = shop.agentctl("run", "--until-idle").expect(7)
    for word in words:
        assert word in refused.err, refused.err
    assert not shop.journal_path().exists()


@pytest.mark.parametrize("edit", ["raise RuntimeError('my own trouble')", "def broken(:"])
def test_code_that_cannot_be_imported_shows_the_users_trouble_only(
    shop: Project, edit: str
) -> None:
    shop.write("shop/bot.py", edit + "\n")
    refused = shop.agentctl("run", "--until-idle").expect(7)
    assert "bot.py" in refused.err
    assert "my own trouble" in refused.err or "SyntaxError" in refused.err
    assert "error: " in refused.err


def test_broken_code_does_not_keep_anybody_from_reading(finished_shop: Project) -> None:
    finished_shop.write("shop/bot.py", "def broken(:\n")
    told = finished_shop.agentctl("inspect", "journal", "Bot").expect(0)
    assert "Bot#1" in told.out


@pytest.mark.parametrize("content", [b"\0\xff\xfe", b"\xef\xbb\xbf[", b"[[[[", b"a = 1e999\n" * 9])
def test_a_kavach_toml_of_any_bytes_never_gives_a_traceback(shop: Project, content: bytes) -> None:
    (shop.root / "kavach.toml").write_bytes(content)
    for command in (("run", "--until-idle"), ("inspect", "journal"), ("config", "show")):
        shop.agentctl(*command).expect_error(7, "kavach.toml")


def test_version(project: Project) -> None:
    told = project.agentctl("--version").expect(0)
    assert re.fullmatch(r"(agentctl )?\d+\.\d+\S*\n", told.out), told.out


@pytest.mark.parametrize("words", [("help",), ("--help",), ("-h",)])
def test_help_lists_the_commands(project: Project, words: tuple[str, ...]) -> None:
    told = project.agentctl(*words).expect(0)
    for command in ("new", "run", "invoke", "inspect", "requeue"):
        assert re.search(rf"\b{command}\b", told.out), f"help does not list {command}"


@pytest.mark.parametrize(
    "words", [("new",), ("run",), ("invoke",), ("inspect", "journal"), ("requeue", "set-aside")]
)
def test_help_of_a_command_begins_with_examples(project: Project, words: tuple[str, ...]) -> None:
    told = project.agentctl(*words, "-h").expect(0)
    example = re.search(rf"^ *(?:\$ )?agentctl {' '.join(words)}\b", told.out, re.MULTILINE)
    assert example, "no example"
    for heading in ("usage", "options"):
        found = told.out.lower().find(heading + ":")
        assert found < 0 or example.start() < found, f"{heading} comes before the examples"


def test_help_again_has_the_ways_to_run_something_again(project: Project) -> None:
    told = project.agentctl("help", "again").expect(0)
    for word in ("requeue", "--fresh"):
        assert word in told.out


def test_help_with_an_unknown_topic_suggests(project: Project) -> None:
    refused = project.agentctl("help", "agian")
    assert refused.code in {2, 3}
    refused.expect_error(refused.code, "again")


def test_an_error_in_json_is_one_document(project: Project) -> None:
    refused = project.agentctl("--json", "invoke", "Bot", "request", "7").expect(3)
    assert refused.out == ""
    error = refused.error_json
    assert set(error) == {"schema", "code", "error", "detail", "hint"}
    assert error["code"] == 3
    assert refused.err.count("\n") == 1
