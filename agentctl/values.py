"""Python values to JSON by their annotations, and back.

What a codec writes, it reads back as an equal value of exactly the same types, or it refuses to
write it; nothing is turned into another type on the way. One exception, which type checkers make
too: an `int` given for a `float` is recorded as the equal float. An aware `datetime` keeps its
moment and its offset from UTC, not the rules of its zone.

The bytes are compact UTF-8, the same in every process: sets are sorted, dicts and fields keep
their order. Reading never imports, unpickles or runs anything that the bytes name; whatever the
bytes are, the answer is a value or `NotRecordable`.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

import msgspec

from agentctl.errors import NotRecordable
from agentctl.secrets import MASK, Secret, mask
from agentctl.value_errors import RecordedError, decode_error, encode_error
from agentctl.value_shapes import Misfit, PlainShape, Shape
from agentctl.value_types import shape_of

__all__ = [
    "MASK",
    "PLAIN",
    "Codec",
    "RecordedError",
    "Secret",
    "codec",
    "decode_error",
    "digest",
    "encode_error",
    "mask",
]

T = TypeVar("T")

_dumps: Final = msgspec.json.Encoder().encode
_loads: Final = msgspec.json.Decoder().decode
_NESTED: Final = "it nests too deeply, or contains itself"


class Codec(Generic[T]):
    """Writes and reads the values of one annotation; safe to share between threads."""

    __slots__ = ("_read", "_write", "name", "shape")

    def __init__(self, shape: Shape) -> None:
        self.name = shape.name
        self.shape = shape
        self._write = shape.write
        self._read = shape.read

    def __repr__(self) -> str:
        return f"<Codec of {self.name}>"

    def encode(self, value: T) -> bytes:
        """Write a value as JSON.

        Raises:
            NotRecordable: it, or the part of it at `path`, wouldn't come back as it is.
        """
        try:
            return _dumps(self._write(value, 0))
        except Misfit as misfit:
            path, reason = misfit.path, misfit.reason
        except RecursionError:
            path, reason = "", f"{type(value).__name__} can't be recorded: {_NESTED}"
        raise _not_recordable(path, reason)

    def decode(self, raw: bytes) -> T:
        """Read a value from JSON.

        Raises:
            NotRecordable: these bytes don't hold what the annotation says.
        """
        try:
            value: T = self._read(_loads(raw), 0)
        except Misfit as misfit:
            path, reason = misfit.path, misfit.reason
        except (msgspec.MsgspecError, ValueError) as error:
            path, reason = "", f"expected {self.name}, got no valid JSON from the record: {error}"
        except RecursionError:
            path, reason = "", f"expected {self.name}, got other JSON from the record: {_NESTED}"
        else:
            return value
        raise _not_recordable(path, reason)


def _not_recordable(path: str, reason: str) -> NotRecordable:
    return NotRecordable(f"{path}: {reason}" if path else reason, path=path)


PLAIN: Final[Codec[Any]] = Codec(PlainShape())
"""For values without an annotation: plain JSON types pass, nothing else."""

_codecs: Final[dict[Any, Codec[Any]]] = {}


def codec(annotation: object) -> Codec[Any]:
    """Return the codec of an annotation; the same one each time.

    Raises:
        TypeError: values of it can't be recorded; says which part of it, and why.
    """
    try:
        known = _codecs.get(annotation)
    except TypeError:  # it can't be hashed, for example Annotated[int, []]
        return Codec(shape_of(annotation))
    if known is None:
        known = _codecs[annotation] = Codec(shape_of(annotation))
    return known


def digest(raw: bytes) -> str:
    """Return the SHA-256 of recorded bytes, in hex; what `record="digest"` keeps of them."""
    from hashlib import sha256

    return sha256(raw).hexdigest()
