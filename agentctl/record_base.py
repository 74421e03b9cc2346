"""RecordBase: what all kinds of record have in common."""

from __future__ import annotations

from msgspec import Struct


class RecordBase(Struct, frozen=True, omit_defaults=True, gc=False):
    """A line of the journal; `omit_defaults` keeps lines short, field order is the file's.

    No record refers to what refers back to it, so the garbage collector needn't look at them.
    """
