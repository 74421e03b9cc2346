"""Inputs from outside: questions of a handler, and steps that wait for what only a person knows.

A question is on record before anything that the handler does after it (R2, R21): whoever learns
its key can answer it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from agentctl.errors import ControlFlow, UsageError
from agentctl.names import Address, parse_call_key
from agentctl.sdk.capability import Duration
from agentctl.sdk.context import CALL, handler_loop
from agentctl.sdk.loop import HandlerLoop
from agentctl.sdk.moments import wait_us
from agentctl.sdk.ops import QuestionOp
from agentctl.sdk.registry import invoker_of
from agentctl.sdk.scope import SCOPE
from agentctl.sdk.stubs import running_loop
from agentctl.value_schemas import InputType, describe
from agentctl.values import codec

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

LONGEST_TEXT: Final = 4000
"""Of a question, in characters."""


class Question(Generic[T]):
    """A question on record; await it for the answer, as often as you like.

    Raises:
        TimeoutError: when awaited: its time is over, and nobody answered.
    """

    __slots__ = ("_future", "_loop", "_path")

    def __init__(self, loop: HandlerLoop, path: str, future: asyncio.Future[T]) -> None:
        self._loop = loop
        self._path = path
        self._future = future

    @property
    def key(self) -> str:
        """Its call key, `Bot-7-3`, to be sent along: by it, it is answered."""
        return self._loop.execution.key(self._path)

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio

        # Who gives up waiting leaves the question open: it can be awaited again.
        return asyncio.shield(self._future).__await__()

    def answer(self) -> Generator[Any, None, T]:
        """Wait for the answer; who gives up waiting gives up the question, and it is refused then.

        It costs less than awaiting the question, which can be awaited again.
        """
        try:
            return (yield from self._future)
        finally:
            if not self._future.done() or self._future.cancelled():
                self._loop.drop(self._path)


async def question(text: str, type_: type[T], /, *, timeout: Duration | None = None) -> Question[T]:
    """Put a question on record; it can be answered from then on, also before it is awaited.

    Args:
        type_: what the answer must be.
        timeout: seconds, or a timedelta, after which awaiting it raises `TimeoutError`.

    Raises:
        UsageError: it isn't asked in a handler, or makes no sense.
    """
    loop = handler_loop("question()", "out here nobody could answer it")
    loop.refuse_once_closed()
    what = _input_type(text, type_)
    path = loop.branch().next_path()
    until_us = None if timeout is None else loop.now_us + max(0, wait_us("the timeout", timeout))
    future = loop.open(path)
    future.add_done_callback(_taken_note_of)
    loop.execution.submit(QuestionOp(path, text, what, codec(type_), until_us))
    return Question(loop, path, future)


def _taken_note_of(future: asyncio.Future[Any]) -> None:
    """That nobody answered is no fault, where the handler never came to await it."""
    if not future.cancelled():
        future.exception()


async def wait_for_input(text: str, type_: type[T], /, *, timeout: Duration | None = None) -> T:
    """Ask a person or a webhook, and wait for the answer; arguments as those of `question`.

    Raises:
        TimeoutError: nobody answered in time.
    """
    asked = await question(text, type_, timeout=timeout)
    return await _Waiting(asked)


class _Waiting(Generic[T]):
    """The wait for the answer to a question that nobody else knows: who gives it up, drops it."""

    __slots__ = ("_asked",)

    def __init__(self, asked: Question[T]) -> None:
        self._asked = asked

    def __await__(self) -> Generator[Any, None, T]:
        return self._asked.answer()


class WaitForInput(ControlFlow):
    """Raised in a step: it waits for an input of this type, and then runs again.

    Attributes:
        text: what is wanted, for people.
        what: the type of the input.
        timeout_us: how long it waits; then the step has failed with `TimeoutError`.

    Raises:
        UsageError: it makes no sense.
    """

    def __init__(
        self, text: str, type_: type[object], /, *, timeout: Duration | None = None
    ) -> None:
        super().__init__(text)
        self.text = text
        self.what = _input_type(text, type_)
        self.timeout_us = None if timeout is None else max(0, wait_us("the timeout", timeout))


def resume_input(type_: type[T], /) -> T | None:
    """The input that a waiting step was resumed with; None: it hasn't waited yet.

    Raises:
        UsageError: it isn't used in a step.
        NotRecordable: the input isn't of this type.
    """
    ctx = CALL.get()
    if ctx is None or SCOPE.get() is None:
        raise UsageError("resume_input() works in a step", hint="a handler uses wait_for_input()")
    if ctx.input is None:
        return None
    value: T = codec(type_).decode(ctx.input)
    return value


async def resume(call: str, value: object, /, *, by: str = "", note: str = "") -> None:
    """Give the input that an event of this program waits for; it is durable on return.

    For code that runs beside agents, such as a webhook: it works outside of handlers.

    Args:
        call: the key of the question, or of the step that waits: `Bot-7-3`.
        value: the input; recorded by its own type, and checked by the one that is waited for.
        by: who gives it, for the audit log.

    Raises:
        NotFound: there is no such call.
        Conflict: it doesn't wait for an input, or it is decided already.
        UsageError: the input isn't of the type that is waited for, or this is no call's key.
        AgentctlError: the agent doesn't run in this program.
    """
    if running_loop() is not None:
        raise UsageError(
            "resume() works outside of handlers", hint="a handler asks the other agent: ref(…)"
        )
    address, path = call_of(call)
    try:
        raw = codec(type(value)).encode(value)
    except TypeError as error:
        raise UsageError(f"an input can't be of this type: {error}") from None
    await invoker_of(address.agent).resume((address, path), raw, by, note)


def call_of(key: str) -> tuple[Address, str]:
    """The event and the path in a call's key.

    Raises:
        UsageError: it is none.
    """
    found = parse_call_key(key)
    if found is None:
        raise UsageError(f"{key!r} is no call's key", hint="it looks like Bot-7-3: Question.key")
    return found


def _input_type(text: object, type_: object) -> InputType:
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
        raise UsageError(f"a question is a text, and this is {text!r:.80}")
    try:
        return describe(type_)
    except TypeError as error:
        raise UsageError(f"an input can't be of this type: {error}") from None
