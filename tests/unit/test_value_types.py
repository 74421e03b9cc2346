from __future__ import annotations

import socket
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import InitVar, dataclass
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import pydantic
import pytest

from agentctl.core.retry import RetryPolicy
from agentctl.errors import NotRecordable
from agentctl.values import codec

T = TypeVar("T")


@dataclass
class Client:
    name: str
    connections: list[socket.socket]


@dataclass
class Missing:
    other: NoSuchName  # noqa: F821


@dataclass
class WithInitVar:
    a: int
    b: InitVar[int] = 0


@dataclass
class Endless(Generic[T]):
    inner: Endless[list[T]] | None


@dataclass
class OwnNew:
    a: int

    def __new__(cls, a):
        return object.__new__(cls)


class Page(TypedDict, Generic[T]):
    items: list[T]


class Row(NamedTuple, Generic[T]):
    item: T


class Plain:
    pass


class Money(pydantic.BaseModel):
    amount: int
    tags: set[str] = set()
    parts: tuple[float, ...] = ()
    note: Any = None
    hidden: pydantic.SecretStr | None = None


class Names(pydantic.RootModel[list[str]]):
    pass


@dataclass
class Order:
    price: Money | None
    names: Names | None = None


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (socket.socket, "^socket can't be recorded$"),
        (list[socket.socket], r"socket can't be recorded \(list\[socket\]\)"),
        (Client, r"socket can't be recorded \(list\[socket\] of field connections of Client\)"),
        (Missing, "annotations of Missing can't be resolved.*NoSuchName"),
        ("Client", "a name that isn't resolved"),
        (list["Client"], "a name that isn't resolved"),
        (WithInitVar, "WithInitVar.b is an InitVar"),
        (OwnNew, "its own __new__"),
        (Endless[int], "nests without end"),
        (Plain, "Plain can't be recorded"),
        (Callable[[], int], "can't be recorded"),
        (type[int], "can't be recorded"),
        (complex, "complex can't be recorded"),
        (dict[float, int], "float can't be recorded.*a key must"),
        (dict[str | int, int], "a key must"),
        (dict[Client, int], "socket can't be recorded"),
        (dict[Row[int], int], "a key must"),
        (Literal["a", "\ud800"], "lone surrogate"),
        (typing.NoReturn, "can't be recorded"),
        (7, "can't be recorded"),
    ],
)
def test_an_annotation_that_cant_be_recorded_is_refused_by_name(annotation, said):
    with pytest.raises(TypeError, match=said):
        codec(annotation)


def test_a_union_of_two_classes_of_one_name_is_refused():
    def make():
        @dataclass
        class Twin:
            a: int

        return Twin

    with pytest.raises(TypeError, match=r"two of its members are called .*Twin"):
        codec(make() | make())


def test_classes_of_one_name_in_two_modules_are_told_apart():
    first = dataclass(type("Twin", (), {"__annotations__": {"a": int}, "__module__": "one"}))
    second = dataclass(type("Twin", (), {"__annotations__": {"a": int}, "__module__": "two"}))
    both = codec(first | second)
    assert both.encode(second(1)) == b'{"$type":"two.Twin","value":{"a":1}}'
    assert type(both.decode(both.encode(second(1)))) is second


def test_a_class_inside_a_function_may_name_itself():
    @dataclass
    class Tree:
        children: list[Tree]

    tree = Tree([Tree([]), Tree([Tree([])])])
    assert codec(Tree).decode(codec(Tree).encode(tree)) == tree


@pytest.mark.parametrize(
    ("annotation", "value", "wrong"),
    [
        (Sequence[int], [1], (1,)),
        (Mapping[str, int], {"a": 1}, {"a": "x"}),
        (AbstractSet[int], {1}, frozenset({1})),
        (Page[int], {"items": [1]}, {"items": ["x"]}),
        (Row[int], Row(1), Row("x")),
        (typing.List[int], [1], ["x"]),  # noqa: UP006
        (typing.Tuple, (1,), [1]),  # noqa: UP006
    ],
)
def test_abstract_and_generic_annotations_mean_the_plain_classes(annotation, value, wrong):
    assert codec(annotation).decode(codec(annotation).encode(value)) == value
    with pytest.raises(NotRecordable):
        codec(annotation).encode(wrong)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`type` statements came with 3.12")
def test_an_alias_may_contain_itself():
    space: dict[str, Any] = {}
    exec("type Json = None | bool | int | float | str | list[Json] | dict[str, Json]", space)
    value = {"a": [1, 2.0, {"b": [None]}]}
    assert codec(space["Json"]).decode(codec(space["Json"]).encode(value)) == value


def test_pydantic_models_come_back_equal():
    for value in [Money(amount=1), Money(amount=1, tags={"b", "a"}, parts=(0.5,), note=[1])]:
        found = codec(Money).decode(codec(Money).encode(value))
        assert found == value
        assert type(found) is Money
    order = Order(Money(amount=1), Names(["a"]))
    assert codec(Order).decode(codec(Order).encode(order)) == order


def test_sets_in_a_pydantic_model_are_written_in_order():
    assert b'"tags":["a","b","c"]' in codec(Money).encode(Money(amount=1, tags=set("cab")))


@pytest.mark.parametrize(
    "value",
    [
        Money(amount=1, note=(1, 2)),  # would come back as a list
        Money(amount=1, parts=(float("nan"),)),
        Money(amount=1, note=float("inf")),
        Money(amount=1, note="\ud800"),
        Money(amount=1, note=socket),
        Money(amount=1, hidden="hunter2"),  # pydantic would write stars
        Money.model_construct(amount="x"),
        type("Dearer", (Money,), {})(amount=1),
        {"amount": 1},
    ],
    ids=repr,
)
def test_a_pydantic_model_that_wouldnt_come_back_is_refused(value):
    with pytest.raises(NotRecordable, match="can't be recorded"):
        codec(Money).encode(value)


def test_a_record_that_pydantic_refuses_is_not_recordable():
    with pytest.raises(NotRecordable, match="expected Money"):
        codec(Money).decode(b'{"amount":"many"}')


def test_a_constructor_that_refuses_the_record_is_not_recordable():
    @dataclass
    class Positive:
        amount: int

        def __post_init__(self):
            if self.amount < 0:
                raise ValueError(self.amount)

    with pytest.raises(NotRecordable, match="Positive refused the recorded fields with ValueError"):
        codec(Positive).decode(b'{"amount":-1}')


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (
            '{"max_attempts": 0}',
            "RetryPolicy refused the recorded fields with .*: max_attempts is 0",
        ),
        ('{"backoff": {"delay": 1}}', "expected Fixed .* with its .type, got"),
        (
            '{"backoff": {"$type": "Exponential", "value": {"base": 2, "cap": 1}}}',
            "Exponential refused the recorded fields with .*: the cap of a backoff is 1",
        ),
    ],
)
def test_a_policy_that_came_in_as_data_is_refused_with_why(policy, told):
    with pytest.raises(NotRecordable, match=told):
        codec(RetryPolicy).decode(policy.encode())
