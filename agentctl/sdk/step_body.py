"""StepBody: the code of a step, and how its arguments and its result are recorded.

What the code knows of the handler's own object is exchanged for a working copy when it runs: the
object of a method, what a function closes over, what a `partial` was given.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import CellType, FunctionType, MethodType
from typing import Any, Final

from agentctl.errors import UsageError
from agentctl.sdk.signature import CallSignature
from agentctl.sdk.stubs import method_of
from agentctl.sdk.timing import BoundHandler

_OF_FUNCTION: Final = "__agentctl_signature__"
_OF_METHOD: Final = "__agentctl_method_signature__"
"""On a function itself, so that it goes with it: one that a handler defines lives for one event."""


class StepBody:
    """What a step runs.

    Attributes:
        signature: how its arguments and its result are recorded.
    """

    __slots__ = ("_fn", "signature")

    def __init__(self, fn: Callable[..., Any]) -> None:
        _refuse_called(fn)
        if isinstance(fn, BoundHandler):
            fn = fn.method
        self._fn = fn
        self.signature = _signature_of(fn)

    def on(self, original: object, copy: object) -> Callable[..., Any]:
        """The code as it works on a copy of the handler's object."""
        fn: Any = self._fn
        if isinstance(fn, MethodType) and fn.__self__ is original:  # as nearly all are
            return MethodType(fn.__func__, copy)
        return _Exchange(original, copy).of(fn)  # type: ignore[no-any-return]


def _refuse_called(fn: object) -> None:
    if not inspect.iscoroutine(fn):
        return
    fn.close()
    raise UsageError(
        f"{fn.__qualname__}() is called already, and can't be a step",
        hint="give the function itself, and its arguments behind it",
    )


class _Exchange:
    """The copy in the original's place, also in functions that know themselves and each other."""

    def __init__(self, original: object, copy: object) -> None:
        self._original = original
        self._copy = copy
        self._made: dict[FunctionType, FunctionType] = {}

    def of(self, value: Any) -> Any:
        """What a value is with the copy; itself where it doesn't know the original."""
        if value is self._original:
            return self._copy
        match value:
            case MethodType() if value.__self__ is self._original:
                return MethodType(value.__func__, self._copy)
            case functools.partial():
                args = [self.of(one) for one in value.args]
                named = {key: self.of(one) for key, one in value.keywords.items()}
                return functools.partial(self.of(value.func), *args, **named)
            case FunctionType() if self._concerns(value, set()):
                return self._made.get(value) or self._function(value)
            case BoundHandler():
                return self.of(value.method)
            case _:
                return value

    def _concerns(self, value: Any, seen: set[FunctionType]) -> bool:
        match value:
            case MethodType():
                return value.__self__ is self._original
            case BoundHandler():
                return self._concerns(value.method, seen)
            case functools.partial():
                known: Iterable[Any] = (value.func, *value.args, *value.keywords.values())
            case FunctionType() if value not in seen:
                seen.add(value)
                known = map(_content, value.__closure__ or ())
            case _:
                return value is self._original
        return any(self._concerns(one, seen) for one in known)

    def _function(self, fn: FunctionType) -> FunctionType:
        """The same function, closing over the copy; what it shares with others, it still shares."""
        cells = fn.__closure__ or ()
        new = tuple(CellType() if self._concerns(_content(one), set()) else one for one in cells)
        made = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, new)
        made.__kwdefaults__ = fn.__kwdefaults__
        vars(made).update(vars(fn))
        self._made[fn] = made
        for cell, old in zip(new, cells, strict=True):
            if cell is not old:
                cell.cell_contents = self.of(old.cell_contents)
        return made


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet there: of a function that is defined further down
        return None


def _signature_of(fn: Callable[..., Any]) -> CallSignature:
    if isinstance(fn, functools.partial):
        part: functools.partial[Any] = fn
        try:
            return _signature_of(part.func).given(part.args, part.keywords)
        except (TypeError, ValueError) as error:
            raise _no_step(fn, error) from None
    spec = method_of(fn)
    if spec is not None:
        return spec.signature
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    if not isinstance(function, FunctionType):
        return _made_signature(fn)
    kept = _OF_FUNCTION if function is fn else _OF_METHOD
    known: CallSignature | None = vars(function).get(kept)
    if known is None:
        known = vars(function)[kept] = _made_signature(fn)
    return known


def _made_signature(fn: Callable[..., Any]) -> CallSignature:
    title = getattr(fn, "__qualname__", type(fn).__qualname__)
    try:
        if isinstance(fn, MethodType):
            owner = type(fn.__self__)
            names = getattr(owner, "__agentctl_names__", {})
            return CallSignature(fn.__func__, owner, names, title=title)
        where = inspect.unwrap(fn)
        place = {"__module__": getattr(where, "__module__", None) or __name__}
        return CallSignature(fn, type("_Surroundings", (), place), {}, title=title, method=False)
    except (TypeError, ValueError) as error:
        raise _no_step(fn, error) from None


def _no_step(fn: object, error: Exception) -> UsageError:
    return UsageError(
        f"{fn!r} can't be a step: {error}", hint="give an async function, or a method"
    )
