"""Run the command a thousand times in processes of its own, without a thousand interpreter starts.

`fleet.py SOCKET WORD…` imports what `run` and the command of these words import. Then it forks a
process for each connection: a line of JSON comes in with the words, and after how many seconds to
kill it (null: never). A line goes out as soon as it runs, and one with its exit code and its
streams when it has ended. The project is the working folder.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
from typing import BinaryIO, NoReturn


def become_the_command(words: list[str], out: BinaryIO, err: BinaryIO) -> NoReturn:
    """Run `agentctl WORDS` in this process, as `python -m agentctl` would."""
    code = 0
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, null), (1, out.fileno()), (2, err.fileno())):
            os.dup2(source, target)
        sys.argv = ["agentctl", *words]
        runpy.run_module("agentctl", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        os.write(2, f"Traceback: {error!r}".encode())
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def attend(connection: socket.socket) -> None:
    """Run one command, and tell its number and its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with connection.makefile("rwb") as line, tempfile.TemporaryFile() as out:
        with tempfile.TemporaryFile() as err:
            words, kill_after_s = json.loads(line.readline())
            pid = os.fork()
            if pid == 0:
                os.close(connection.fileno())
                become_the_command(words, out, err)
            line.write(json.dumps({"pid": pid}).encode() + b"\n")
            line.flush()
            if kill_after_s is not None:
                signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
                signal.setitimer(signal.ITIMER_REAL, kill_after_s)
            # It stays a zombie until the timer is off: its number can't be another's by then.
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            signal.setitimer(signal.ITIMER_REAL, 0)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            told = []
            for file in (out, err):
                file.seek(0)
                told.append(file.read().decode("utf-8", "replace"))
            ended = {"code": code, "out": told[0], "err": told[1]}
            line.write(json.dumps(ended).encode() + b"\n")


def warm_up() -> None:
    """Import what commands import, learnt from commands that children run."""
    reading, writing = os.pipe()
    for words in (["run", "--until-idle"], sys.argv[2:]):
        pid = os.fork()
        if pid == 0:
            real_exit = os._exit

            def tell_and_exit(code: int) -> NoReturn:
                names = [name for name in sys.modules if name.startswith("agentctl.")]
                os.write(writing, ("\n".join(names) + "\n").encode())
                real_exit(code)

            os._exit = tell_and_exit
            with open(os.devnull, "r+b") as nothing:
                become_the_command(words, nothing, nothing)
        os.waitpid(pid, 0)
    os.close(writing)
    with os.fdopen(reading) as names:
        for name in sorted({line.strip() for line in names}):
            if name != "agentctl.__main__":
                importlib.import_module(name)


def main() -> None:
    sys.path[0] = os.getcwd()
    warm_up()
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[1])
    server.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who attend
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            server.close()
            try:
                attend(connection)
            except BrokenPipeError:
                pass  # the test is over
            finally:
                os._exit(0)
        connection.close()


if __name__ == "__main__":
    main()
