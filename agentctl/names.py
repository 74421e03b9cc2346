"""Names of agents, addresses of instances and events, keys of calls: parse, format.

An address names an instance, `Bot` or `Poller/eu%2F7`; with `#7` behind it, an event. A call key
is the instance, the event and the call's path in it: `Bot-1-2`, `Poller/my-poller-17-1.3`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from agentctl.errors import UsageError

_AGENT_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)
_EVENT: Final = re.compile(r"(?P<instance>.*?)(?:[#:](?P<event>\d{1,18}))?", re.DOTALL)
_CALL_KEY: Final = re.compile(r"(?P<instance>.+)-(?P<event>\d{1,18})-(?P<path>\d+(?:\.\d+)*)")
_CALLED: Final = re.compile(r"(?P<agent>[^(/]+)\((?P<args>.*)\)", re.DOTALL)
_WINDOWS_DEVICES: Final = frozenset(
    ["CON", "PRN", "AUX", "NUL", *(f"{d}{n}" for d in ("COM", "LPT") for n in range(1, 10))]
)

Identity = tuple[str, ...]
"""The text forms of an instance's identity fields, in the order of the class; () without."""


def is_agent_name(name: str) -> bool:
    """Whether `name` can be an agent's, and so a folder's."""
    return bool(_AGENT_NAME.fullmatch(name)) and name.upper() not in _WINDOWS_DEVICES


def check_agent_name(name: str) -> str:
    """Return `name` if it can be an agent's, and so a folder's.

    Raises:
        UsageError: it could leave `agents/`, or clash on another file system.
    """
    if not _AGENT_NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} can't be an agent's name",
            hint="use 1 to 64 ASCII letters, digits and _, with a letter first",
        )
    if name.upper() in _WINDOWS_DEVICES:
        raise UsageError(
            f"{name!r} can't be an agent's name: some systems reserve it for a device",
            hint="choose another name",
        )
    return name


def format_instance(agent: str, identity: Identity) -> str:
    """Write an instance as its address: `Bot`, `Poller/eu%2F7`."""
    if not identity:
        return agent
    from urllib.parse import quote

    return "/".join((agent, *(quote(part, safe="") for part in identity)))


def shell_words(instance: str, name: str) -> str:
    """Write an instance and a schedule's name as the words of a command, to be copied."""
    import shlex

    return shlex.join((instance, "--", name) if name.startswith("-") else (instance, name))


@dataclass(frozen=True, order=True)
class Address:
    """An instance, or one of its events."""

    agent: str
    identity: Identity = ()
    event: int | None = None

    def __str__(self) -> str:
        instance = format_instance(self.agent, self.identity)
        return instance if self.event is None else f"{instance}#{self.event}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read `Bot`, `Poller/eu%2F7`, `Poller("eu/7")`, each with `#7` or `:7` behind it.

        Raises:
            UsageError: it is none of these.
        """
        found = _EVENT.fullmatch(text.strip())
        assert found is not None  # every text matches
        event = int(found["event"]) if found["event"] else None
        agent, identity = _parse_instance(found["instance"], text)
        return cls(check_agent_name(agent), identity, event)


def _parse_instance(text: str, whole: str) -> tuple[str, Identity]:
    called = _CALLED.fullmatch(text)
    if called is None:
        agent, *parts = text.split("/")
        if not parts:
            return agent, ()
        from urllib.parse import unquote

        return agent, tuple(unquote(part) for part in parts)
    try:
        values = _literals(called["args"])
        identity = tuple(identity_text(value) for value in values)
        if not all(map(is_utf8, identity)):
            raise ValueError("no file can hold a lone surrogate")
        return called["agent"], identity
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise UsageError(
            f"{whole[:200]!r} is no address",
            hint="""write Poller("my-poller") or Poller/my-poller""",
        ) from None


def _literals(text: str) -> tuple[str | int, ...]:
    """Read texts and numbers as Python writes them; runs nothing.

    Raises:
        ValueError, TypeError, SyntaxError, MemoryError, RecursionError: it is anything else.
    """
    import ast
    import warnings

    with warnings.catch_warnings():
        # Python's compiler warns of what it reads; this is an address, and no program.
        warnings.simplefilter("ignore")
        values = ast.literal_eval(f"({text},)" if text.strip() else "()")
    if not isinstance(values, tuple) or not all(isinstance(v, str | int) for v in values):
        raise TypeError("only texts and numbers are identity")
    return values


def is_utf8(text: str) -> bool:
    """Whether a file can hold the text: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def identity_text(value: str | int) -> str:
    """Write a plain identity value as text; booleans as JSON has them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def parse_call_key(text: str) -> tuple[Address, str] | None:
    """Read a call key, `Poller/my-poller-17-1.3`, as an event and a path; None if it is none.

    Raises:
        UsageError: what stands in front of the numbers is no instance.
    """
    found = _CALL_KEY.fullmatch(text.strip())
    if found is None:
        return None
    instance = Address.parse(found["instance"])
    if instance.event is not None:
        return None
    return Address(instance.agent, instance.identity, int(found["event"])), found["path"]


def format_call_key(instance: str, event: int | str, path: str) -> str:
    """Write a call key: `Bot-1-2`; `event` is the random part where there is no journal."""
    return f"{instance}-{event}-{path}"
