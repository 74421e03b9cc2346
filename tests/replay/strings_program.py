"""A program whose handler makes a call for each of a set of strings; run as a process of its own.

    python strings_program.py FOLDER CALLS HANDLER

It dies in the CALLSth call; 0: it goes on with what it finds, to the end. Each call
that it makes it prints.
"""

from __future__ import annotations

import asyncio
import os
import sys
from abc import abstractmethod

from agentctl import Agent, Capability, Host, bind, handler

NAMES = {"pear", "apple", "fig", "quince", "melon", "grape", "plum", "cherry"}


class World(Capability):
    @abstractmethod
    async def mail(self, name: str) -> None: ...

    @abstractmethod
    async def note(self, names: set[str]) -> set[str]: ...


class Strings(Agent):
    world: World

    @handler
    async def each(self) -> list[str]:
        for name in NAMES:
            await self.world.mail(name)
        return list(NAMES)

    @handler
    async def together(self) -> list[str]:
        first = await self.world.note(NAMES)
        return sorted(await self.world.note(first | {"lime"}))


class Printing(World):
    def __init__(self, left: int) -> None:
        self._left = left

    def _made(self, what: str) -> None:
        print(what, flush=True)
        self._left -= 1
        if self._left == 0:
            os._exit(9)

    async def mail(self, name: str) -> None:
        self._made(name)

    async def note(self, names: set[str]) -> set[str]:
        self._made(str(len(names)))
        return names


async def main(root: str, calls: int, name: str) -> None:
    async with Host(bind(Strings, world=Printing(calls)), root=root) as host:
        if calls:
            strings = host.reference(Strings)
            await (strings.each() if name == "each" else strings.together())
        else:
            await host.idle(float("inf"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
