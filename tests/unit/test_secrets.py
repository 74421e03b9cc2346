from __future__ import annotations

import copy
import pickle
import traceback

import pytest

from agentctl.values import PLAIN, Secret, codec, mask


def everything_shown(error):
    lines = traceback.TracebackException.from_exception(error, capture_locals=True).format()
    return "".join(line for line in lines if __file__ not in line)


@pytest.mark.parametrize(
    "show", [repr, str, "{}".format, "{:>20}".format, "%s".__mod__, lambda s: f"{s!r}"]
)
def test_a_secret_shows_as_three_stars(show):
    assert show(Secret("hunter2")) == "***"


def test_a_secret_inside_other_things_shows_as_three_stars():
    assert "hunter2" not in repr([{"password": Secret("hunter2")}])


def test_reveal_gives_the_value():
    assert Secret("hunter2").reveal() == "hunter2"


def test_secrets_are_equal_by_value_and_not_to_the_bare_value():
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert hash(Secret("a")) == hash(Secret("a"))
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


def test_a_secret_has_no_readable_state_and_cant_be_changed():
    secret = Secret("hunter2")
    assert not hasattr(secret, "__dict__")
    with pytest.raises(AttributeError, match="can't be changed"):
        secret.value = "x"
    with pytest.raises(AttributeError, match="can't be changed"):
        del secret.value
    assert secret.reveal() == "hunter2"


def test_a_secret_isnt_pickled():
    with pytest.raises(TypeError, match="isn't pickled"):
        pickle.dumps(Secret("hunter2"))


def test_a_secret_can_be_copied():
    secret = Secret(["a"])
    assert copy.copy(secret) is secret
    deep = copy.deepcopy(secret)
    assert deep == secret
    assert deep.reveal() is not secret.reveal()


def test_a_secret_is_recorded_so_that_any_reader_can_mask_it():
    raw = codec(dict[str, Secret[str]]).encode({"password": Secret("hunter2")})
    assert raw == b'{"password":{"$secret":"hunter2"}}'
    assert mask(PLAIN.decode(raw)) == {"password": "***"}


@pytest.mark.parametrize("annotation", [Secret, Secret[str], Secret[str] | None, Secret[str] | str])
def test_a_secret_comes_back_as_a_secret(annotation):
    found = codec(annotation).decode(codec(annotation).encode(Secret("x")))
    assert type(found) is Secret
    assert found == Secret("x")


def test_a_secret_without_its_annotation_is_refused_without_showing_it():
    for annotation, value in [(str, Secret("hunter2")), (dict, {"a": Secret("hunter2")})]:
        with pytest.raises(Exception, match="Secret can't be recorded") as caught:
            codec(annotation).encode(value)
        assert "hunter2" not in everything_shown(caught.value)


def test_the_refusal_of_what_is_in_a_secret_shows_nothing_of_it():
    value, raw = {"s": Secret({"hunter2": "x"})}, b'{"$secret":{"hunter2":"x"}}'
    with pytest.raises(Exception, match="what is in the Secret") as caught:
        codec(dict[str, Secret[dict[str, int]]]).encode(value)
    assert caught.value.path == "s"
    assert "hunter2" not in everything_shown(caught.value)
    with pytest.raises(Exception, match="got another secret") as caught:
        codec(Secret[dict[str, int]]).decode(raw)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_value_recorded_before_it_was_a_secret_is_still_read():
    assert codec(Secret[str]).decode(b'"x"') == Secret("x")


@pytest.mark.parametrize(
    ("plain", "masked"),
    [
        (1, 1),
        (None, None),
        ({"$secret": "x"}, "***"),
        ([{"$secret": {"a": 1}}, 2], ["***", 2]),
        ({"a": [{"b": {"$secret": None}}]}, {"a": [{"b": "***"}]}),
        (
            {"$type": "S", "value": {"$secret": 1}},
            {"$type": "S", "value": "***"},
        ),
        ({"$secret": 1, "other": 2}, {"$secret": 1, "other": 2}),
    ],
)
def test_mask_hides_recorded_secrets_wherever_they_stand(plain, masked):
    assert mask(plain) == masked


def test_mask_leaves_the_original_alone():
    plain = {"a": [{"$secret": 1}]}
    mask(plain)
    assert plain == {"a": [{"$secret": 1}]}


def test_mask_reaches_any_depth():
    plain: object = {"$secret": "hunter2"}
    for _ in range(100_000):
        plain = [plain]
    found = mask(plain)
    while isinstance(found, list):
        (found,) = found
    assert found == "***"
