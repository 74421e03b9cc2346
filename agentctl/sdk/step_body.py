"""StepBody: the code of a step, and how its arguments and its result are recorded.

What the code knows of the handler's own object is exchanged for a working copy when it runs: the
object of a method, what a function closes over, what a `partial` was given.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CellType, FunctionType, MethodType
from typing import Any, Final
from weakref import WeakKeyDictionary

from agentctl.errors import UsageError
from agentctl.sdk.signature import CallSignature
from agentctl.sdk.stubs import method_of
from agentctl.sdk.timing import BoundHandler

_signatures: Final[WeakKeyDictionary[Any, CallSignature]] = WeakKeyDictionary()


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
        return _exchanged(self._fn, original, copy)  # type: ignore[no-any-return]


def _refuse_called(fn: object) -> None:
    if not inspect.iscoroutine(fn):
        return
    fn.close()
    raise UsageError(
        f"{fn.__qualname__}() is called already, and can't be a step",
        hint="give the function itself, and its arguments behind it",
    )


def _exchanged(value: Any, original: object, copy: object) -> Any:
    if value is original:
        return copy
    match value:
        case MethodType() if value.__self__ is original:
            return MethodType(value.__func__, copy)
        case functools.partial():
            args = [_exchanged(one, original, copy) for one in value.args]
            named = {key: _exchanged(one, original, copy) for key, one in value.keywords.items()}
            return functools.partial(_exchanged(value.func, original, copy), *args, **named)
        case FunctionType() if value.__closure__:
            return _with_cells(value, original, copy)
        case BoundHandler():
            return _exchanged(value.method, original, copy)
        case _:
            return value


def _with_cells(fn: FunctionType, original: object, copy: object) -> FunctionType:
    """The same function, closing over the copy."""
    cells, changed = [], False
    for cell in fn.__closure__ or ():
        try:
            known = cell.cell_contents
        except ValueError:  # not yet there: a function that is defined further down
            cells.append(cell)
            continue
        new = known if known is fn else _exchanged(known, original, copy)
        changed = changed or new is not known
        cells.append(cell if new is known else CellType(new))
    if not changed:
        return fn
    made = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, tuple(cells))
    made.__kwdefaults__ = fn.__kwdefaults__
    return made


def _signature_of(fn: Callable[..., Any]) -> CallSignature:
    spec = method_of(fn)
    if spec is not None:
        return spec.signature
    key = fn.__func__ if isinstance(fn, MethodType) else fn
    try:
        known = _signatures.get(key)
    except TypeError:  # it can't be hashed, or has no weak references
        return _made_signature(fn)
    if known is None:
        known = _signatures[key] = _made_signature(fn)
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
        raise UsageError(
            f"{fn!r} can't be a step: {error}", hint="give an async function, or a method"
        ) from None
