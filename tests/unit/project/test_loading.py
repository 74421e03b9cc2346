"""Loading a project's code: what is wrong with it is one error that says where."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from datetime import timedelta

import pytest

from agentctl.errors import NotFound, ProjectError
from agentctl.project.loading import load_agent, load_class

from .conftest import Folder

Edit = Callable[[str, str, str], None]


def refusal(shop: Folder) -> ProjectError:
    with pytest.raises(ProjectError) as caught:
        load_agent(shop.load(), "Bot")
    assert caught.value.exit_code == 7
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith(f"{shop.path}/kavach.toml:")
    return caught.value


def test_an_agent_is_loaded_with_what_it_is_bound_to(shop: Folder) -> None:
    loaded = load_agent(shop.load(), "Bot")
    assert loaded.cls.__module__ == "shop.bot"
    assert [type(each).__name__ for each in loaded.capabilities.values()] == ["Shop"]
    assert loaded.capabilities.keys() == {"payments"}
    assert loaded.deny == {}
    assert loaded.settings == loaded.cls.settings
    assert sys.path[0] == str(shop.path)


def test_settings_of_the_file_go_over_those_of_the_class_and_those_over_defaults(
    shop: Folder, edit: Edit
) -> None:
    edit("shop/bot.py", "import Agent,", "import Agent, AgentSettings,")
    edit(
        "shop/bot.py",
        "    payments: Payments\n",
        "    payments: Payments\n    settings = AgentSettings(max_starts=7, concurrency=2)\n",
    )
    edit("kavach.toml", "[agents.Bot.cap", "[agents.Bot.settings]\nmax_starts = 9\n[agents.Bot.cap")
    settings = load_agent(shop.load(), "Bot").settings
    assert (settings.max_starts, settings.concurrency) == (9, 2)
    assert settings.grace == timedelta(seconds=5)


def test_settings_of_a_class_that_are_none_are_refused(shop: Folder, edit: Edit) -> None:
    edit("shop/bot.py", "    payments: P", "    settings = {'audit': True}\n    payments: P")
    error = refusal(shop)
    assert "kavach.toml:5: agents.Bot.class: Bot.settings is a dict" in error.message
    assert "AgentSettings" in str(error.hint)


def test_denied_calls_are_loaded_with_their_reasons(shop: Folder) -> None:
    shop.write("kavach.toml", (shop.path / "kavach.toml").read_text() + DENY.format("refund"))
    assert load_agent(shop.load(), "Bot").deny == {"payments.refund": "audit"}


DENY = '[agents.Bot.deny]\n"payments.{}" = "audit"\n'


def test_an_agent_that_the_file_doesnt_name_is_not_found(shop: Folder) -> None:
    with pytest.raises(NotFound, match="has no agent 'Bott'"):
        load_agent(shop.load(), "Bott")


def test_reading_the_class_alone_makes_no_capability(shop: Folder, edit: Edit) -> None:
    edit("shop/world.py", "class Shop", "raise OSError('no network')\nclass Shop")
    assert load_class(shop.load(), "Bot").__name__ == "Bot"


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "says", "hint"),
    [
        ("kavach.toml", "shop.bot:", "shop.bott:", 5, "there is no module shop.bott", "shop.bot?"),
        ("kavach.toml", "shop.bot:", "store.bot:", 5, "there is no module store.bot", "shop.bot"),
        ("kavach.toml", "bot:Bot", "bot:Bto", 5, "module shop.bot has no class Bto", "mean Bot?"),
        ("kavach.toml", "bot:Bot", "bot:handler", 5, "shop.bot:handler is no class", "the class"),
        ("kavach.toml", "bot:Bot", "bot:Payments", 5, "isn't an agent", "Payments(Agent)"),
        ("kavach.toml", "bot:Bot", "bot:Agent", 5, "isn't an agent", "agentctl.Agent"),
        ("shop/bot.py", "class Bot(", "class Bot2(Agent): pass\nBot = Bot2\nclass B(", 5,
         "the class is named Bot2, its table Bot", "[agents.Bot2]"),
        ("kavach.toml", "payments =", "payment =", 8, "Bot has no capability payment",
         "mean payments?"),
        ("kavach.toml", 'payments = "shop.world:Shop"\n', "", 7,
         "the key is missing: Bot.payments needs a Payments", 'payments = "module:Class"'),
        ("kavach.toml", "world:Shop", "wrld:Shop", 8, "there is no module shop.wrld", "shop.world"),
        ("kavach.toml", "world:Shop", "world:Shp", 8, "has no class Shp", "mean Shop?"),
        ("shop/world.py", "Shop(Payments)", "Shop", 8, "world:Shop isn't a Payments",
         "class Shop(Payments)"),
        ("shop/world.py", "def refund", "def refunds", 8, "lacks methods of Payments: refund",
         "write them in Shop"),
        ("shop/world.py", "    async", "    def __init__(self, host, *, port): ...\n    async", 8,
         "can't be made without arguments: host, port", "defaults"),
    ],
)  # fmt: skip
def test_what_doesnt_fit_names_the_line_of_the_file_and_the_way_out(
    shop: Folder, edit: Edit, file: str, old: str, new: str, line: int, says: str, hint: str
) -> None:
    edit(file, old, new)
    error = refusal(shop)
    assert error.message.startswith(f"{shop.path}/kavach.toml:{line}: agents.Bot.")
    assert says in error.message
    assert hint in str(error.hint)


@pytest.mark.parametrize(
    ("file", "line", "new", "says", "raised"),
    [
        (
            "shop/bot.py",
            5,
            "1 / 0\nclass Payments",
            "ZeroDivisionError: division",
            ZeroDivisionError,
        ),
        ("shop/bot.py", 5, "import nope\nclass Payments", "No module named 'nope'", ImportError),
        ("shop/bot.py", 5, "from shop import nope\nclass Payments", "ImportError", ImportError),
        ("shop/bot.py", 5, "def x(:\nclass Payments", "SyntaxError", SyntaxError),
        ("shop/bot.py", 5, "raise SystemExit\nclass Payments", "SystemExit", SystemExit),
    ],
)
def test_an_error_in_the_users_code_is_told_in_one_line_with_the_users_frames_alone(
    shop: Folder,
    edit: Edit,
    file: str,
    line: int,
    new: str,
    says: str,
    raised: type[BaseException],
) -> None:
    edit(file, "\nclass Payments", new)
    error = refusal(shop)
    assert f"the module shop.bot can't be imported: {shop.path}/{file}:{line}: " in error.message
    assert says in error.message
    assert isinstance(error.__cause__, raised)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert [each for each in frames if not each.filename.startswith(str(shop.path))] == []


def test_a_constructor_that_fails_is_told_with_the_users_frames_alone(
    shop: Folder, edit: Edit
) -> None:
    constructor = (
        "    def __init__(self) -> None:\n        raise OSError('no network')\n\n    async"
    )
    edit("shop/world.py", "    async", constructor)
    error = refusal(shop)
    place = f"{shop.path}/shop/world.py:6: "
    assert f"shop.world:Shop can't be made: {place}OSError: no network" in error.message
    assert isinstance(error.__cause__, OSError)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert [each.lineno for each in frames] == [6]


def test_a_class_that_cant_be_an_agent_says_which_line_without_a_traceback(
    shop: Folder, edit: Edit
) -> None:
    edit("shop/bot.py", "    async def request", "    def request")
    edit("shop/bot.py", "return await", "return")
    error = refusal(shop)
    assert f"{shop.path}/shop/bot.py:" in error.message
    assert "Bot.request" in error.message
    assert error.__cause__ is None
    assert error.hint


def test_a_module_that_raises_is_tried_again_after_it_was_mended(shop: Folder, edit: Edit) -> None:
    edit("shop/bot.py", "class Payments", "1 / 0\nclass Payments")
    refusal(shop)
    edit("shop/bot.py", "1 / 0\nclass Payments", "class Payments")
    assert load_agent(shop.load(), "Bot").cls.__name__ == "Bot"
