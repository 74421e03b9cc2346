"""What a person asks of the model's agent: under keys, and to cancel, retry and delete.

The rules of a mixin: the machine in test_model.py owns what is known of each event.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from agentctl.core.lifecycle import Phase
from agentctl.engines.changes import CancelRequest, DeleteRequest, RetryRequest
from agentctl.engines.port import InvokeRequest
from agentctl.errors import NotFound, SetAside

from .model_agents import KEYS


class Changes(RuleBasedStateMachine):
    """Rules that change events from outside."""

    @rule(key=st.sampled_from(KEYS), times=st.integers(1, 3), at=st.sampled_from((None, 0, 1)))
    def invoke_under_a_key(self, key, times, at) -> None:
        """Each time it is one event, whatever died before; a cancelled key is free again."""
        name, calls = -1 - KEYS.index(key), 2
        if at is not None:
            self.world.deadly.add((name, at))
        known = self.keys.get(key)
        if known is not None and known in self.cancelled | self.gone:
            known = None

        async def life() -> None:
            async with self.durable.host(*self.bindings()) as host:
                self.note_aside(host.recovered[0])
                for _ in range(times):
                    await self.invoke_once(host, key, (name, calls), known)
                await host.idle(float("inf"))

        self.live(life)
        self.world.deadly.discard((name, at))

    async def invoke_once(self, host, key: str, args: tuple[int, int], known: int | None) -> None:
        request = InvokeRequest("Bot", (), "branches", args, key=key)
        try:
            number = (await host.submit(request)).event
        except SetAside:
            assert known in self.aside
            return
        joined = self.keys.get(key) if known is None else known
        assert number == joined or (known is None and number > self.told)
        self.told = max(self.told, number)
        self.keys[key] = number
        self.expect(number, "branches", *args)

    @rule(calls=st.integers(1, 3), running=st.booleans(), by_key=st.booleans())
    def cancel_while_it_sleeps(self, calls, running, by_key) -> None:
        async def life() -> None:
            async with self.durable.host(*self.bindings(), jumps=False) as host:
                self.note_aside(host.recovered[0])
                number = await self.submit(host, "branches", calls + 1)
                await host.idle(0)
                await self.cancel_in(host, self.named(number, by_key), running)
                await host.idle(0)

        self.live(life)

    async def cancel_in(self, host, named: dict, running: bool) -> None:
        change = CancelRequest("Bot", self.new_id(), running=running, **named)
        answer = await host.carry_out(change)
        self.note_cancel(answer)
        assert await host.carry_out(change) == answer or answer.answer != "cancelled"

    def named(self, number: int, by_key: bool) -> dict:
        keys = [key for key, one in self.keys.items() if one == number]
        return {"key": keys[0]} if by_key and keys else {"event": number}

    def note_cancel(self, answer) -> None:
        number = None if answer.event is None else int(answer.event.partition("#")[2])
        if answer.answer in ("cancelled", "already_cancelled"):
            assert number not in self.ended, "it had ended"
            assert answer.answer == "cancelled" or number in self.cancelled
            self.cancelled.add(number)
        elif answer.answer == "finished":
            over = set(self.ended) | self.failed | self.aside | self.gone
            assert number in over or number > self.told

    def new_id(self) -> str:
        self.ids += 1
        return f"request {self.ids}"

    @precondition(lambda self: self.history() and self.history().open)
    @rule(place=st.integers(0, 5), by_key=st.booleans())
    def cancel_without_a_program(self, place, by_key) -> None:
        events = [one.number for one in self.history().open.values() if one.accepted.from_ is None]
        if not events:
            return
        number = events[place % len(events)]
        change = CancelRequest("Bot", self.new_id(), **self.named(number, by_key))
        first, again = self.desk().carry_out(change), self.desk().carry_out(change)
        assert first == again or first.answer == "already_cancelled"
        assert first.answer in ("cancelled", "already_cancelled")
        self.note_cancel(first)

    @precondition(lambda self: self.history() and (self.failed or self.stuck()))
    @rule(place=st.integers(0, 5), mended=st.booleans())
    def retry(self, place, mended) -> None:
        if mended:
            self.mend()
        numbers = sorted(self.failed | self.stuck())
        number = numbers[place % len(numbers)]
        change = RetryRequest("Bot", self.new_id(), event=number)
        first = self.desk().carry_out(change)
        assert first == self.desk().carry_out(change), "answered otherwise the second time"
        assert number in self.history().open
        self.failed.discard(number)

    def stuck(self) -> set[int]:
        history = self.history()
        events = () if history is None else history.open.values()
        return {one.number for one in events if one.phase is Phase.STUCK and not one.cancel}

    @rule()
    def delete_the_instance(self) -> None:
        """What it has left to do is cancelled; what has begun cleans up with the next start."""
        history = self.history()
        if history is None:
            return
        self.look()
        open_now = {f"Bot#{number}" for number in history.open}
        change = DeleteRequest("Bot", self.new_id())
        try:
            deleted = self.desk().carry_out(change)
        except NotFound:
            assert not open_now
        else:
            assert set(deleted.cancelled) == open_now
            assert deleted == self.desk().carry_out(change)
            self.cancelled |= {int(one.partition("#")[2]) for one in deleted.cancelled}
            self.counted_before = set(self.ended)
            self.keys.clear()
            self.gone |= self.failed  # what failed can't be run again any more
            self.failed.clear()
            self.deleted = True
