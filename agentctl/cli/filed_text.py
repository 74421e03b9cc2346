"""What `kavach.toml` schedules and isn't on record, in words: notes, and a hint at an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from agentctl.errors import NotFound
from agentctl.names import Address
from agentctl.ops.places import Place
from agentctl.ops.unset import Filed, is_filed

_SAID: Final = 5


def notes_of(filed: Filed) -> Iterator[str]:
    """Say what isn't set yet, and what is only left."""
    if filed.unset:
        number = len(filed.unset)
        which = "1 schedule that isn't" if number == 1 else f"{number} schedules that aren't"
        them = "it" if number == 1 else "them"
        yield f"kavach.toml has {which} set yet ({_names(filed.unset)}): agentctl run sets {them}"
    if filed.gone:
        number = len(filed.gone)
        which = "1 schedule" if number == 1 else f"{number} schedules"
        are = "is" if number == 1 else "are"
        yield (
            f"{which} that kavach.toml no longer has ({_names(filed.gone)}) {are} cancelled by "
            "the next run"
        )


@contextmanager
def hinting(place: Place, instance: Address, name: str) -> Iterator[None]:
    """Say of a schedule that isn't found that the file has it, if it does."""
    try:
        yield
    except NotFound as error:
        if is_filed(place.project, instance, name):
            error.hint = (
                f"kavach.toml has it, and it isn't set yet: agentctl run {instance.agent} sets it"
            )
        raise


def _names(names: Sequence[str]) -> str:
    more = f", and {len(names) - _SAID} more" if names[_SAID:] else ""
    return f"{', '.join(names[:_SAID])}{more}"
