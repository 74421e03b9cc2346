"""The agent whose handlers are killed everywhere: those of `SideBySide`, and H6 to H10."""

from __future__ import annotations

import asyncio
import contextvars
from contextlib import aclosing

from agentctl import handler, sleep, timeout

from .side_by_side import SideBySide
from .world import Declined, World


class Bot(SideBySide):
    world: World

    # -- H6

    @handler
    async def h6_limits(self) -> list[str]:
        """`wait_for`, `sleep` and `timeout`, in each other."""

        async def slow(name: str) -> str:
            async with asyncio.timeout(4):
                first = await asyncio.wait_for(self.world.do(name), 1.5)
                await asyncio.sleep(0.5)
                return await self.world.do(f"{name} {first}")

        heard = []
        for name in "abc":
            try:
                heard.append(await asyncio.wait_for(slow(name), 3))
            except TimeoutError:
                heard.append("too late")
        await sleep(10)
        heard += await asyncio.gather(slow("x"), slow("y"), return_exceptions=True)
        return [await self.world.do(f"{one!r}") for one in heard]

    @handler
    async def h6_nested(self) -> list[str]:
        heard = []
        try:
            async with timeout(5):
                for name in "abcd":
                    try:
                        async with timeout(2) as limit:
                            heard.append(await self.world.do(name))
                            heard.append(await self.world.do(f"{name} again"))
                    except TimeoutError:
                        heard.append(await self.world.do(f"{name} late {limit.expired()}"))
        except TimeoutError:
            heard.append(await self.world.do("all late"))
        for wait_s in (-1, 0):
            try:
                heard.append(await asyncio.wait_for(self.world.do("at once"), wait_s))
            except TimeoutError:
                heard.append("no time at all")
        heard.append(await asyncio.wait_for(self.world.do("no limit"), None))
        return heard

    @handler
    async def h6_wait_with_limit(self) -> list[str]:
        tasks = [asyncio.create_task(self.line(name)) for name in "abc"]
        done, late = await asyncio.wait(tasks, timeout=3)
        for one in late:
            one.cancel()
        heard = [one.result() for one in done]
        heard.append(await self.world.do(f"{len(done)} in time, {len(late)} late"))
        return heard

    # -- H7

    @handler
    async def h7_queue(self) -> list[str]:
        queue: asyncio.Queue[str] = asyncio.Queue(maxsize=2)
        permits = asyncio.Semaphore(2)
        heard: list[str] = []

        async def producer(name: str) -> None:
            async with permits:
                await queue.put(await self.world.do(name))

        async def consumer() -> None:
            for _ in range(5):
                heard.append(await self.world.do(f"eat {await queue.get()}"))

        async with asyncio.TaskGroup() as group:
            group.create_task(consumer())
            for name in "abcde":
                group.create_task(producer(name))
        return heard

    @handler
    async def h7_lock_and_event(self) -> list[str]:
        lock, bell, gate = asyncio.Lock(), asyncio.Event(), asyncio.Condition()
        heard: list[str] = []

        async def one(name: str) -> None:
            await bell.wait()
            async with lock:
                heard.append(await self.world.do(name))
            async with gate:
                gate.notify_all()

        tasks = [asyncio.create_task(one(name)) for name in "abc"]
        await self.world.do("ring")
        bell.set()
        async with gate:
            await gate.wait_for(lambda: len(heard) == 3)
        await asyncio.gather(*tasks)
        return heard

    async def numbers(self, name: str):
        try:
            for count in range(5):
                yield await self.world.do(f"{name} {count}")
        finally:
            await self.world.do(f"{name} closed")

    @handler
    async def h7_generator(self) -> list[str]:
        """Async generators left early, with and without being closed by hand."""
        heard = []
        async with aclosing(self.numbers("by hand")) as numbers:
            async for one in numbers:
                heard.append(one)
                if len(heard) == 2:
                    break
        async for one in self.numbers("left"):
            heard.append(one)
            break
        heard.append(await self.world.do(f"end {heard}"))
        return heard

    @handler
    async def h7_generator_in_a_lost_task(self) -> list[str]:
        """A generator that only the error of a task that nobody awaits keeps alive."""

        async def lost(name: str) -> None:
            async for _ in self.numbers(name):
                raise ValueError("nobody hears this")

        for name in "ab":
            asyncio.create_task(lost(name))  # noqa: RUF006
        heard = [await self.world.do(f"meanwhile {count}") for count in range(3)]
        await sleep(5)
        return heard

    @handler
    async def h7_forgotten(self) -> str:
        """Tasks that nobody awaits: cancelled when the handler returns, their clean-up made."""

        async def forgotten(name: str) -> None:
            try:
                await self.line(name)
            finally:
                await self.world.do(f"clean {name}")

        for name in "ab":
            asyncio.create_task(forgotten(name))  # noqa: RUF006
        return await self.world.do("own")

    @handler
    async def h7_call_later(self) -> str:
        """A timer of the loop itself, still running when the handler returns."""
        bell = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.call_later(1, bell.set)
        loop.call_later(1000, bell.clear)
        await bell.wait()
        return await self.world.do("rung")

    @handler
    async def h7_late_branch(self) -> list[str]:
        """Branches that are begun in `finally`."""
        heard: list[str] = []

        async def child(name: str) -> None:
            try:
                heard.append(await self.line(name))
            finally:
                undo = [asyncio.create_task(self.world.do(f"undo {name} {n}")) for n in "12"]
                heard.extend(await asyncio.gather(*undo))

        try:
            async with timeout(4):
                async with asyncio.TaskGroup() as group:
                    group.create_task(child("a"))
                    group.create_task(child("bad"))
        except* Declined:
            heard.append("declined")
        except* TimeoutError:
            heard.append("too late")
        finally:
            last = asyncio.create_task(self.line("last"))
        heard.append(await last)
        return heard

    @handler
    async def h7_other_context(self) -> list[str]:
        """A task with a context of its own is a branch like any other."""
        contexts = [contextvars.Context() for _ in "ab"]
        for one in contexts:
            one.run(contextvars.ContextVar[int]("anything").set, 1)
        tasks = [
            asyncio.create_task(self.line(name), context=one)
            for name, one in zip("ab", contexts, strict=True)
        ]
        own = await self.world.do("own")
        return [own, *await asyncio.gather(*tasks)]

    # -- H10

    @handler
    async def h10_declared(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.world.do("bad a"))
            group.create_task(self.world.do("bad b"))

    async def mistaken(self, name: str) -> None:
        await self.world.do(name)
        raise KeyError(name)

    @handler
    async def h10_key_error(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.world.do("bad a"))
            group.create_task(self.mistaken("total"))


EVERY = tuple(
    name for cls in (SideBySide, Bot) for name in vars(cls) if name[0] == "h" and name[1].isdigit()
)
"""The names of all handlers."""
