"""The world: here it only prints. Put real services in their place."""

from __future__ import annotations

from agentctl import attempt, call_key

from crm.onboarding import Accounts, Email


class Crm(Accounts):
    """The accounts. A call key is the same in every attempt: a service can drop repeats by it."""

    async def create(self, name: str) -> str:
        """Make an account."""
        print(f"[account] c-{name}, key {call_key()}")
        return f"c-{name}"

    async def open(self, account: str) -> None:
        """Let the customer in."""
        print(f"[account] {account} is open")

    async def delete(self, account: str) -> None:
        """Forget the account."""
        print(f"[account] {account} is deleted")


class Mail(Email):
    """A mail server that is busy the first two times."""

    async def send(self, to: str, text: str) -> None:
        """Send one email."""
        if attempt() in (1, 2):
            print(f"[email] attempt {attempt()}: the server is busy")
            raise ConnectionError("the mail server is busy")
        print(f"[email] to {to}: {text}")
