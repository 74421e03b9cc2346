from __future__ import annotations

import dataclasses
import sys

import pytest

from agentctl import errors
from agentctl.values import RecordedError, Secret, decode_error, encode_error


class Declined(Exception):
    pass


class Three(Exception):
    def __init__(self, first, second, third):
        super().__init__(first, second, third)
        self.third = third


class ThreeButKeepsOne(Exception):
    def __init__(self, first, second, third):
        super().__init__(f"{first} {second} {third}")


class WrapsItsText(Exception):
    def __init__(self, status):
        super().__init__(f"the service said {status}")
        self.status = status


class Moody(Exception):
    def __init__(self, *args):
        super().__init__(*args)
        if args == ("boom",):
            raise RuntimeError("not today")


def moody():
    error = Moody("boo")
    error.args = ("boom",)
    return error


class Other(Exception):
    def __new__(cls, *args):
        return Exception.__new__(Declined if args == ("x",) else cls, *args)


class NoText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class StrangeArgs(Exception):
    @property
    def args(self):
        raise RuntimeError("no args")


@dataclasses.dataclass(slots=True)
class Login:
    password: Secret[str]


def name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def there_and_back(error):
    return decode_error(encode_error(error))


def test_an_error_is_recorded_as_type_arguments_and_text():
    recorded = encode_error(Declined("no", 7))
    assert recorded == RecordedError(name(Declined), b'["no",7]', "('no', 7)")


@pytest.mark.parametrize(
    "error",
    [
        Declined("no", 7),
        Declined(),
        Three(1, [2], {"a": None}),
        ValueError("x"),
        KeyError("total"),
        TimeoutError(),
        TimeoutError("too late"),
        FileNotFoundError(2, "No such file or directory", "/x"),
        OSError(18, "Invalid cross-device link", "/a", None, "/b"),
        errors.UnknownOutcome("payments.refund may have happened"),
        errors.Denied("by uses()"),
        errors.WouldDeadlock("a waits for b"),
        errors.StepFailed("out of attempts"),
        errors.Cancelled("by ana"),
        errors.NonRetryable("never"),
        errors.AgentError("plain"),
    ],
)
def test_an_error_comes_back_as_its_type_with_the_same_message(error):
    found = there_and_back(error)
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.args == error.args


def test_a_rebuilt_error_went_through_its_constructor():
    assert there_and_back(Three(1, 2, 3)).third == 3


def test_errors_of_agentctl_keep_what_they_say_beside_the_message():
    found = there_and_back(errors.CallFailed("shop.Gone", "no"))
    assert (found.type_name, found.text, str(found)) == ("shop.Gone", "no", "shop.Gone: no")
    found = there_and_back(errors.NotRecordable("a.b: socket can't be recorded", path="a.b"))
    assert type(found) is errors.NotRecordable
    assert (found.path, str(found)) == ("a.b", "a.b: socket can't be recorded")


@pytest.mark.parametrize(
    "error",
    [
        ThreeButKeepsOne(1, 2, 3),  # can't be built from one argument
        WrapsItsText(500),  # could be built, with another text and a wrong status
        moody(),  # refuses its own arguments
        Declined((1, 2)),  # would come back with a list
        Declined(object),
        Declined(float("nan")),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        ExceptionGroup("many", [ValueError()]),
    ],
)
def test_an_error_that_cant_be_rebuilt_comes_back_as_call_failed(error):
    found = there_and_back(error)
    assert type(found) is errors.CallFailed
    assert found.type_name == name(type(error))
    assert found.text == str(error)


def test_a_constructor_that_gives_another_type_is_not_believed():
    found = decode_error(RecordedError(name(Other), b'["x"]', "x"))
    assert type(found) is errors.CallFailed


def test_an_error_of_a_class_inside_a_function_comes_back_as_call_failed():
    class Local(Exception):
        pass

    found = there_and_back(Local("x"))
    assert type(found) is errors.CallFailed
    assert found.text == "x"


def test_reading_an_error_imports_nothing(monkeypatch):
    before = set(sys.modules)
    monkeypatch.setattr("builtins.__import__", None)
    for module in ("ftplib.Error", "this.Zen", "pickle.PickleError.x", "no.such.module.Error"):
        found = decode_error(RecordedError(module, b"[]", ""))
        assert type(found) is errors.CallFailed
    assert set(sys.modules) == before


def test_reading_an_error_wakes_no_lazy_module(monkeypatch):
    import types

    class Lazy(types.ModuleType):
        def __getattribute__(self, attribute):
            raise AssertionError(f"{attribute} was asked for")

    woken = types.ModuleType("lazy_getattr")
    woken.__getattr__ = lambda attribute: pytest.fail("__getattr__ ran")
    monkeypatch.setitem(sys.modules, "lazy_getattr", woken)
    monkeypatch.setitem(sys.modules, "lazy_class", Lazy("lazy_class"))
    for module in ("lazy_getattr", "lazy_class"):
        assert type(decode_error(RecordedError(f"{module}.Error", b"[]", ""))) is errors.CallFailed


@pytest.mark.parametrize(
    "type_name",
    [
        "builtins.SystemExit",
        "builtins.KeyboardInterrupt",
        "builtins.eval",
        "builtins.int",
        "os.system",
        "os.error",  # another name of OSError
        "subprocess.Popen",
        "",
        ".",
        "..",
        "ValueError",
        "builtins.",
        "builtins.ValueError.__class__",
        "\x00",
    ],
)
def test_only_a_loaded_exception_under_its_own_name_is_built(type_name):
    found = decode_error(RecordedError(type_name, b'["echo"]', "echo"))
    assert type(found) is errors.CallFailed
    assert (found.type_name, found.text) == (type_name, "echo")


@pytest.mark.parametrize("args", [None, b"", b"{}", b"[", b"\xff", b"[" * 10_000, b'["y"]', b"7"])
def test_arguments_that_dont_fit_give_call_failed(args):
    found = decode_error(RecordedError("builtins.ValueError", args, "x"))
    assert type(found) is errors.CallFailed


@pytest.mark.parametrize(
    "holder",
    [
        lambda s: s,
        lambda s: [s],
        lambda s: {"a": (1, {"b": s})},
        lambda s: {s},
        Login,
        ValueError,
    ],
)
def test_a_secret_among_the_arguments_keeps_them_all_out_of_the_record(holder):
    class Leaky(Exception):
        def __str__(self):
            return "the password was hunter2"

    recorded = encode_error(Leaky("user", holder(Secret("hunter2"))))
    assert recorded.args is None
    assert recorded.text == "***"
    assert "hunter2" not in str(decode_error(recorded))


def test_recording_an_error_never_fails():
    knot: list = []
    knot.append(knot)
    assert encode_error(NoText("x")).text == "(its text can't be read)"
    assert encode_error(StrangeArgs("x")).args is None
    assert encode_error(Declined(knot)).args is None
    assert encode_error(Declined("\ud800")) == RecordedError(name(Declined), None, "\\ud800")
    assert encode_error(KeyboardInterrupt()).type == "builtins.KeyboardInterrupt"
