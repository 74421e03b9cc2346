"""The workflow: what it may do to the world, and its steps, in the order in which they run."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta

from agentctl import (
    AgentError,
    Capability,
    Exponential,
    RetryPolicy,
    WaitForInput,
    Workflow,
    resume_input,
    workflow_step,
)


class Rejected(AgentError):
    """The manager doesn't want this customer; whoever asked sees this error."""


class Accounts(Capability):
    """Keeps the customers' accounts."""

    @abstractmethod
    async def create(self, name: str) -> str: ...

    @abstractmethod
    async def open(self, account: str) -> None: ...

    @abstractmethod
    async def delete(self, account: str) -> None: ...


class Email(Capability):
    """Writes to the customer."""

    @abstractmethod
    async def send(self, to: str, text: str) -> None: ...


# Five tries; about 1, 2, 4 and 8 seconds between them.
PATIENT = RetryPolicy(max_attempts=5, backoff=Exponential(base=1, cap=30), jitter=0.1)


class Onboarding(Workflow):
    """Takes one customer on."""

    customer: str
    accounts: Accounts
    email: Email
    account: str = ""

    async def delete_account(self, account: str) -> None:
        """Undo `create_account`, given its result."""
        await self.accounts.delete(account)
        self.account = ""

    @workflow_step(retry=PATIENT, compensate=delete_account, compensate_retry=PATIENT)
    async def create_account(self) -> str:
        """Make an account, not yet open."""
        self.account = await self.accounts.create(self.customer)
        return self.account

    @workflow_step(retry=PATIENT, timeout=10)
    async def send_welcome(self) -> None:
        """Tell the customer; the mail server fails now and then."""
        await self.email.send(self.customer, f"welcome, your account is {self.account}")

    @workflow_step
    async def approval(self) -> None:
        """Wait for the manager, a week at most."""
        approved = resume_input(bool)
        if approved is None:
            raise WaitForInput(
                f"may {self.customer} become a customer?", bool, timeout=timedelta(days=7)
            )
        if not approved:
            raise Rejected(f"{self.customer} was rejected")

    @workflow_step(retry=PATIENT)
    async def open_account(self) -> str:
        """Open the account; the workflow's result is its number."""
        await self.accounts.open(self.account)
        return self.account
