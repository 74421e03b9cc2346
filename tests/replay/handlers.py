"""The handlers that are killed everywhere, one for each way of doing things side by side.

What the world answers is fixed (`answer`); only the order in which it answers is not.
"""

from __future__ import annotations

import asyncio
import contextvars
from abc import abstractmethod
from contextlib import aclosing

from agentctl import Agent, AgentError, Capability, handler, random, sleep, timeout, uuid4


class Declined(AgentError):
    """What the world answers to a call whose name begins with `bad`."""


class World(Capability):
    @abstractmethod
    async def do(self, what: str) -> str: ...

    @abstractmethod
    async def tell(self, what: set[str]) -> set[str]: ...


def answer(what: str | set[str]) -> str | set[str]:
    """What every world answers, in every run."""
    if isinstance(what, str) and what.startswith("bad"):
        raise Declined(what)
    return f"<{what}>" if isinstance(what, str) else {one + "!" for one in what}


class Bot(Agent):
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
        both = [asyncio.gather(self.line(n), self.world.do(f"{n} too")) for n in "abcdefgh"]
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


EVERY = tuple(name for name in vars(Bot) if name[0] == "h" and name[1].isdigit())
"""The names of all handlers."""
