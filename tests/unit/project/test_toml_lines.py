"""The line of a key is found however the file is written."""

from __future__ import annotations

import tomllib

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.project.toml_lines import find_lines

WRITTEN = '''\
# [project] in a comment
top = 1  # = 2
"quoted key".'single' = """
[not.a.table]
no = "key" """ # and on

[ a . "b.c" ]  # ] x = 1
array = [ # [
  "]", 'x',
  [1, 2],
]
inline = { use = "m:C", deep = { x = 1 } }
text = "escaped \\" [x]"
many.dots.here = 1

[[list]]
item = \'\'\'
it's''\'\'\'
after = true
[a.later]
key = 2021-01-01
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("top",), 2),
        (("quoted key",), 3),
        (("quoted key", "single"), 3),
        (("a",), 7),
        (("a", "b.c"), 7),
        (("a", "b.c", "array"), 8),
        (("a", "b.c", "inline"), 12),
        (("a", "b.c", "text"), 13),
        (("a", "b.c", "many", "dots", "here"), 14),
        (("list",), 16),
        (("list", "item"), 17),
        (("list", "after"), 19),
        (("a", "later", "key"), 21),
    ],
)
def test_each_key_has_its_line(key: tuple[str, ...], line: int) -> None:
    tomllib.loads(WRITTEN)
    assert find_lines(WRITTEN)[key] == line


def test_what_only_looks_like_a_key_has_none() -> None:
    lines = find_lines(WRITTEN)
    assert not {("no",), ("not",), ("project",), ("x",), ("a", "b.c", "use")} & lines.keys()


def test_an_empty_document_has_no_keys() -> None:
    assert find_lines("") == {}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TABLES = st.recursive(
    st.booleans() | st.integers(-9, 9) | TEXTS | st.lists(TEXTS, max_size=3),
    lambda inner: st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(values=st.dictionaries(TEXTS, TABLES, max_size=4))
def test_every_key_that_a_writer_writes_is_found_where_it_stands(values: dict[str, object]) -> None:
    text = tomli_w.dumps(values, multiline_strings=True).replace("\r\n", "\n")
    lines = find_lines(text)
    for name, value in values.items():
        if isinstance(value, dict) and not value:
            continue  # written only as a header, or not at all
        assert tomllib.loads(text)  # what follows is about valid documents only
        assert (name,) in lines
        if not isinstance(value, dict):
            end = text.split("\n", lines[name,] - 1)[-1]
            assert value_at_start(end) == {name: value}


def value_at_start(text: str) -> dict[str, object]:
    """Parse as few lines of `text` as make a valid document."""
    lines = text.split("\n")
    for count in range(1, len(lines) + 1):
        try:
            return tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
    raise AssertionError(text)
