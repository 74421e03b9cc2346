"""Handlers that are cancelled wherever they can be; most clean up, some don't want to go (R20)."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from agentctl import Agent, handler, sleep, timeout

from .world import Declined, World


class CancelledBot(Agent):
    world: World

    async def tidy(self, name: str, pause_s: float = 0.0) -> str:
        """A line of calls, and one more to clean up after it."""
        try:
            first = await self.world.do(name)
            if pause_s:
                await sleep(pause_s)
            return await self.world.do(f"{name} then {first}")
        finally:
            await self.world.do(f"clean {name}")

    @handler
    async def c_finally(self) -> list[str]:
        """Clean-up within clean-up, each a call and a wait for time."""
        heard: list[str] = []
        try:
            heard.append(await self.tidy("a", 1))
            heard.append(await self.tidy("b"))
        finally:
            await sleep(0.5)
            heard.append(await self.world.do("last"))
        return heard

    @handler
    async def c_nested_timeouts(self) -> list[str]:
        """Limits of time in each other, which fire around the same moment."""
        heard: list[str] = []
        try:
            async with timeout(6):
                for name in "abc":
                    try:
                        async with timeout(2), asyncio.timeout(3):
                            heard.append(await self.tidy(name, 1))
                    except TimeoutError:
                        heard.append(await self.world.do(f"{name} late"))
        except TimeoutError:
            heard.append(await self.world.do("all late"))
        finally:
            async with timeout(5):
                heard.append(await self.world.do("shut"))
        return heard

    @handler
    async def c_groups(self) -> list[str]:
        """Task groups in each other, whose children clean up, inside a limit of time."""
        heard: list[str] = []

        async def child(name: str) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.tidy(f"{name} 1"))
                group.create_task(self.tidy(f"{name} 2", 1))

        try:
            async with timeout(7), asyncio.TaskGroup() as group:
                group.create_task(child("a"))
                group.create_task(child("bad"))
        except* Declined:
            heard.append("declined")
        except* TimeoutError:
            heard.append("too late")
        finally:
            heard += await asyncio.gather(self.world.do("x"), self.world.do("y"))
        return heard

    @handler
    async def c_except_exception(self) -> list[str]:
        """What catches every `Exception`, and so never a cancellation."""
        heard: list[str] = []
        for name in ("a", "bad b", "c"):
            try:
                heard.append(await self.tidy(name))
            except Exception as error:
                heard.append(await self.world.do(f"caught {type(error).__name__}"))
        return heard

    @handler
    async def c_except_everything(self) -> list[str]:
        """What swallows the cancellation, too, and goes on as if nothing had been."""
        heard: list[str] = []
        for name in ("a", "bad b", "c"):
            try:
                async with timeout(5):
                    heard.append(await self.tidy(name, 1))
            except BaseException as error:
                heard.append(await self.world.do(f"swallowed {type(error).__name__}"))
        return heard

    @handler
    async def c_stubborn_branches(self) -> list[str]:
        """Branches that swallow it, of a group that is left by it."""
        heard: list[str] = []

        async def stubborn(name: str) -> None:
            for turn in "12":
                with suppress(BaseException):
                    heard.append(await self.tidy(f"{name} {turn}"))

        try:
            async with asyncio.TaskGroup() as group:
                for name in "ab":
                    group.create_task(stubborn(name))
        except BaseException:
            heard.append(await self.world.do("left"))
        return heard

    @handler
    async def c_raises_instead(self) -> None:
        """Clean-up that fails, with an error of its own in the cancellation's place."""
        try:
            await self.tidy("a", 1)
            await self.tidy("b")
        finally:
            await self.world.do("bad end")


EVERY_CANCELLED = tuple(name for name in vars(CancelledBot) if name.startswith("c_"))
"""The names of all handlers."""
