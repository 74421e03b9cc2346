"""The JSON documents of commands that change something or tell about the project.

Invariant: as in `documents`.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class RequeuedEvent(Struct, frozen=True):
    """An event that is queued again.

    Attributes:
        was: of a fresh event: the set-aside one whose place it takes.
    """

    event: str
    fresh: bool
    was: str | None


class RequeueDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.requeue/1"):
    """What went back; with `dry_run`, what would."""

    events: tuple[RequeuedEvent, ...]
    dry_run: bool | UnsetType = UNSET


class DropDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.drop/1"):
    """A set-aside event that was removed for good."""

    event: str
    reason: str


class NewDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.new/1"):
    """A project that was made; `files` are relative to `folder`."""

    folder: str
    package: str
    agent: str
    files: tuple[str, ...]
    next: tuple[str, ...]


class AddDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.add/1"):
    """An agent that was added; with `dry_run`, one that would be.

    Attributes:
        files: what was created, relative to `folder`.
        appended: what was appended to `kavach.toml`.
    """

    folder: str
    agent: str
    files: tuple[str, ...]
    appended: str
    next: tuple[str, ...]
    dry_run: bool | UnsetType = UNSET


class TemplateLine(Struct, frozen=True):
    """One template."""

    name: str
    about: str


class TemplatesDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.templates/1"):
    """The templates that there are."""

    templates: tuple[TemplateLine, ...]


class ConfigValue(Struct, frozen=True):
    """One setting."""

    key: str
    value: str | int | float | bool | None
    source: str


class ConfigDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.config/1"):
    """Every setting, with where it came from."""

    values: tuple[ConfigValue, ...]


class CancelDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.cancel/1"):
    """How a cancellation was answered; `status` is how it had ended, or that it runs."""

    answer: str
    event: str | None
    key: str | None
    status: str | None


class RetryDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.retry/1"):
    """An event that is queued again.

    Attributes:
        was: `stuck` or `failed`.
        again: finished calls that may be made again.
    """

    event: str
    was: str
    again: tuple[str, ...]


class DeleteDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.delete/1"):
    """What went with an instance, or would go.

    Attributes:
        cancelled: its events that are cancelled by that.
        keys: how many idempotency keys were remembered.
        cleaning_up: those of the cancelled that end only once they have cleaned up.
        schedules: the names of those that it had.
    """

    instance: str
    state_bytes: int
    cancelled: tuple[str, ...]
    keys: int
    dry_run: bool
    cleaning_up: tuple[str, ...]
    schedules: tuple[str, ...] = ()


class WaitDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.wait/1"):
    """An event that is where it was wanted."""

    event: str
    key: str | None
    status: str
