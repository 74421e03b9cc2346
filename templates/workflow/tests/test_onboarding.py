"""What the workflow promises."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from agentctl.testing import Durable

from crm.onboarding import Accounts, Email, Onboarding

ANA: Any = {"identity": ("ana",)}


class Customers(Accounts):
    """Remembers what was asked of it."""

    def __init__(self) -> None:
        self.did: list[str] = []

    async def create(self, name: str) -> str:
        """Make an account."""
        self.did.append(f"create {name}")
        return f"c-{name}"

    async def open(self, account: str) -> None:
        """Open it."""
        self.did.append(f"open {account}")

    async def delete(self, account: str) -> None:
        """Delete it."""
        self.did.append(f"delete {account}")


class Mail(Email):
    """Fails so many times, then works."""

    def __init__(self, failing: int) -> None:
        self.failing = failing
        self.sent: list[str] = []

    async def send(self, to: str, text: str) -> None:
        """Send, and remember to whom."""
        self.failing -= 1
        if self.failing >= 0:
            raise ConnectionError("busy")
        self.sent.append(to)


@pytest.fixture
def customers() -> Customers:
    return Customers()


def begin(durable: Durable, customers: Customers, mail: Mail) -> str:
    """Let the workflow come as far as the manager, or to its end; return its event."""
    event = durable.trigger(Onboarding, "run", **ANA, accounts=customers, email=mail)
    durable.pass_time(Onboarding, timedelta(minutes=1), accounts=customers, email=mail)
    return event


def test_a_customer_who_is_approved_is_taken_on(durable: Durable, customers: Customers) -> None:
    mail = Mail(failing=2)
    event = begin(durable, customers, mail)
    assert (customers.did, mail.sent) == (["create ana"], ["ana"])
    durable.resume(Onboarding, event, True, accounts=customers, email=mail)
    assert customers.did == ["create ana", "open c-ana"]


def test_run_again_it_gives_its_outcome_and_does_nothing(
    durable: Durable, customers: Customers
) -> None:
    mail = Mail(failing=0)
    durable.resume(
        Onboarding, begin(durable, customers, mail), True, accounts=customers, email=mail
    )
    assert durable.run(Onboarding, "run", **ANA, accounts=customers, email=mail) == "c-ana"
    assert (customers.did, mail.sent) == (["create ana", "open c-ana"], ["ana"])


def test_a_mail_server_that_is_down_for_good_undoes_the_account(
    durable: Durable, customers: Customers
) -> None:
    mail = Mail(failing=5)
    begin(durable, customers, mail)
    assert customers.did == ["create ana", "delete c-ana"]


def test_so_does_a_manager_who_says_no(durable: Durable, customers: Customers) -> None:
    mail = Mail(failing=0)
    durable.resume(
        Onboarding, begin(durable, customers, mail), False, accounts=customers, email=mail
    )
    assert customers.did == ["create ana", "delete c-ana"]


def test_so_does_a_manager_who_never_answers(durable: Durable, customers: Customers) -> None:
    mail = Mail(failing=0)
    begin(durable, customers, mail)
    durable.pass_time(Onboarding, timedelta(days=7), accounts=customers, email=mail)
    assert customers.did == ["create ana", "delete c-ana"]
