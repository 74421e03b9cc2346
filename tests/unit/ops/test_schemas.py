"""Every document has a schema, and what is written fits it."""

from __future__ import annotations

import pytest

from agentctl.errors import NotFound
from agentctl.ops.schemas import all_schemas, document_types, schema_of


@pytest.mark.parametrize("name", document_types())
def test_a_schema_names_its_document_and_its_fields(name: str) -> None:
    made = schema_of(name)
    of = document_types()[name]
    body = made["$defs"][made["$ref"].rpartition("/")[2]]
    assert body["properties"].pop("schema") == {"enum": [name]}
    assert list(body["properties"]) == list(of.__struct_fields__)
    assert "schema" in body["required"]
    assert all_schemas()[name]["$ref"] == made["$ref"]


def test_a_short_name_means_the_first_version() -> None:
    assert schema_of("set-aside") == schema_of("agentctl.set-aside/1")


def test_a_document_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(NotFound) as caught:
        schema_of("invocaton")
    assert "did you mean invocation?" in (caught.value.hint or "")
