"""RecordBase: what all kinds of record have in common."""

from __future__ import annotations

from msgspec import Struct


class RecordBase(Struct, frozen=True, omit_defaults=True):
    """A line of the journal; `omit_defaults` keeps lines short, field order is the file's."""
