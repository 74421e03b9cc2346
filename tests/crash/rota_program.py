"""One of two real programs that begin things by the clock, for kills at random moments.

    python rota_program.py FOLDER Front       polls by itself, and sends to `Desk` again and again
    python rota_program.py FOLDER Desk        is sent to

Each goes on until the file `enough` is there; then what is open comes to its end. What was done to
the world goes to `ledger`, a file that only grows.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from ask_program import World as Deeds

from agentctl import Agent, AgentSettings, bind, call_key, handler
from agentctl.engines.port import InvokeRequest
from agentctl.hosting import Host

SENDING = 2
TICK_S = 0.01
SETTINGS = AgentSettings(max_starts=1000, keep=100_000)


class World(Deeds):
    async def goes_on(self) -> bool: ...


class Ledger(World):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fd = os.open(folder / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def deed(self, what: str) -> str:
        key = str(call_key())
        os.write(self._fd, f"{key} {what}\n".encode())
        await asyncio.sleep(0.001)
        return key

    async def goes_on(self) -> bool:
        return not (self._folder / "enough").exists()


class Poller(Agent):
    name: str
    world: World
    ticks: int = 0

    @handler
    async def poll(self, tick: int) -> int:
        await self.world.deed(f"tick-{tick}")
        self.ticks += 1
        if await self.world.goes_on():
            await self.poll.after(TICK_S, name="tick")(tick + 1)
        return self.ticks


class Desk(Agent):
    world: World
    total: int = 0

    @handler
    async def add(self, order: str) -> str:
        await self.world.deed(order)
        self.total += 1
        return order


class Front(Agent):
    world: World

    @handler
    async def send(self, order: str) -> str:
        now = await Desk.ref().add.trigger()(f"now-{order}")
        await Desk.ref().add.after(TICK_S)(f"soon-{order}")
        await Desk.ref().add.after(TICK_S, name=order)(f"named-{order}")
        return await now.result()


async def run(folder: Path, agents: list[type[Agent]]) -> None:
    enough, first = folder / "enough", agents[0]

    async def send(host: Host, place: int) -> None:
        turn = 0
        while not enough.exists():
            # Asked for again after each kill, under the same key: it is one event.
            order = f"{place}.{turn}"
            address = await host.submit(InvokeRequest("Front", (), "send", (order,), key=order))
            await host.ended(address)
            turn += 1

    bound = [bind(one, settings=SETTINGS, world=Ledger(folder)) for one in agents]
    async with Host(*bound, root=folder, lock_wait_s=20.0) as host:
        (folder / f"ready {first.__name__}").touch()
        if first is Front:
            await host.submit(InvokeRequest("Poller", ("p",), "poll", (0,), key="first"))
            await asyncio.gather(*(send(host, place) for place in range(SENDING)))
            for found in host.recovered:
                for address in found.unfinished:
                    await host.ended(address)
            await host.idle(float("inf"))
            (folder / "all sent").touch()
        while not (folder / "all sent").exists():
            await asyncio.sleep(0.01)
        await host.idle(float("inf"))


def main() -> None:
    agents = {"Front": [Front, Poller], "Desk": [Desk]}[sys.argv[2]]
    asyncio.run(run(Path(sys.argv[1]), agents))


if __name__ == "__main__":
    main()
