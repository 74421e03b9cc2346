"""Making an event's calls for real: capabilities' code, other agents' handlers.

A call is launched once its record is durable (R2), in a task of its own. What comes of it goes to
the event, unless nobody waits for it any more. It never writes and never delivers: `EventRun` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from agentctl.core.kept import Asking
from agentctl.engines.local.events.calls import CallName, CallRun, run_call
from agentctl.engines.local.events.effects import Sender, is_effect
from agentctl.engines.local.events.ledger import Ledger
from agentctl.engines.local.events.made import Made, failed, unknown_outcome
from agentctl.engines.local.events.open_op import OpenOp
from agentctl.engines.local.events.questions import Question
from agentctl.engines.local.events.site import Site
from agentctl.engines.local.events.slots import Slots
from agentctl.engines.local.events.stepping import StepRun, run_step
from agentctl.errors import Denied
from agentctl.records import EventRecord
from agentctl.sdk.context import CallContext
from agentctl.sdk.loop import HandlerLoop
from agentctl.sdk.ops import AskOp, CallOp, CancelOp, Op, ResultOp, SendOp, StepOp

Ended: TypeAlias = Callable[[OpenOp, Made], None]


class Making:
    """Makes the calls of one event.

    Args:
        loop: the handler's.
        ended: takes what comes of each.

    Attributes:
        given_up: the event came to rest, or its program let go of it.
    """

    __slots__ = (
        "_accepted",
        "_ended",
        "_ledger",
        "_loop",
        "_site",
        "given_up",
        "key_begins",
    )

    def __init__(
        self,
        site: Site,
        accepted: EventRecord,
        ledger: Ledger,
        *,
        loop: Callable[[], HandlerLoop],
        ended: Ended,
    ) -> None:
        self._loop = loop
        self._site = site
        self._accepted = accepted
        self._ledger = ledger
        self._ended = ended
        self.given_up = False
        self.key_begins = site.key(accepted, "")

    def expect(self, calls: Sequence[OpenOp]) -> None:
        """Note what others are to answer among calls that are about to be made."""
        for opened in calls:
            op = opened.op
            if isinstance(op, AskOp):
                self._site.program.open_asks[self._at(opened)] = op.target.agent, self._asking(op)
            elif isinstance(op, ResultOp):
                self._site.program.open_asks[self._at(opened)] = op.agent, op.sent

    def no_longer(self, opened: OpenOp) -> None:
        """Note that nobody waits for a call any more."""
        if isinstance(opened.op, AskOp | ResultOp):
            self._site.program.open_asks.pop(self._at(opened), None)

    def _at(self, opened: OpenOp) -> tuple[str, int, str]:
        return self._site.name, self._accepted.event, opened.op.path

    def _asking(self, op: Op) -> Asking:
        return self.key_begins + op.path, self._accepted.nonce

    def tell(self, op: Op) -> None:
        """Let an asked agent forget the answer, once it is durable here that it came (R16)."""
        if isinstance(op, AskOp):
            agent = None if op.query else op.target.agent
        else:
            sent = isinstance(op, SendOp) and not is_effect(op, self._site.name)
            agent = op.agent if isinstance(op, SendOp) and sent else None
        if agent is not None:
            told, asking = agent, self._asking(op)
            self._site.when_durable(lambda: self._site.program.tell(told, [asking]))

    def sender(self, op: Op) -> Sender:
        """The event as who is asked knows it."""
        exclusive = self._site.exclusive(self._accepted)
        return Sender(self._site.name, self.key_begins + op.path, self._accepted, exclusive)

    def launch(self, calls: Sequence[OpenOp]) -> None:
        """Make these calls, if anybody still waits for them."""
        # Crash here: the calls are durable and not made; the next start makes them.
        if self.given_up or self._site.program.stopping:
            return
        for opened in calls:
            if self.waits_for(opened):
                self._launch_one(opened)

    def waits_for(self, opened: OpenOp) -> bool:
        """Whether the event still waits for the call."""
        return not self.given_up and self._ledger.open.get(opened.op.path) is opened

    def _launch_one(self, opened: OpenOp) -> None:
        op, program = opened.op, self._site.program
        key = self.key_begins + op.path
        if isinstance(op, AskOp):
            exclusive = self._site.exclusive(self._accepted)
            question = Question(op, key, self._site.name, self._accepted, exclusive)
            opened.running = program.spawn(self._take(opened, lambda: program.ask(question)), None)
            return
        if isinstance(op, SendOp | CancelOp | ResultOp):
            timing, sender = op, self.sender(op)
            opened.running = program.spawn(
                self._take(opened, lambda: program.timings.ask(timing, sender)), None
            )
            return
        assert isinstance(op, CallOp | StepOp)
        unmade = self._why_unmade(opened, op)
        if unmade is not None:
            self._ended_unmade(opened, unmade)
            return
        answer = None if opened.answer is None else bytes(opened.answer.value)
        context = CallContext(key, self._accepted.nonce, opened.attempt, program.clock, answer)
        if isinstance(op, StepOp):
            self._launch_step(opened, op, context)
            return
        run = CallRun(
            op,
            self._site.method(op.field, op.method.name),
            context,
            program.threads,
            self._take_turn,
            self._entered,
        )
        self._spawn(opened, op.method.fn, lambda: run_call(run))

    def _why_unmade(self, opened: OpenOp, op: CallOp | StepOp) -> Exception | None:
        """What the handler gets in the place of a call that may not be made, or not again."""
        if isinstance(op, CallOp):
            refused = op.denied or self._site.denied(op.field, op.method.name)
            if refused is not None:
                return Denied(refused)
        if opened.cut_off and not opened.repeat:
            name = op.method.fn if isinstance(op, CallOp) else f"step {op.name}"
            return unknown_outcome(self.key_begins + op.path, name)
        return None

    def _launch_step(self, opened: OpenOp, op: StepOp, context: CallContext) -> None:
        run = StepRun(
            op,
            opened.state,
            self._loop(),
            context,
            self._site.method,
            self._site.denied,
            self._site.program.threads,
            self._take_turn,
            self._entered,
        )
        name = f"step {op.name}" if op.undoes is None else f"undo {op.name}"
        self._spawn(opened, name, lambda: run_step(run))

    def _spawn(self, opened: OpenOp, name: str, work: Callable[[], Awaitable[Made]]) -> None:
        program, key = self._site.program, self.key_begins + opened.op.path
        called = CallName(self._site.name, key, name, program.now_us())
        opened.running = program.spawn(self._take(opened, work), called)

    def _ended_unmade(self, opened: OpenOp, error: Exception) -> None:
        made = failed(error)
        self._site.program.soon(lambda: self._ended(opened, made))

    def _take_turn(self, slots: Slots) -> Awaitable[None]:
        return self._site.program.take_turn(slots, self._site.name, self._accepted.event)

    def _entered(self, key: str, name: str) -> None:
        self._site.program.listener.called(key, name)
        self._site.entered(self._accepted.event)

    async def _take(self, opened: OpenOp, work: Callable[[], Awaitable[Made]]) -> None:
        try:
            made = await work()
        except asyncio.CancelledError as error:
            if not self.waits_for(opened) or self._site.program.stopping:
                return
            made = failed(error)  # somebody else cancelled it: the handler still waits
        except BaseException as error:
            self._site.program.die(error)
            if isinstance(error, SystemExit | KeyboardInterrupt):
                raise
            return
        finally:
            self._site.program.over(opened.running)
        self._site.program.from_task(lambda: self._ended(opened, made))
