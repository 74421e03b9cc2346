"""StepBody: the code of a step, and how its arguments and its result are recorded.

What the code knows of the handler's own object is exchanged for a working copy when it runs: the
object of a method, what a function closes over, what a `partial` was given.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, MethodType
from typing import Any, Final
from weakref import WeakKeyDictionary

from agentctl.errors import UsageError
from agentctl.sdk.signature import CallSignature
from agentctl.sdk.stubs import method_of
from agentctl.sdk.timing import BoundHandler

_functions: Final[WeakKeyDictionary[Any, CallSignature]] = WeakKeyDictionary()
_methods: Final[WeakKeyDictionary[Any, CallSignature]] = WeakKeyDictionary()


class StepBody:
    """What a step runs.

    Attributes:
        signature: how its arguments and its result are recorded.
    """

    __slots__ = ("_fn", "signature")

    def __init__(self, fn: Callable[..., Any]) -> None:
        _refuse_called(fn)
        self._fn = fn
        self.signature = _signature_of(fn)

    def on(self, original: object, copy: object) -> Callable[..., Any]:
        """The code as it works on a copy of the handler's object."""
        return _Exchange(original, copy).of(self._fn)  # type: ignore[no-any-return]


def _refuse_called(fn: object) -> None:
    if not inspect.iscoroutine(fn):
        return
    fn.close()
    raise UsageError(
        f"{fn.__qualname__}() is called already, and can't be a step",
        hint="give the function itself, and its arguments behind it",
    )


class _Exchange:
    """Puts a copy in the place of an object; what doesn't know the object stays as it is."""

    def __init__(self, original: object, copy: object) -> None:
        self._original = original
        self._copy = copy
        self._made: dict[int, Any] = {}  # functions may know each other, and share a cell

    def of(self, value: Any) -> Any:
        """The same with the copy."""
        if value is self._original:
            return self._copy
        if id(value) in self._made:
            return self._made[id(value)]
        if not self._knows(value, set()):
            return value
        match value:
            case MethodType():
                return MethodType(value.__func__, self._copy)
            case functools.partial():
                args = map(self.of, value.args)
                named = {key: self.of(one) for key, one in value.keywords.items()}
                return functools.partial(self.of(value.func), *args, **named)
            case BoundHandler():
                return self.of(value.method)
            case _:
                return self._with_cells(value)

    def _knows(self, value: Any, seen: set[int]) -> bool:
        if value is self._original:
            return True
        if id(value) in seen:
            return False
        seen.add(id(value))
        return any(self._knows(one, seen) for one in _parts(value))

    def _with_cells(self, fn: FunctionType) -> FunctionType:
        """The same function, closing over the copy."""
        old = [cell for cell in fn.__closure__ or () if self._knows(cell, set())]
        new = [cell for cell in old if id(cell) not in self._made]
        self._made.update((id(cell), CellType()) for cell in new)
        cells = tuple(self._made.get(id(cell), cell) for cell in fn.__closure__ or ())
        made = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, cells)
        made.__kwdefaults__ = fn.__kwdefaults__
        vars(made).update(vars(fn))
        self._made[id(fn)] = made
        for cell in new:
            self._made[id(cell)].cell_contents = self.of(cell.cell_contents)
        return made


def _parts(value: Any) -> Sequence[Any]:
    match value:
        case MethodType():
            return (value.__self__,)
        case functools.partial():
            return (value.func, *value.args, *value.keywords.values())
        case BoundHandler():
            return (value.method,)
        case FunctionType():
            return value.__closure__ or ()
        case CellType():
            try:
                return (value.cell_contents,)
            except ValueError:  # not yet there: a function that is defined further down
                return ()
        case _:
            return ()


def _signature_of(fn: Callable[..., Any]) -> CallSignature:
    if isinstance(fn, functools.partial):
        part: functools.partial[Any] = fn
        return _made(lambda: _signature_of(part.func).given(part.args, part.keywords), fn)
    if isinstance(fn, BoundHandler):
        fn = fn.method
    spec = method_of(fn)
    if spec is not None:
        return spec.signature
    cache, key = (_methods, fn.__func__) if isinstance(fn, MethodType) else (_functions, fn)
    try:
        known = cache.get(key)
    except TypeError:  # it can't be hashed, or has no weak references
        return _made(lambda: _plain_signature(fn), fn)
    if known is None:
        known = cache[key] = _made(lambda: _plain_signature(fn), fn)
    return known


def _made(make: Callable[[], CallSignature], fn: object) -> CallSignature:
    try:
        return make()
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{fn!r} can't be a step: {error}", hint="give an async function, or a method"
        ) from None


def _plain_signature(fn: Callable[..., Any]) -> CallSignature:
    title = getattr(fn, "__qualname__", type(fn).__qualname__)
    if isinstance(fn, MethodType):
        owner = type(fn.__self__)
        names = getattr(owner, "__agentctl_names__", {})
        return CallSignature(fn.__func__, owner, names, title=title)
    where = inspect.unwrap(fn)
    place = {"__module__": getattr(where, "__module__", None) or __name__}
    return CallSignature(fn, type("_Surroundings", (), place), {}, title=title, method=False)
