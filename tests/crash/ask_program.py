"""One of two real programs that ask each other, for kills at random moments.

    python ask_program.py FOLDER Front        asks `Desk` again and again, under keys of its own
    python ask_program.py FOLDER Desk         answers

Each goes on until the file `enough` is there; then what is open comes to its end. What `Desk` did
to the world goes to `ledger`, a file that only grows.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from agentctl import Agent, AgentSettings, Capability, bind, call_key, handler, uuid4
from agentctl.engines.port import InvokeRequest
from agentctl.hosting import Host

ASKING = 3
SETTINGS = AgentSettings(max_starts=1000, keep=100_000)


class World(Capability):
    async def deed(self, what: str) -> str: ...


class Ledger(World):
    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def deed(self, what: str) -> str:
        key = str(call_key())
        os.write(self._fd, f"{key} {what}\n".encode())
        await asyncio.sleep(0.002)
        return key


class Desk(Agent):
    world: World
    total: int = 0

    @handler
    async def add(self, order: str) -> list[str]:
        await self.world.deed(f"add-{order}")
        await self.world.deed(f"check-{order}")
        self.total += 1
        return [order, str(uuid4())]


class Front(Agent):
    world: World

    @handler
    async def ask(self, order: str) -> list[str]:
        await self.world.deed(f"before-{order}")
        answer = await Desk.ref().add(order)
        await self.world.deed(f"after-{order}")
        return answer


async def run(folder: Path, agent: type[Agent]) -> None:
    enough = folder / "enough"

    async def ask(host: Host, place: int) -> None:
        turn = 0
        while not enough.exists():
            # Asked for again after each kill, under the same key: it is one event.
            order = f"{place}.{turn}"
            address = await host.submit(InvokeRequest("Front", (), "ask", (order,), key=order))
            await host.ended(address)
            turn += 1

    async with Host(
        bind(agent, settings=SETTINGS, world=Ledger(folder)), root=folder, lock_wait_s=20.0
    ) as host:
        (folder / f"ready {agent.__name__}").touch()
        if agent is Front:
            await asyncio.gather(*(ask(host, place) for place in range(ASKING)))
            for address in host.recovered[0].unfinished:
                await host.ended(address)
            (folder / "all answered").touch()
        while not (folder / "all answered").exists():
            await asyncio.sleep(0.01)
        await host.idle()


def main() -> None:
    folder, agent = Path(sys.argv[1]), {"Front": Front, "Desk": Desk}[sys.argv[2]]
    asyncio.run(run(folder, agent))


if __name__ == "__main__":
    main()
