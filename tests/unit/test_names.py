"""Names of agents, addresses and call keys: what a person writes is what agentctl means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.errors import UsageError
from agentctl.names import (
    Address,
    check_agent_name,
    format_call_key,
    format_instance,
    identity_text,
    is_agent_name,
    parse_call_key,
    shell_words,
)
from agentctl.nearest import nearest_hint

printable = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.mark.parametrize("name", ["Bot", "a", "My_Agent2", "x" * 64])
def test_a_plain_name_names_an_agent(name):
    assert check_agent_name(name) == name
    assert is_agent_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "../x", "a/b", "..", ".", "a.b", "x" * 65, "x" * 300, "Bücher", "1a", "_a", "a b"),
        *("NUL", "nul", "Con", "COM1", "lpt9", "AUX", "Bot\n", "Bot\0", "\u0661", "B\u0661"),
    ],
)
def test_p16_a_name_that_could_leave_the_folder_or_clash_is_refused_with_the_way_out(name):
    with pytest.raises(UsageError, match="can't be an agent's name") as refused:
        check_agent_name(name)
    assert refused.value.hint
    assert not is_agent_name(name)


def test_p16_a_refusal_of_a_long_name_stays_readable():
    with pytest.raises(UsageError) as refused:
        check_agent_name("x" * 10_000)
    assert len(refused.value.message) < 200


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Bot", Address("Bot")),
        ("Bot#7", Address("Bot", (), 7)),
        ("Bot:7", Address("Bot", (), 7)),
        ("  Bot#7\n", Address("Bot", (), 7)),
        ("Poller/eu%2F7", Address("Poller", ("eu/7",))),
        ('Poller("eu/7")', Address("Poller", ("eu/7",))),
        ("Poller('eu/7')", Address("Poller", ("eu/7",))),
        ("Poller('eu/7')#3", Address("Poller", ("eu/7",), 3)),
        ('Poller("a:7")', Address("Poller", ("a:7",))),
        ('Poller("a#7"):8', Address("Poller", ("a#7",), 8)),
        ("Poller(3, True)", Address("Poller", ("3", "true"))),
        ("Poller/3/true", Address("Poller", ("3", "true"))),
        ("Poller()", Address("Poller")),
        ("Poller/", Address("Poller", ("",))),
        ("Poller/%C3%A9", Address("Poller", ("é",))),
    ],
)
def test_an_address_is_read_in_each_way_it_can_be_written(text, address):
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text",
    [
        *("", "#7", "Bot#", "Bot#x", "Bot#-1", "../x", "Bot#7#8", "a b", "Poller(", "Poller(x)"),
        *("Poller([1])", "Poller({[]: 1})", "Poller(1.5)", "Poller(None)", "Poller(f())"),
        *(
            "Poller(" + "(" * 500 + ")" * 500 + ")",
            "Poller('\0')"[:8],
            "Poller(0x" + "f" * 5000 + ")",
        ),
        *("Poller(" + "9" * 5000 + ")", "Poller(b'x')", "Poller(**{})", "Poller(1)(2)", "(1)"),
    ],
)
def test_what_is_no_address_is_refused_and_nothing_of_it_is_run(text):
    with pytest.raises(UsageError):
        Address.parse(text)


def test_an_address_never_warns_about_how_its_text_would_look_as_a_program():
    # Warnings are errors here: `1is` and `\d` would be warnings of Python's own compiler.
    assert Address.parse(r"Poller('a\d')").identity == (r"a\d",)
    with pytest.raises(UsageError):
        Address.parse("Poller(1if 1else 2)")


@given(st.text(max_size=40))
def test_whatever_is_typed_as_an_address_gives_an_address_or_a_usage_error(text):
    try:
        address = Address.parse(text)
    except UsageError:
        return
    assert Address.parse(str(address)) == address


@given(
    st.lists(printable, max_size=3).map(tuple),
    st.none() | st.integers(0, 10**18 - 1),
)
def test_every_address_that_is_written_is_read_back(identity, event):
    address = Address("Poller", identity, event)
    assert Address.parse(str(address)) == address
    called = f"Poller({', '.join(map(repr, identity))})" + ("" if event is None else f"#{event}")
    assert Address.parse(called) == address


@given(st.lists(printable, max_size=3), st.lists(printable, max_size=3))
def test_two_instances_never_share_an_address(one, other):
    same = format_instance("Poller", tuple(one)) == format_instance("Poller", tuple(other))
    assert same is (one == other)


def test_identity_values_are_written_as_json_has_them():
    assert [identity_text(v) for v in ("a", 7, -7, True, False)] == [
        "a",
        "7",
        "-7",
        "true",
        "false",
    ]


def test_r4_a_call_key_is_instance_event_and_path():
    assert format_call_key("Bot", 1, "2") == "Bot-1-2"
    assert format_call_key(format_instance("Poller", ("my-poller",)), 17, "2.3") == (
        "Poller/my-poller-17-2.3"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Bot-1-2", (Address("Bot", (), 1), "2")),
        ("Poller/my-poller-17-2.3", (Address("Poller", ("my-poller",), 17), "2.3")),
        ('Poller("eu/7-1")-17-2', (Address("Poller", ("eu/7-1",), 17), "2")),
        ("Bot", None),
        ("Bot#7", None),
        ("Bot-7", None),
        ("Bot#7-1-2", None),
        ("Bot-1-2.", None),
    ],
)
def test_a_call_key_is_read_as_it_is_written(text, found):
    assert parse_call_key(text) == found


def test_a_call_key_of_no_agent_is_refused():
    with pytest.raises(UsageError):
        parse_call_key("7-1-2")


def test_a_mistyped_name_is_answered_with_the_nearest_one_or_with_what_there_is():
    assert nearest_hint("refnud", ["refund", "cancel"], "handlers") == "did you mean refund?"
    assert nearest_hint("zzz", ["b", "a"], "handlers") == "the handlers are: a, b"
    assert nearest_hint("zzz", [], "handlers") == "there are no handlers"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tick", "Poller/eu%2F7 tick"),
        ("each night", "Poller/eu%2F7 'each night'"),
        ("$HOME", "Poller/eu%2F7 '$HOME'"),
        ("-x", "Poller/eu%2F7 -- -x"),
    ],
)
def test_a_hint_can_be_copied_into_a_shell_whatever_the_schedules_name(name, words):
    assert shell_words("Poller/eu%2F7", name) == words
