"""Handlers that are killed everywhere: branches side by side (H1 to H5)."""

from __future__ import annotations

import asyncio

from agentctl import Agent, handler, random, sleep, uuid4

from .world import Declined, World


class SideBySide(Agent):
    world: World

    # -- H1

    async def line(self, name: str) -> str:
        first = await self.world.do(f"{name} first")
        return await self.world.do(f"{name} then {first}")

    @handler
    async def h1_gather(self) -> list[str]:
        """Three lines side by side; one of them fails, the others go on."""
        lines = [self.line("a"), self.line("bad b"), self.line("c")]
        ends = await asyncio.gather(*lines, return_exceptions=True)
        ends.append(await self.world.do(f"end {[str(one) for one in ends]}"))
        return [str(one) for one in ends]

    @handler
    async def h1_first_error(self) -> list[str]:
        """`gather` raises the first error; the lines that it leaves behind are still running."""
        heard = []

        async def noting(name: str) -> None:
            heard.append(await self.line(name))

        try:
            await asyncio.gather(noting("a"), self.line("bad"), noting("c"))
        except Declined as error:
            heard.append(f"declined {error}")
        heard.append(await self.world.do(f"so far {heard}"))
        return heard

    @handler
    async def h1_chance(self) -> list[str]:
        """Random numbers are the event's own, in each branch."""

        async def one(name: str) -> str:
            first = await self.world.do(f"{name} {random():.9f}")
            return await self.world.do(f"{first} {uuid4()}")

        return await asyncio.gather(*[one(name) for name in "abc"])

    # -- H2

    @handler
    async def h2_race(self) -> str:
        """The first one wins; the losers are cancelled."""
        racers = [asyncio.create_task(self.line(name)) for name in "abcd"]
        done, pending = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
        for one in pending:
            one.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        return await self.world.do(f"won {[one.result() for one in done]}")

    @handler
    async def h2_race_of_calls(self) -> list[str]:
        """Losers that clean up after themselves with a call."""

        async def racer(name: str) -> str:
            try:
                return await self.world.do(name)
            except asyncio.CancelledError:
                lost.append(await self.world.do(f"undo {name}"))
                raise

        lost: list[str] = []
        racers = {asyncio.create_task(racer(name)) for name in "abcd"}
        done, pending = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
        for one in pending:
            one.cancel()
        await asyncio.wait(pending)
        lost.append(await self.world.do(f"won {[one.result() for one in done]}, {lost}"))
        return lost

    # -- H3

    @handler
    async def h3_everyone(self) -> list[str]:
        """A call for each of the *set* that `wait` returns."""
        tasks = [asyncio.create_task(self.world.do(name)) for name in "abcdefghij"]
        done, _ = await asyncio.wait(tasks)
        return [await self.world.do(f"mail {one.result()}") for one in done]

    @handler
    async def h3_groups(self) -> list[str]:
        """Sets of what `gather` and `shield` give, which are futures, not tasks."""
        both = [asyncio.gather(self.line(n), self.world.do(f"{n} too")) for n in "abcde"]
        done, _ = await asyncio.wait(both)
        heard = [await self.world.do(f"{one.result()}") for one in done]
        kept = {asyncio.shield(asyncio.create_task(self.world.do(name))) for name in "abcd"}
        for one in kept:
            heard.append(await self.world.do(f"kept {await one}"))
        return heard

    @handler
    async def h3_sets_as_values(self) -> list[str]:
        """Sets in arguments and results are written sorted."""
        names = {"pear", "apple", "fig", "quince", "melon", "grape", "plum", "cherry"}
        told = await self.world.tell(names)
        return sorted(await self.world.tell(told | names))

    # -- H4

    @handler
    async def h4_completed_tasks(self) -> list[str]:
        heard: list[str] = []
        tasks = [asyncio.create_task(self.line(name)) for name in "abcde"]
        for one in asyncio.as_completed(tasks):
            heard.append(await one)
            heard.append(await self.world.do(f"after {len(heard)} {heard[-1]}"))
        return heard

    @handler
    async def h4_completed_calls(self) -> list[str]:
        heard: list[str] = []
        calls = [self.world.do(name) for name in "abcde"]
        try:
            for one in asyncio.as_completed(calls, timeout=6):
                heard.append(await one)
                heard.append(await self.world.do(f"after {heard[-1]}"))
        except TimeoutError:
            heard.append("too late")
        return heard

    @handler
    async def h4_bare(self) -> list[str]:
        """Refused; what the handler does then replays like anything else."""
        heard = [await self.world.do("before")]
        bare = [self.line("a"), self.line("b")]
        try:
            for one in asyncio.as_completed(bare):
                heard.append(await one)
        except Exception as error:
            heard.append(f"{type(error).__name__}: {error}")
        for one in bare:
            one.close()
        heard.append(await self.world.do("after"))
        return heard

    # -- H5

    @handler
    async def h5_group(self) -> list[str]:
        """A child fails, its siblings clean up with calls, within a limit of time."""
        heard: list[str] = []

        async def child(name: str) -> None:
            try:
                await self.world.do(name)
                if name == "b":
                    raise ValueError("no")
                heard.append(await self.world.do(f"more {name}"))
            finally:
                heard.append(await self.world.do(f"clean {name}"))

        try:
            async with asyncio.timeout(6):
                async with asyncio.TaskGroup() as group:
                    for name in "abc":
                        group.create_task(child(name))
        except* ValueError as several:
            heard.append(f"{len(several.exceptions)} failed")
        except* TimeoutError:
            heard.append("too late")
        heard.append(await self.world.do(f"end {heard}"))
        return heard

    @handler
    async def h5_groups_in_groups(self) -> list[str]:
        heard: list[str] = []

        async def inner(name: str) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.world.do(f"{name} 1"))
                group.create_task(self.world.do(f"bad {name}" if name == "b" else name))
                group.create_task(sleep(2))
            heard.append(name)

        try:
            async with asyncio.TaskGroup() as group:
                for name in "abc":
                    group.create_task(inner(name))
        except* Declined:
            heard.append("declined")
        heard.append(await self.world.do(f"end {heard}"))
        return heard
