"""An agent's class says what it is made of; a wrong mix names class and field at once."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from agentctl import (
    Agent,
    AgentSettings,
    Capability,
    Workflow,
    bind,
    handler,
    query,
    uses,
    workflow_step,
)
from agentctl.errors import BadAgentClass, NotInThisVersion, UsageError
from agentctl.sdk.agent import spec_of


class Api(Capability):
    async def get(self, what: str) -> str: ...
    async def put(self, what: str) -> str: ...


class Real(Api):
    async def get(self, what: str) -> str:
        return what

    async def put(self, what: str) -> str:
        return what


@dataclass
class Order:
    id: int
    lines: list[str]


class Everything(Agent):
    settings: ClassVar[AgentSettings] = AgentSettings(max_starts=7)
    limit: ClassVar[int] = 3
    api: Api
    narrow: Api = uses("get")
    region: str
    number: int
    count: int = 0
    order: Order | None = None
    _cache: dict[str, str] = {}

    @handler
    async def act(self, what: str) -> str:
        return what

    @handler(exclusive=False, fails_on=(LookupError,))
    async def beside(self) -> None: ...

    @query
    async def total(self) -> int:
        return self.count

    def helper(self) -> int:
        return self.limit


def test_a_class_is_read_as_its_fields_say():
    spec = spec_of(Everything)
    assert spec.name == "Everything"
    assert [one.name for one in spec.identity] == ["region", "number"]
    assert list(spec.capabilities) == ["api", "narrow"]
    assert spec.capabilities["narrow"].allowed == ("get",)
    assert {name: one.default for name, one in spec.state.items()} == {
        "count": b"0",
        "order": b"null",
    }
    assert list(spec.transient) == ["_cache"]
    assert {name: one.exclusive for name, one in spec.handlers.items()} == {
        "act": True,
        "beside": False,
    }
    assert list(spec.queries) == ["total"]


def test_an_agent_without_state_runs_its_events_side_by_side():
    class Plain(Agent):
        @handler
        async def act(self) -> None: ...

    assert spec_of(Plain).handlers["act"].exclusive is False


def test_an_agent_inherits_what_its_base_is_made_of():
    class Base(Agent):
        api: Api
        count: int = 0

        @handler
        async def act(self) -> None: ...

    class Derived(Base):
        name: str
        more: int = 1

        @handler
        async def other(self) -> None: ...

    spec = spec_of(Derived)
    assert list(spec.handlers) == ["act", "other"]
    assert list(spec.state) == ["count", "more"]
    assert [one.name for one in spec.identity] == ["name"]
    assert spec.handlers["act"].signature.title == "Derived.act"


def identity_without_a_text_form():
    class Wrong(Agent):
        ratio: float


def identity_of_a_list():
    class Wrong(Agent):
        names: list[str]


def state_that_cannot_be_recorded():
    class Wrong(Agent):
        lock: threading.Lock = threading.Lock()


def state_whose_default_does_not_fit():
    class Wrong(Agent):
        count: int = "0"  # type: ignore[assignment]


def state_of_any_object():
    class Wrong(Agent):
        thing: object = object()


def a_capability_with_a_default():
    class Wrong(Agent):
        api: Api = Real()


def uses_on_what_is_no_capability():
    class Wrong(Agent):
        count: int = uses("get")


def uses_of_an_unknown_method():
    class Wrong(Agent):
        api: Api = uses("delete")


def a_handler_that_is_not_async():
    class Wrong(Agent):
        @handler  # type: ignore[arg-type]
        def act(self) -> None: ...


def a_query_that_is_not_async():
    class Wrong(Agent):
        @query  # type: ignore[arg-type]
        def act(self) -> int: ...


def a_constructor():
    class Wrong(Agent):
        def __init__(self) -> None: ...


def a_field_called_ref():
    class Wrong(Agent):
        ref: int = 0  # type: ignore[assignment]


def a_field_called_root():
    class Wrong(Agent):
        root: str


def a_handler_called_schedules():
    class Wrong(Agent):
        @handler
        async def schedules(self) -> None: ...


def a_query_called_migrate():
    class Wrong(Agent):
        @query
        async def migrate(self) -> None: ...


def a_transient_default_that_cannot_be_copied():
    class Wrong(Agent):
        _lock: object = threading.Lock()


def an_annotation_that_names_nothing():
    class Wrong(Agent):
        count: Nowhere = 0  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("wrong", "field", "why"),
    [
        (identity_without_a_text_form, "Wrong.ratio", "no stable text form"),
        (identity_of_a_list, "Wrong.names", "no stable text form"),
        (state_that_cannot_be_recorded, "Wrong.lock", "can't be recorded"),
        (state_whose_default_does_not_fit, "Wrong.count", "can't be recorded"),
        (state_of_any_object, "Wrong.thing", "can't be recorded"),
        (a_capability_with_a_default, "Wrong.api", "a capability has no default"),
        (uses_on_what_is_no_capability, "Wrong.count", "narrows a capability"),
        (uses_of_an_unknown_method, "Wrong.api", "has no method 'delete'"),
        (a_handler_that_is_not_async, "Wrong.act", "no `async def`"),
        (a_query_that_is_not_async, "Wrong.act", "no `async def`"),
        (a_constructor, "Wrong.__init__", "its fields say"),
        (a_field_called_ref, "Wrong.ref", "Agent has it"),
        (a_field_called_root, "Wrong.root", "Agent has it"),
        (a_handler_called_schedules, "Wrong.schedules", "Agent has it"),
        (a_query_called_migrate, "Wrong.migrate", "Agent has it"),
        (a_transient_default_that_cannot_be_copied, "Wrong._lock", "can't be copied"),
        (an_annotation_that_names_nothing, "Wrong.count", "can't be resolved"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_wrong_mix_is_an_error_where_the_class_is_defined(wrong, field, why):
    with pytest.raises(BadAgentClass) as refused:
        wrong()
    assert field in refused.value.message
    assert why in refused.value.message


def test_a_class_error_is_a_type_error_too():
    assert issubclass(BadAgentClass, TypeError)


@pytest.mark.parametrize("name", ["NUL", "Bücher", "A" * 65, "_Bot"])
def test_p16_a_class_whose_name_makes_no_safe_folder_is_refused(name):
    with pytest.raises(BadAgentClass, match="can't be an agent's name"):
        type(name, (Agent,), {})


def test_a_capability_method_is_async_or_marked_blocking():
    class Mixed(Capability):
        def blocks(self) -> None: ...

    class Wrong(Agent):
        mixed: Mixed

    class RealMixed(Mixed):
        pass

    with pytest.raises(BadAgentClass, match=r"Mixed\.blocks is neither async nor @blocking"):
        bind(Wrong, mixed=RealMixed())


class Bot(Agent):
    api: Api
    other: Api

    @handler
    async def act(self) -> None: ...


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ({"api": Real()}, "nothing is bound to other"),
        ({}, "nothing is bound to api, other"),
        ({"api": Real(), "other": Real(), "more": Real()}, "it has no capability more"),
        (
            {"api": Real(), "oter": Real()},
            "nothing is bound to other, and it has no capability oter",
        ),
        (
            {"api": Real(), "other": object()},
            "Bot.other needs an implementation of Api, not <object",
        ),
        ({"api": Real(), "other": Real}, "Bot.other needs an implementation of Api, not Real"),
        ({"api": Real(), "other": None}, "Bot.other needs an implementation of Api, not None"),
    ],
)
def test_a_binding_that_does_not_fit_is_refused_with_what_is_wrong(bound, told):
    with pytest.raises(UsageError) as refused:
        bind(Bot, **bound)
    assert told in refused.value.message
    assert refused.value.hint


def test_a_class_in_an_object_s_place_is_answered_with_how_to_make_one():
    with pytest.raises(UsageError) as refused:
        bind(Bot, api=Real(), other=Real)  # type: ignore[arg-type]
    assert refused.value.hint == "give an object: Real(…)"


@pytest.mark.parametrize("call", ["api.delete", "nothing.get", "get", "", "api."])
def test_policy_can_deny_only_what_there_is(call):
    with pytest.raises(UsageError, match="to deny"):
        bind(Bot, api=Real(), other=Real(), deny={call: "no"})


def test_a_class_carries_its_settings_and_a_binding_overrides_them():
    class Careful(Agent):
        settings = AgentSettings(max_starts=7)

    assert bind(Careful).settings.max_starts == 7
    assert bind(Careful, settings=AgentSettings(max_starts=2)).settings.max_starts == 2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"max_starts": 0}, "at least 1"),
        ({"max_starts": -1}, "at least 1"),
        ({"concurrency": 0}, "at least 1"),
        ({"capacity": 0}, "at least 1"),
        ({"permits": {"low": 0}}, "permits of low is 0, and must be at least 1"),
        ({"permits": {"urgent": 1}}, "permits has no lane 'urgent'"),
        ({"keep": -1}, "at least 0"),
        ({"grace": timedelta(-1)}, "negative"),
        ({"retention": timedelta(-1)}, "negative"),
        ({"keep_failed": timedelta(-1)}, "negative"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, says):
    with pytest.raises(UsageError, match=says):
        AgentSettings(**wrong)


def test_what_is_no_agent_is_refused():
    class NoAgent:
        pass

    with pytest.raises(BadAgentClass, match="NoAgent is no agent"):
        bind(NoAgent)  # type: ignore[type-var]
    with pytest.raises(BadAgentClass, match="Agent is no agent"):
        bind(Agent)


def test_a_workflow_has_steps_and_its_own_run_and_result():
    with pytest.raises(BadAgentClass, match="Onboard has no steps"):
        type("Onboard", (Workflow,), {})
    step = workflow_step(_nothing)
    for name in ("run", "result"):
        with pytest.raises(BadAgentClass, match="has its own run or result"):
            type("Onboard", (Workflow,), {"only": step, name: _nothing})
        with pytest.raises(BadAgentClass, match=f"Onboard.{name}: a field can't have this name"):
            type("Onboard", (Workflow,), {"only": step, "__annotations__": {name: str}})


async def _nothing(_self: Any) -> None: ...


class Migrating:
    @classmethod
    def migrate(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        return state


@pytest.mark.parametrize(
    ("bases", "members", "told"),
    [
        ((Agent,), {"migrate": classmethod(lambda _cls, state, _version: state)}, "Bot.migrate"),
        ((Migrating, Agent), {}, "Bot.migrate"),
        ((Agent,), {"dump_state": lambda _self: {}}, "Bot.dump_state"),
        ((Agent,), {"load_state": lambda _self, _state: None}, "Bot.load_state"),
        ((Agent,), {"state_version": 2}, "Bot.state_version = 2"),
    ],
)
def test_a_class_that_counts_on_migrations_is_refused_not_run_without_them(bases, members, told):
    with pytest.raises(NotInThisVersion) as refused:
        type("Bot", bases, members)
    assert refused.value.message.startswith(f"{told} isn't in this version")


def test_state_version_1_is_what_every_class_has():
    class First(Agent):
        state_version: ClassVar[int] = 1
        count: int = 0

    assert list(spec_of(First).state) == ["count"]


def test_arguments_are_shown_as_they_were_written():
    class Shown(Agent):
        @handler
        async def act(self, order: Order, note: str = "x", *rest: Any) -> list[int]: ...

    shown = spec_of(Shown).handlers["act"].signature.shown
    assert shown == "Shown.act(order: Order, note: str = 'x', *rest: Any) -> list[int]"
