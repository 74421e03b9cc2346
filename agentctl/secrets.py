"""Values that are kept but not shown: `Secret`, and `mask` for what is read without its types.

A secret is recorded as `{"$secret": <value>}`, so that a reader which has none of the project's
code can still hide it. Nothing here writes a secret into a text; only `reveal` gives it out.
"""

from __future__ import annotations

from typing import Any, Final, Generic, NoReturn, TypeVar, final

T = TypeVar("T")

MASK: Final = "***"
SECRET_KEY: Final = "$secret"  # noqa: S105 - a key, no password


@final
class Secret(Generic[T]):
    """Keep a value that no output shows: `repr`, `str` and `format` give `***`."""

    __slots__ = ("_Secret__value",)

    __value: T

    def __init__(self, value: T, /) -> None:
        object.__setattr__(self, "_Secret__value", value)

    def reveal(self) -> T:
        """Return the value itself."""
        return self.__value

    def __repr__(self) -> str:
        return MASK

    def __format__(self, format_spec: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        if type(other) is not Secret:
            return NotImplemented
        return bool(self.__value == other.__value)

    def __hash__(self) -> int:
        return hash((Secret, self.__value))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Secret can't be changed; make a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Secret can't be changed; make a new one")

    def __copy__(self) -> Secret[T]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret[T]:
        from copy import deepcopy

        return Secret(deepcopy(self.__value, memo))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret isn't pickled: it would be readable; use reveal() if you mean it")


def mask(json_value: object) -> object:
    """Return a copy of decoded JSON in which every recorded secret is `***`, however deep."""
    root: list[Any] = [json_value]
    unmasked: list[Any] = [root]
    while unmasked:
        container = unmasked.pop()
        slots = container.items() if isinstance(container, dict) else enumerate(container)
        for slot, item in list(slots):
            if isinstance(item, dict):
                container[slot] = MASK if item.keys() == {SECRET_KEY} else dict(item)
            elif isinstance(item, list):
                container[slot] = list(item)
            if isinstance(container[slot], dict | list):
                unmasked.append(container[slot])
    return root[0]
