"""What a running program tells on stderr, a line each, by the standard library's logging.

Invariant: every line, the user's own too, says which agent, event and call it belongs to, where
it belongs to one; what a handler logs is told once, not again when it is replayed. Never writes to
stdout.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from agentctl.cli.failures import error_text, users_traceback
from agentctl.cli.output import Output, plain
from agentctl.engines.local.log import waiting_for
from agentctl.engines.port import Ended, Recovered
from agentctl.names import Address

log: Final = logging.getLogger("agentctl")

_REPEATS_TOO: Final = 2
"""With `-vv` also what is logged while replaying is shown."""


class Teller:
    """Hears what an engine does, and logs it.

    With `quietly`, what goes well is told only of events that were there before: an invocation
    whose result is printed needs no more words. `impatience` says what cuts a stop short.
    """

    def __init__(
        self, *, quietly: bool = False, impatience: str = "a second Ctrl-C ends at once"
    ) -> None:
        self._quietly = quietly
        self.impatience = impatience
        self._own: Address | None = None
        self._early: list[Ended] = []

    def recovered(self, found: Recovered) -> None:
        """A start has read an agent's journal; nothing of it runs yet."""
        _tell_recovered(found, every=not self._quietly)

    def own(self, event: Address) -> None:
        """Say nothing about the end of this event: the command's answer says it."""
        self._own = event
        early, self._early = self._early, []
        for end in early:
            self._tell(end)

    def started(self, event: Address, handler: str, *, again: bool) -> None:
        """An event begins to execute."""
        level = logging.DEBUG if self._quietly and not again else logging.INFO
        _say(level, f"{event} {'runs again' if again else 'started'}: {handler}", event)

    def ended(self, end: Ended, *, heard: bool) -> None:
        """An event came to rest."""
        if self._quietly and self._own is None and heard:
            self._early.append(end)  # it may be the command's own, faster than its number
            return
        self._tell(end)

    def called(self, key: str, fn: str) -> None:
        """A call is made for real."""
        log.debug("%s %s", key, fn, extra={"call": key})

    def asked(self, key: str, text: str, type_: str) -> None:
        """An event asks a person for an input: say what answers it."""
        answer = f"invocation resume {key} --input JSON"
        if type_ == "bool":
            answer = f"approval approve {key}"
        log.info("%s asks: %s; agentctl %s", key, text, answer, extra={"call": key})

    def warned(self, text: str) -> None:
        """Something that a person should know."""
        log.warning("%s", text)

    def save_cuts_short(self) -> None:
        """A save stops the program: say what cuts that short."""
        self.impatience = "save again to cut it off"

    def waiting(self, calls: Sequence[tuple[str, str]], at_most: timedelta | None) -> None:
        """A stop waits for calls."""
        log.info("%s; %s", waiting_for(calls, at_most), self.impatience)

    def _tell(self, end: Ended) -> None:
        event = end.event
        if event == self._own:
            return
        if end.status in ("completed", "cancelled"):
            _say(logging.INFO, f"{event} {end.status}", event)
        elif end.status == "failed":
            _say(logging.WARNING, f"{event} failed: {error_text(end.type, end.text)}", event)
        elif end.status == "missed":
            _say(logging.WARNING, f"{event} was missed: {end.text}", event)
        else:
            where = f" ({end.line})" if end.line else ""
            next_step = "take the change back" if end.divergence else "mend the code"
            text = (
                f"{event} is stuck: {end.text}{where}; {next_step}, "
                "it runs again at the next start, until it is set aside"
            )
            _say(logging.ERROR, text, event)
            for line in users_traceback(end.error) if end.error is not None else ():
                log.error("  %s", line)


def _tell_recovered(found: Recovered, *, every: bool) -> None:
    """Say what a start found, and where to look; with `every`, also where there is no news."""
    agent = {"agent": found.agent}
    if found.cut:
        text = f"{found.agent}: the journal's end was cut off: {found.cut}"
        log.warning("%s; the rest is whole", text, extra=agent)
    if found.unfinished:
        log.info(
            "%s: %s; see: agentctl inspect journal %s",
            found.agent,
            _unfinished(found),
            found.agent,
            extra=agent,
        )
    for event in found.set_aside:
        _say(logging.WARNING, _aside(event), event)
    lying = found.lying
    if lying:
        log.warning(
            "%s: still set aside: %s; put back with: agentctl requeue set-aside %s",
            found.agent,
            ", ".join(str(event) for event in lying[:5]) + ("…" if len(lying) > 5 else ""),
            found.agent,
            extra=agent,
        )
    for event, reason in found.stuck:
        text = f"{event} is stuck: {reason}; mend the code, it runs again at the next start"
        _say(logging.ERROR, text, event)
    if every and not (found.unfinished or found.set_aside or lying or found.stuck):
        log.info("%s: nothing was left unfinished", found.agent, extra=agent)


def set_up_logging(output: Output, *, as_json: bool, level: int) -> None:
    """Send log records to stderr: agentctl's own from `level` on, others from INFO on."""
    handler = logging.StreamHandler()
    to_terminal = output.notes_to_terminal
    lines = _TextLines(output.folded if to_terminal else None)
    handler.setFormatter(_JsonLines() if as_json else lines)
    if output.options.verbose < _REPEATS_TOO:
        handler.addFilter(_is_news)
    handler.addFilter(_say_where)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(max(level, logging.INFO))
    log.setLevel(level)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether this wasn't told in an earlier run: what a handler logs comes again with replay."""
    from agentctl.sdk.context import replaying

    return record.name == log.name or not replaying()


def level_of(output: Output) -> int:
    """From which level on to tell: `-q` warnings only, `-v` each call too."""
    if output.options.quiet:
        return logging.WARNING
    return logging.DEBUG if output.options.verbose else logging.INFO


def _say(level: int, text: str, event: Address) -> None:
    where = {"agent": event.agent, "event": str(event)}
    log.log(level, "%s", text, extra=where)


def _aside(event: Address) -> str:
    return (
        f"{event} is set aside: it was started too often without a new result; "
        f"put it back with: agentctl requeue set-aside {event.agent} {event.event}"
    )


def _unfinished(found: Recovered) -> str:
    """What runs again, and what begins only now."""
    new = set(found.new)
    again = [event for event in found.unfinished if event not in new]
    told = []
    if again:
        one = len(again) == 1
        what = "1 unfinished event runs" if one else f"{len(again)} unfinished events run"
        told.append(f"{what} again ({_listed(again)})")
    if found.new:
        what = "1 event has" if len(new) == 1 else f"{len(new)} events have"
        told.append(f"{what} yet to begin ({_listed(found.new)})")
    return ", ".join(told)


def _listed(events: Sequence[Address]) -> str:
    more = f" and {len(events) - 5} more" if len(events) > 5 else ""
    return ", ".join(str(event) for event in events[:5]) + more


def _say_where(record: logging.LogRecord) -> bool:
    """Note agent, event and call on a record that was made inside of one."""
    from agentctl.sdk.context import call_key
    from agentctl.sdk.stubs import running_loop

    if key := getattr(record, "call", None) or call_key():
        instance, event, _ = key.rsplit("-", 2)
        _mark(record, f"{instance}#{event}", key)
    elif (loop := running_loop()) is not None:
        _mark(record, loop.execution.title, None)
    return True


def _mark(record: logging.LogRecord, event: str, call: str | None) -> None:
    agent = event.partition("#")[0].partition("/")[0]
    vars(record).update(agent=agent, event=event, call=call)


class _TextLines(logging.Formatter):
    def __init__(self, folded: Callable[[str, int], str] | None) -> None:
        super().__init__()
        self._folded = folded

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        time = (
            moment.astimezone().strftime("%H:%M:%S")
            if self._folded is not None
            else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        )
        ours = record.name == "agentctl"
        where = getattr(record, "call", None) or getattr(record, "event", None)
        name = "" if ours else f"{record.name}{f' ({where})' if where else ''}: "
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        text = f"{time} {level}{name}{plain(record.getMessage())}"
        # A traceback's lines keep their blanks, as Python writes them.
        if self._folded is not None and not record.getMessage().startswith(" "):
            text = self._folded(text, len(time) + 1)
        if record.exc_info and record.exc_info[1] is not None:
            text = "\n".join((text, *users_traceback(record.exc_info[1])))
        return text


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        document = {
            "schema": "agentctl.log/1",
            "at": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in ("agent", "event", "call"):
            if (value := getattr(record, name, None)) is not None:
                document[name] = value
        if record.exc_info and record.exc_info[1] is not None:
            document["error"] = "\n".join(users_traceback(record.exc_info[1]))
        return json.dumps(document)
