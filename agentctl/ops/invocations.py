"""Changing invocations that are there: cancel, retry, delete their instance.

Invariant: what these answer is durable, and was done once. Never prints and never asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentctl.core.lifecycle import Cancellation
from agentctl.engines.changes import (
    Cancelled,
    CancelRequest,
    Deleted,
    DeleteRequest,
    Retried,
    RetryRequest,
)
from agentctl.engines.desk import Desk
from agentctl.errors import UsageError
from agentctl.names import Address
from agentctl.ops.asking import new_id
from agentctl.ops.changes import CancelDocument, DeleteDocument, RetryDocument

EXIT_CODES: Final = {
    Cancellation.CANCELLED: 0,
    Cancellation.ALREADY_CANCELLED: 0,
    Cancellation.RUNNING: 4,
    Cancellation.FINISHED: 4,
    Cancellation.UNKNOWN: 3,
}


@dataclass(frozen=True)
class Which:
    """The event that a person means: by its number, or by its idempotency key."""

    address: Address
    key: str | None = None


def which(agent: str, key: str | None) -> Which:
    """Read which event is meant: `Bot#3`, or an instance and a key.

    Raises:
        UsageError: it says neither, or both.
    """
    address = Address.parse(agent)
    if address.event is None and key is None:
        raise UsageError(
            f"{agent!r} names no event",
            hint=f"write {address}#1 for event 1, or the idempotency key behind it",
        )
    if address.event is not None and key is not None:
        raise UsageError(
            f"{agent!r} names an event, and {key!r} would be another name for one",
            hint="leave one of them out",
        )
    return Which(address, key)


def cancel(
    desk: Desk, meant: Which, *, running: bool, reason: str, by: str
) -> tuple[CancelDocument, Cancelled]:
    """Cancel an event (R20).

    Returns:
        The document, and the answer itself.

    Raises:
        NotFound: the agent never ran here.
        Locked: a program holds the folder, and doesn't answer.
    """
    address = meant.address
    answer = desk.carry_out(
        CancelRequest(
            address.agent,
            new_id(),
            address.identity,
            address.event,
            meant.key,
            running=running,
            reason=reason,
            by=by,
        )
    )
    assert isinstance(answer, Cancelled)
    status = None if answer.status is None else answer.status.value
    document = CancelDocument(answer.answer.value, answer.event, answer.key, status)
    return document, answer


def retry(desk: Desk, meant: Which, *, accept_divergence: bool, by: str) -> RetryDocument:
    """Run a stuck or a failed event again, under its number.

    Raises:
        NotFound: there is no such event.
        Conflict: it is neither stuck nor failed.
        Locked: a program holds the folder, and doesn't answer.
    """
    address = meant.address
    answer = desk.carry_out(
        RetryRequest(
            address.agent,
            new_id(),
            address.identity,
            address.event,
            meant.key,
            accept_divergence=accept_divergence,
            by=by,
        )
    )
    assert isinstance(answer, Retried)
    return RetryDocument(answer.event, answer.was.value, answer.again)


def delete(desk: Desk, instance: Address, *, dry_run: bool, by: str) -> DeleteDocument:
    """Delete an instance: its state and its keys; its open events are cancelled.

    Raises:
        NotFound: there is no such instance.
        Conflict: an event of it is executing.
        Locked: a program holds the folder, and doesn't answer.
    """
    if instance.event is not None:
        raise UsageError(
            f"{instance} is an event, and an instance is deleted",
            hint=f"cancel the event: agentctl invocation cancel {instance}",
        )
    request = DeleteRequest(instance.agent, new_id(), instance.identity, dry_run=dry_run, by=by)
    answer = desk.carry_out(request)
    assert isinstance(answer, Deleted)
    return DeleteDocument(
        answer.instance,
        answer.state_bytes,
        answer.cancelled,
        answer.keys,
        dry_run,
        answer.cleaning_up,
        answer.schedules,
    )
