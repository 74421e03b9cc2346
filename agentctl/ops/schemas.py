"""The JSON Schema of every document that a command answers with.

Invariant: made from the documents' own types, so that it can't differ from what is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from agentctl.errors import NotFound
from agentctl.nearest import nearest_hint
from agentctl.ops import (
    approval_documents,
    backing_up,
    changes,
    documents,
    journal_documents,
    schedule_documents,
    step_documents,
    view_documents,
)

_MODULES: Final = (
    documents,
    journal_documents,
    changes,
    view_documents,
    backing_up,
    schedule_documents,
    approval_documents,
    step_documents,
)


def document_types() -> Mapping[str, type[Struct]]:
    """Every document's type, by the name in its `schema`."""
    found = {
        str(each.__struct_config__.tag): each
        for module in _MODULES
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Struct) and each.__struct_config__.tag
    }
    return dict(sorted(found.items()))


def names() -> Sequence[str]:
    """Every document's name, in short: `status`."""
    return [each.removeprefix("agentctl.").partition("/")[0] for each in document_types()]


def schema_of(name: str) -> dict[str, Any]:
    """Make one document's schema; `status` stands for `agentctl.status/1`.

    Raises:
        NotFound: there is no such document; with the nearest.
    """
    types = document_types()
    full = name if name in types else f"agentctl.{name}/1"
    if full not in types:
        raise NotFound(
            f"there is no document {name!r}", hint=nearest_hint(name, names(), "documents")
        )
    return msgspec.json.schema(types[full])


def all_schemas() -> dict[str, Any]:
    """Make the schema of every document, by its name."""
    return {name: msgspec.json.schema(each) for name, each in document_types().items()}
