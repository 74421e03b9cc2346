"""Door: the way into an agent's folder for who changes something, with or without a program.

Under the lock where nobody holds it, else through whoever does; one request id all along, and who
waits for an answer that doesn't come hears so. What only the lock's holder needs is loaded then:
beside a program, `invoke` needs none of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentctl.engines.changes import ANSWERS, Accepted, Answer, Change, Invoked
from agentctl.engines.desk import Holder, Unanswered
from agentctl.engines.local.control import Control, ControlGone, is_served, reach
from agentctl.engines.local.control.wire import Nothing, Rest, WaitRequest
from agentctl.engines.port import Ended, InvokeRequest
from agentctl.engines.schedules import Scheduled, SetRequest
from agentctl.engines.views import Inside
from agentctl.errors import Interrupted
from agentctl.names import Address
from agentctl.storage.files.disk import Disk
from agentctl.storage.files.holding import Lookout
from agentctl.storage.files.places import agent_folder
from agentctl.times import Clock

if TYPE_CHECKING:
    from agentctl.engines.local.changing import cold
    from agentctl.sdk.agent import Agent

T = TypeVar("T")


class Door:
    """The door to the folders below `root`."""

    def __init__(
        self,
        root: Path,
        clock: Clock,
        disk: Disk,
        pause: Callable[[float], None] = time.sleep,
        *,
        unanswered: Callable[[Unanswered], None] | None = None,
    ) -> None:
        self._root = root
        self._clock = clock
        self._disk = disk
        self._pause = pause
        self._unanswered = unanswered

    def carry_out(self, change: Change, wait_s: float) -> Answer:
        """Carry out a change.

        Raises:
            NotFound, Conflict, UsageError: as each change says; nothing was changed.
            Locked: a program holds the folder and doesn't answer.
        """
        from agentctl.engines.local.changing import cold, operations

        cold.check_there(self._root, change.agent, self._disk)
        returns: type[Answer] = ANSWERS[type(change)]

        def under_lock() -> Answer:
            with self._opened(change.agent) as ground:
                return operations.carry_out(ground, change)

        def ask(control: Control) -> Answer:
            slow = partial(self._tell_unanswered, change.agent, once=True)
            return control.call("change", change, returns, slow=slow)

        return self._reach(change.agent, under_lock, ask, wait_s)

    def invoke(
        self, agent: str, alone: Callable[[], T], beside: Callable[[Holder], T], wait_s: float
    ) -> T:
        """Do something beside the program that runs an agent, or without one.

        Args:
            alone: does it where no program runs the agent; raises `Locked` if one does by now.
            beside: has it done by the one that does.

        Raises:
            Locked: a program holds the folder and doesn't answer.
        """
        lookout = self._lookout(agent)

        def under_lock() -> T:
            if is_served(self._folder(agent)) or lookout.is_locked():
                # Before any code of the user's is loaded: the program has it loaded already.
                raise lookout.refusal()
            return alone()

        def ask(control: Control) -> T:
            return beside(Remote(control, lambda once: self._tell_unanswered(agent, once=once)))

        return self._reach(agent, under_lock, ask, wait_s)

    def leave(self, cls: type[Agent], request: InvokeRequest) -> Accepted:
        """Accept an event that begins when a program next runs the agent.

        Raises:
            NotFound, BadArguments, KeyReused, SetAside: nothing was accepted.
            Locked: a program runs the agent.
        """
        from agentctl.engines.local.asking.checking import wanted_of
        from agentctl.engines.local.changing import operations
        from agentctl.sdk.agent import spec_of

        wanted = wanted_of(spec_of(cls), request)
        with self._opened(request.agent) as ground:
            known = ground.history.answer_to(request.id)
            return operations.answer_again(known, Accepted) if known else ground.accept(wanted)

    def schedule(self, cls: type[Agent], request: SetRequest) -> Scheduled:
        """Set a schedule in a folder that nobody runs.

        Raises:
            NotFound, BadArguments, UsageError: it doesn't fit the handler, or makes no sense.
            Conflict: another source has set one of that name.
            Locked: a program runs the agent.
        """
        from agentctl.engines.local.asking.sending import set_schedule
        from agentctl.sdk.agent import spec_of

        with self._opened(request.agent) as ground:
            return set_schedule(ground, spec_of(cls), request)

    def _opened(self, agent: str) -> cold.Opening:
        from agentctl.engines.local.changing import cold
        from agentctl.storage.files.folder import FilesStore

        store = FilesStore(self._root, agent, self._disk, clock=self._clock)
        return cold.opened(store, agent, clock=self._clock, wait_s=0.0)

    def _tell_unanswered(self, agent: str, *, once: bool) -> None:
        if self._unanswered is not None:
            from agentctl.storage.files.holding import holder_of

            holder = holder_of(self._folder(agent), self._disk)
            self._unanswered(Unanswered(agent, holder.pid if holder is not None else 0, once))

    def _folder(self, agent: str) -> str:
        return agent_folder(self._root, agent)

    def _lookout(self, agent: str) -> Lookout:
        return Lookout(agent, self._folder(agent), self._disk, self._clock)

    def _reach(
        self,
        agent: str,
        under_lock: Callable[[], T],
        ask: Callable[[Control], T],
        wait_s: float,
    ) -> T:
        def ask_again(control: Control) -> T:
            try:
                return ask(control)
            except Interrupted as error:
                # It is just ending: the next holder is asked the same, or the lock is free.
                raise ControlGone(error.message) from error

        lookout = self._lookout(agent)
        return reach(
            under_lock,
            ask_again,
            folder=self._folder(agent),
            clock=self._clock,
            pause=self._pause,
            wait_s=wait_s,
            look=lookout.look,
            refusal=lambda: lookout.refusal(wait_s),
        )


class Remote:
    """The program that holds a folder, over its socket; implements `Holder`.

    Args:
        slow: hears that it hasn't answered yet, and whether asking again does nothing twice.
    """

    def __init__(self, control: Control, slow: Callable[[bool], None]) -> None:
        self._control = control
        self._slow = slow

    def invoke(self, request: InvokeRequest, timeout_s: float | None) -> Invoked:
        """Have an event accepted, or a query read.

        Raises:
            TimeoutError: no answer yet; whether it was accepted isn't known.
        """
        slow = partial(self._slow, request.key is not None)
        return self._control.call("invoke", request, Invoked, timeout_s, slow=slow)

    def schedule(self, request: SetRequest) -> Scheduled:
        """Set a schedule."""
        return self._control.call("schedule", request, Scheduled, slow=partial(self._slow, True))

    def wait(self, event: Address, timeout_s: float | None) -> Ended:
        """Wait until an event comes to rest.

        Raises:
            TimeoutError: it hasn't yet.
        """
        assert event.event is not None
        rest = self._control.call("wait", WaitRequest(event.event), Rest, timeout_s)
        return rest.ended

    def look(self) -> Inside:
        """Look into the program."""
        return self._control.call("look", Nothing(), Inside, 2.0)
