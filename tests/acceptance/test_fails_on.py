"""`@handler(fails_on=…)`: an error that is an answer ends the event; any other is a bug."""

from __future__ import annotations

from .support import Project

HANDLERS = """
    @handler(fails_on=(LookupError,))
    async def look_up(self, name: str) -> str:
        await self.payments.refund(7)
        return {"ana": "found"}[name]

    @handler
    async def nothing("""


def test_an_error_that_the_handler_names_fails_the_event_for_good(shop: Project) -> None:
    shop.edit("shop/bot.py", "\n    @handler\n    async def nothing(", HANDLERS)
    assert shop.agentctl("invoke", "Bot", "look_up", "ana").expect(0).out == '"found"\n'
    refused = shop.agentctl("invoke", "Bot", "look_up", "bob")
    refused.expect_error(1, "Bot#2 failed", "KeyError", "doesn't run again")
    paid = shop.ledger()
    shop.agentctl("run", "--until-idle").expect(0)
    assert shop.ledger() == paid


def test_an_error_that_it_does_not_name_is_a_bug_and_runs_again(shop: Project) -> None:
    named = HANDLERS.replace("LookupError", "OSError")
    shop.edit("shop/bot.py", "\n    @handler\n    async def nothing(", named)
    refused = shop.agentctl("invoke", "Bot", "look_up", "bob").expect(1)
    assert "error: Bot#1 is stuck\n  KeyError" in refused.err
    shop.edit("shop/bot.py", '{"ana": "found"}', '{"bob": "mended"}')
    shop.agentctl("run", "--until-idle").expect(0)
    told = shop.agentctl("inspect", "journal", "Bot", "--json").expect(0)
    assert '"mended"' in told.out
