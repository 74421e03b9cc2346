"""`@call`, `@blocking`, `uses`: how a capability's methods are called."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentctl import Capability, blocking, call
from agentctl.errors import BadAgentClass, BadArguments, NotRecordable
from agentctl.sdk.capability import (
    DEFAULT_OPTIONS,
    CallOptions,
    MethodSpec,
    merged_options,
    method_names,
    options_of,
)


class Api(Capability):
    @call(timeout=timedelta(minutes=1), repeat=False, match="name", record="digest")
    async def all_options(self) -> None: ...
    @call(timeout=0.5)
    async def seconds(self) -> None: ...
    async def plain(self, number: int, *, note: str = "") -> list[int]: ...
    async def many(self, *numbers: int, **notes: str) -> None: ...
    @blocking
    def block(self) -> None: ...
    def _private(self) -> None: ...


def test_options_are_what_the_method_says():
    assert options_of(Api.all_options) == CallOptions(60_000_000, False, "name", "digest")
    assert options_of(Api.seconds) == CallOptions(500_000)
    assert options_of(Api.plain) == DEFAULT_OPTIONS


@pytest.mark.parametrize("timeout", [0, -1, timedelta(0), timedelta(seconds=-1)])
def test_a_timeout_that_leaves_no_time_is_refused(timeout):
    with pytest.raises(BadAgentClass, match="no time"):
        call(timeout=timeout)


@pytest.mark.parametrize("wrong", [{"match": "nothing"}, {"record": "hash"}])
def test_an_option_that_does_not_exist_is_refused(wrong):
    with pytest.raises(BadAgentClass, match="makes no sense"):
        call(**wrong)


def test_a_retry_that_is_no_policy_is_refused():
    with pytest.raises(BadAgentClass, match="makes no sense"):
        call(retry=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("interface", "implementation", "merged"),
    [
        (CallOptions(), CallOptions(), CallOptions()),
        (CallOptions(7, False), CallOptions(), CallOptions(7, False)),
        (CallOptions(), CallOptions(9), CallOptions(9)),
        (CallOptions(7), CallOptions(9), CallOptions(9)),
        (CallOptions(repeat=False), CallOptions(9), CallOptions(9, repeat=False)),
        (CallOptions(), CallOptions(repeat=False), CallOptions(repeat=False)),
        (CallOptions(match="name"), CallOptions(9), CallOptions(9, match="name")),
        (CallOptions(record="digest"), CallOptions(9), CallOptions(9, record="digest")),
    ],
)
def test_an_implementation_s_options_add_to_the_interface_s(interface, implementation, merged):
    assert merged_options(interface, implementation) == merged


def test_the_public_methods_in_the_order_of_their_definition():
    class More(Api):
        async def more(self) -> None: ...
        async def plain(self, number: int, *, note: str = "") -> list[int]: ...

    assert method_names(Api) == ["all_options", "seconds", "plain", "many", "block"]
    assert method_names(More) == [*method_names(Api), "more"]


def test_blocking_is_for_methods_that_are_not_async():
    with pytest.raises(BadAgentClass, match="needs no @blocking"):

        @blocking
        async def wrong() -> None: ...


def signature(name="plain"):
    return MethodSpec(Api, name).signature


def test_arguments_are_written_as_they_are_given_and_read_back():
    assert signature().encode((7,), {"note": "x"}) == (b"[7]", b'{"note":"x"}')
    assert signature().encode((), {"number": 7}) == (b"[]", b'{"number":7}')
    assert signature().encode((7,), {}) == (b"[7]", None)
    assert signature().decode(b"[7]", b'{"note":"x"}') == ([7], {"note": "x"})
    assert signature("many").encode((1, 2), {"a": "b"}) == (b"[1,2]", b'{"a":"b"}')
    assert signature("many").decode(b"[1,2]", b'{"a":"b"}') == ([1, 2], {"a": "b"})


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1, 2), {}), ((1,), {"x": 1}), ((1,), {"number": 1})]
)
def test_arguments_that_do_not_fit_are_refused_with_how_it_is_called(args, kwargs):
    with pytest.raises(BadArguments, match=r"^Api\.plain: ") as refused:
        signature().encode(args, kwargs)
    assert refused.value.hint == "call it as Api.plain(number: int, *, note: str = '') -> list[int]"


def test_an_argument_that_can_t_be_recorded_names_itself():
    with pytest.raises(NotRecordable, match=r"^Api\.plain, argument number: "):
        signature().encode(("7",), {})
    with pytest.raises(NotRecordable, match=r"^Api\.plain, argument note: "):
        signature().encode((7,), {"note": 7})
    with pytest.raises(NotRecordable, match=r"^Api\.many, argument numbers: "):
        signature("many").encode((1, "2"), {})


def test_recorded_arguments_that_no_longer_fit_are_refused():
    with pytest.raises(NotRecordable):
        signature().decode(b'["7"]', None)
