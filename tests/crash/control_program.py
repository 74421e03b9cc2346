"""A program that serves an agent's folder, for tests that harm it: FOLDER [SOFT LIMIT OF FILES].

Prints `ready`, then reads commands: `fork` leaves a child behind and prints its pid.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time

import msgspec

from agentctl.engines.local.control import ControlServer


async def echo(params: msgspec.Raw) -> msgspec.Raw:
    return params


async def wait(params: msgspec.Raw) -> str:
    print("waiting", flush=True)
    await asyncio.sleep(1000)
    return "waited"


async def large(params: msgspec.Raw) -> str:
    return "x" * 8_000_000


def fork() -> int:
    child = os.fork()
    if child == 0:
        time.sleep(1000)
        os._exit(0)
    return child


async def life(folder: str) -> None:
    server = ControlServer(folder, {"echo": echo, "wait": wait, "large": large})
    await server.start()
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline) == "fork\n":
        print(fork(), flush=True)
    await server.close()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), hard))
    asyncio.run(life(sys.argv[1]))
