"""`with`: a capability's constructor gets its arguments, and nobody sees what is secret."""

from __future__ import annotations

import traceback
from datetime import date, timedelta
from pathlib import Path

import pytest

from agentctl.core.retry import Exponential, Fixed, RetryPolicy
from agentctl.errors import AgentctlError, ProjectError
from agentctl.project.config import Flags, load_project
from agentctl.project.explain import explain
from agentctl.project.loading import LoadedAgent, load_agent
from agentctl.sdk.capability import CapabilityOptions
from agentctl.secrets import Secret

from .conftest import Folder

WORLD = """\
from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from agentctl import Secret
from shop.bot import Payments

if TYPE_CHECKING:
    from nowhere import Thing


class Shop(Payments):
    def __init__(
        self,
        host: str = "here",
        port: int = 25,
        *,
        key: Secret[str] | None = None,
        ratio: float = 1.0,
        since: date | None = None,
        tags: list[str] = (),
        thing: Thing = None,
        anything=None,
    ) -> None:
        self.got = {name: value for name, value in locals().items() if name != "self"}

    async def refund(self, order_id: int) -> str:
        return f"r{order_id}"
"""

SECRET = "hunter2-of-the-shop"


@pytest.fixture
def world(shop: Folder) -> Folder:
    shop.write("shop/world.py", WORLD)
    return shop


def load(shop: Folder, binding: str, environ: dict[str, str] | None = None) -> LoadedAgent:
    toml = f'[agents.Bot]\nclass = "shop.bot:Bot"\n\n[agents.Bot.capabilities]\n{binding}\n'
    shop.write("kavach.toml", toml)
    return load_agent(load_project(shop.path, environ=environ), "Bot")


def given(shop: Folder, arguments: str, environ: dict[str, str] | None = None) -> object:
    """What the constructor got for the one argument that is named."""
    binding = f'payments = {{ use = "shop.world:Shop", with = {{ {arguments} }} }}'
    name = arguments.partition(" ")[0]
    return load(shop, binding, environ).capabilities["payments"].got[name]  # type: ignore[attr-defined]


def refusal(shop: Folder, arguments: str, environ: dict[str, str] | None = None) -> ProjectError:
    with pytest.raises(ProjectError) as caught:
        given(shop, arguments, environ)
    assert caught.value.message.startswith(f"{shop.path}/kavach.toml:5: ")
    return caught.value


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('host = "mail"', "mail"),
        ("port = 26", 26),
        ("ratio = 2", 2.0),
        ("ratio = inf", float("inf")),
        ("since = 2026-03-15", date(2026, 3, 15)),
        ('since = "2026-03-15"', date(2026, 3, 15)),
        ('tags = ["a", "b"]', ["a", "b"]),
        (f'key = "{SECRET}"', Secret(SECRET)),
        ("thing = { a = 1 }", {"a": 1}),
        ("anything = [1, { b = 2 }]", [1, {"b": 2}]),
    ],
)
def test_values_of_the_file_reach_the_constructor_as_it_says(
    world: Folder, arguments: str, value: object
) -> None:
    got = given(world, arguments)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("host", "7", "7"),
        ("host", "", ""),
        ("port", "26", 26),
        ("ratio", "0.5", 0.5),
        ("since", "2026-03-15", date(2026, 3, 15)),
        ("tags", '["a"]', ["a"]),
        ("key", "007", Secret("007")),
        ("anything", "7", "7"),
        ("thing", "true", "true"),
    ],
)
def test_what_the_environment_holds_is_read_by_the_annotation(
    world: Folder, name: str, text: str, value: object
) -> None:
    got = given(world, f'{name} = {{ env = "IT" }}', {"IT": text})
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"word\n", "word"),
        (b"word\n\n", "word\n"),
        (b"word\r\n", "word"),
        (b"word", "word"),
        (b" word \r", " word \r"),
        (b"", ""),
    ],
)
def test_a_file_is_read_from_the_projects_folder_without_its_last_line_end(
    world: Folder, data: bytes, value: str
) -> None:
    (world.path / "secrets").mkdir()
    (world.path / "secrets" / "word").write_bytes(data)
    assert given(world, 'host = { file = "secrets/word" }') == value
    assert given(world, f'host = {{ file = "{world.path}/secrets/word" }}') == value


def test_a_missing_variable_is_one_error_with_line_and_key(world: Folder) -> None:
    error = refusal(world, 'host = { env = "SMTP_HOST" }')
    assert "capabilities.payments.with.host: the environment variable SMTP_HOST" in error.message
    assert "SMTP_HOST" in str(error.hint)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        (b"\xff", "isn't UTF-8"),
        (b"x" * (1024 * 1024 + 1), "longer than 1 MiB"),
    ],
)
def test_a_file_that_cant_be_read_is_one_error_with_line_and_key(
    world: Folder, content: bytes | None, why: str
) -> None:
    if content is not None:
        (world.path / "word").write_bytes(content)
    error = refusal(world, 'key = { file = "word" }')
    assert "payments.with.key: the file word can't be read" in error.message
    assert why in error.message


def test_values_are_looked_for_only_when_the_agent_is_loaded(world: Folder) -> None:
    project = world.load(
        '[agents.Bot]\nclass = "shop.bot:Bot"\n'
        'capabilities.payments = { use = "shop.world:Shop", with.host.env = "NOT_SET" }\n'
    )
    with pytest.raises(ProjectError, match="NOT_SET"):
        load_agent(project, "Bot")


def test_an_unknown_argument_is_refused_with_the_nearest(world: Folder) -> None:
    error = refusal(world, 'hots = "mail"')
    assert "payments.with.hots: shop.world:Shop takes no argument hots" in error.message
    assert "did you mean host?" in str(error.hint)


def test_a_missing_argument_is_named_with_the_way_to_give_it(world: Folder) -> None:
    world.write("shop/world.py", WORLD.replace('host: str = "here"', "host: str"))
    error = refusal(world, "port = 1")
    assert "payments.with: shop.world:Shop can't be made without arguments: host" in error.message
    assert "with = { host = … }" in str(error.hint)


def test_a_constructor_that_takes_any_name_gets_any(world: Folder) -> None:
    world.write("shop/world.py", WORLD.replace("anything=None", "**rest"))
    binding = 'payments = { use = "shop.world:Shop", with = { more = 3 } }'
    got = load(world, binding).capabilities["payments"].got  # type: ignore[attr-defined]
    assert got["rest"] == {"more": 3}


def test_a_dataclass_takes_its_fields(world: Folder) -> None:
    world.write(
        "shop/world.py",
        """\
        from __future__ import annotations
        from dataclasses import dataclass
        from agentctl import Secret
        from shop.bot import Payments

        @dataclass
        class Shop(Payments):
            host: str
            key: Secret[str]

            async def refund(self, order_id: int) -> str:
                return f"r{order_id}"
        """,
    )
    binding = 'payments = { use = "shop.world:Shop", with = { host = "h", key.env = "KEY" } }'
    made = load(world, binding, {"KEY": SECRET}).capabilities["payments"]
    assert (made.host, made.key) == ("h", Secret(SECRET))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ('port = "many"', 'with.port: expected int, not the text "many"'),
        ("host = 7", "with.host: expected str, not the number 7"),
        ("port = true", "with.port: expected int, not true"),
        ("key = 7", "with.key: expected Secret[str] | None, not what is there"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(world: Folder, arguments: str, says: str) -> None:
    assert says in refusal(world, arguments).message


def shown(error: AgentctlError) -> str:
    return f"{error.message} {error.hint} {''.join(traceback.format_exception(error))}"


def test_a_value_that_does_not_fit_is_not_shown_if_it_was_read(world: Folder) -> None:
    error = refusal(world, 'port = { env = "PORT" }', {"PORT": SECRET})
    assert "payments.with.port: expected int, not what is there" in error.message
    assert SECRET not in shown(error)


@pytest.mark.parametrize(
    "trouble",
    [
        "raise ValueError(f'bad host {host}')",
        "int(host)",
        "raise SystemExit(host)",
        "raise ValueError('bad') from KeyError(host)",
        "raise __import__('agentctl').AgentctlError(host)",
        "raise ExceptionGroup('bad', [ValueError(host)])",
    ],
)
def test_trouble_in_the_constructor_does_not_show_what_was_read(
    world: Folder, trouble: str
) -> None:
    world.write("shop/world.py", WORLD.replace("self.got =", f"{trouble}; self.got ="))
    error = refusal(world, 'host = { env = "HOST" }', {"HOST": SECRET})
    assert "shop.world:Shop can't be made" in error.message
    assert "may not be shown" in error.message
    assert SECRET not in shown(error)


def test_other_trouble_in_the_constructor_is_told_with_its_cause(world: Folder) -> None:
    world.write("shop/world.py", WORLD.replace("self.got =", "raise ValueError('no'); self.got ="))
    error = refusal(world, 'host = { env = "HOST" }', {"HOST": SECRET})
    assert "ValueError: no" in error.message
    assert isinstance(error.__cause__, ValueError)


def test_timeout_and_limit_are_loaded(world: Folder) -> None:
    binding = 'payments = { use = "shop.world:Shop", timeout = "30s", limit = 4 }'
    options = load(world, binding).options
    assert options == {"payments": CapabilityOptions(timeout=timedelta(seconds=30), limit=4)}
    assert load(world, 'payments = "shop.world:Shop"').options == {}


@pytest.mark.parametrize(
    ("retry", "policy"),
    [
        ("max_attempts = 3", RetryPolicy(3)),
        ('max_attempts = 3, delay = "1.5s"', RetryPolicy(3, Fixed(1.5))),
        (
            'max_attempts = 5, base = "1s", cap = "1m", factor = 3, jitter = 0.1',
            RetryPolicy(5, Exponential(1, 60, 3), 0.1),
        ),
    ],
)
def test_retries_are_loaded(world: Folder, retry: str, policy: RetryPolicy) -> None:
    binding = f'payments = {{ use = "shop.world:Shop", retry = {{ {retry} }} }}'
    assert load(world, binding).options == {"payments": CapabilityOptions(retry=policy)}


def test_config_show_says_where_a_value_comes_from_and_never_what_it_is(world: Folder) -> None:
    world.write("word", SECRET)
    world.write(
        "kavach.toml",
        """\
        [agents.Bot]
        class = "shop.bot:Bot"

        [agents.Bot.capabilities.payments]
        use = "shop.world:Shop"
        with = { host = { env = "HOST" }, key = { file = "word" }, port = 26, tags = ["a"] }
        timeout = "1m30s"
        limit = 4
        retry = { max_attempts = 5, delay = "1s" }
        """,
    )
    project = load_project(world.path, environ={"HOST": SECRET}, flags=Flags(root=Path("x")))
    at = "agents.Bot.capabilities.payments"
    rows = {key: (value, source) for key, value, source in explain(project) if key.startswith(at)}
    assert rows == {
        at: ("shop.world:Shop", "kavach.toml:5"),
        f"{at}.with.host": ("env HOST", "kavach.toml:6"),
        f"{at}.with.key": ("file word", "kavach.toml:6"),
        f"{at}.with.port": (26, "kavach.toml:6"),
        f"{at}.with.tags": ('["a"]', "kavach.toml:6"),
        f"{at}.timeout": ("1m30s", "kavach.toml:7"),
        f"{at}.limit": (4, "kavach.toml:8"),
        f"{at}.retry.max_attempts": (5, "kavach.toml:9"),
        f"{at}.retry.delay": ("1s", "kavach.toml:9"),
    }
    assert SECRET not in repr(project)
