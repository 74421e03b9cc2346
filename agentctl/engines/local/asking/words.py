"""Arguments as people type them, to JSON by the handler's annotations.

For a `str` the text stands as it is. For anything else it is JSON; text that isn't what the
annotation takes is tried as a JSON string, so that `2026-03-15` passes for a date without quotes.

Invariant: what passes fits the handler; nothing else does. Never runs the handler, and never
quotes the text of an argument whose annotation may hold a secret.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from agentctl.errors import BadArguments, NotFound, NotRecordable, UsageError
from agentctl.json_text import TOO_DEEP, check_json, read_json
from agentctl.nearest import nearest_hint
from agentctl.sdk.agent import Agent, spec_of
from agentctl.sdk.fields import AgentSpec
from agentctl.sdk.signature import CallSignature
from agentctl.values import PLAIN, Codec, codec

_NAMED: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL | re.ASCII)
_BY_POSITION: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
_OPEN: Final = (PLAIN, *map(codec, (bool, int, float)))
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class Arguments:
    """Arguments as JSON values."""

    args: Sequence[object] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)


def is_query(cls: type[Agent], name: str) -> bool:
    """Whether it only reads the state, and is no event."""
    return name in spec_of(cls).queries


def handler_signature(cls: type[Agent], handler: str) -> CallSignature:
    """Find the signature of a handler, or of a query.

    Raises:
        NotFound: the agent has neither; with the nearest.
    """
    spec = spec_of(cls)
    if handler in spec.queries:
        return spec.queries[handler]
    handlers = spec.handlers
    if handler not in handlers:
        raise no_handler(spec, handler)
    return handlers[handler].signature


def no_handler(spec: AgentSpec, name: str) -> NotFound:
    """Make the error for a handler that an agent doesn't have; queries are asked the same way."""
    hint = nearest_hint(name, [*spec.handlers, *spec.queries], "handlers")
    if not hint.startswith("did you mean"):
        hint = nearest_hint(name, spec.handlers, "handlers")
        if spec.queries:
            hint += f"; its queries: {', '.join(sorted(spec.queries))}"
    return NotFound(f"{spec.name} has no handler {name!r}", hint=hint)


def from_words(signature: CallSignature, words: Sequence[str]) -> Arguments:
    """Turn words into arguments, `name=value` into one that goes by its name.

    Raises:
        BadArguments: they don't fit the handler.
    """
    by_name = {p.name: signature.codecs[p.name] for p in signature.parameters if p.kind in _BY_NAME}
    extra = [p for p in signature.parameters if p.kind is inspect.Parameter.VAR_KEYWORD]
    by_position = _positions(signature)
    args: list[object] = []
    kwargs: dict[str, object] = {}
    for word in words:
        _check_text(word)
        found = _NAMED.fullmatch(word)
        if found and (found[1] in by_name or extra):
            name, text = found[1], found[2]
            if name in kwargs:
                raise BadArguments(f"the argument {name} is given twice", hint=_takes(signature))
            taken = by_name.get(name) or signature.codecs[extra[0].name]
            kwargs[name] = _value(signature, name, text, taken)
        else:
            name, taken = next(by_position, ("", PLAIN))
            if found and not _takes_word(taken, word):
                raise _no_argument(signature, found[1], by_name)
            # One too many is refused with all the others.
            args.append(_value(signature, name, word, taken) if name else word)
    return _fitting(signature, args, kwargs)


def from_json(signature: CallSignature, text: str) -> Arguments:
    """Turn a JSON list (by position) or object (by name) into arguments.

    Raises:
        BadArguments: they don't fit the handler, or it is neither.
    """
    values = read_json(text)
    if isinstance(values, dict):
        return _fitting(signature, [], values)
    if not isinstance(values, list):
        raise BadArguments(
            "the arguments are neither a JSON list nor an object",
            hint="""write them like [7], or {"order_id": 7}""",
        )
    return _fitting(signature, values, {})


def _fitting(
    signature: CallSignature, args: Sequence[object], kwargs: Mapping[str, object]
) -> Arguments:
    signature.bind(args, kwargs)
    for (name, taken), value in zip(_positions(signature), args, strict=False):
        _check(signature, name, value, taken)
    for name, value in kwargs.items():
        if name in signature.codecs:
            _check(signature, name, value, signature.codecs[name])
    return Arguments(args, kwargs)


def _positions(signature: CallSignature) -> Iterator[tuple[str, Codec[Any]]]:
    for parameter in signature.parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            while True:
                yield parameter.name, signature.codecs[parameter.name]
        if parameter.kind in _BY_POSITION:
            yield parameter.name, signature.codecs[parameter.name]


def _value(signature: CallSignature, name: str, text: str, taken: Codec[Any]) -> object:
    if taken is codec(str):
        return text
    try:
        value: object = msgspec.json.decode(text.encode())
    except RecursionError:
        raise _unfit(signature, name, TOO_DEEP, _takes(signature)) from None
    except ValueError:
        if taken is PLAIN or not _takes_value(taken, text):
            hint = "a text needs quotes: '\"…\"'" if taken is PLAIN else _takes(signature)
            problem = f"{_quoted(taken, text)} is no JSON"
            raise _unfit(signature, name, problem, hint) from None
        return text
    if not _takes_value(taken, value) and _takes_value(taken, text):
        return text
    try:
        check_json(text, value)
    except BadArguments as error:
        raise _unfit(signature, name, error.message, _takes(signature)) from None
    return value


def _takes_word(taken: Codec[Any], word: str) -> bool:
    """Whether a word that looks like `name=value` may be meant as it stands."""
    return taken is not PLAIN and _takes_value(taken, word)


def _no_argument(signature: CallSignature, name: str, known: Iterable[str]) -> BadArguments:
    near = nearest_hint(name, known, "arguments that go by name")
    joined = " " if near.endswith("?") else "; "
    hint = f"{near}{joined}{_takes(signature)}"
    return BadArguments(f"{signature.title} has no argument {name!r}", hint=hint)


def _quoted(taken: Codec[Any], text: str) -> str:
    """A text as an error may show it: only where the annotation surely holds no secret."""
    return repr(text[:80]) if any(taken is one for one in _OPEN) else "what was given"


def _takes_value(taken: Codec[Any], value: object) -> bool:
    try:
        taken.decode(msgspec.json.encode(value))
    except NotRecordable:
        return False
    return True


def _check(signature: CallSignature, name: str, value: object, taken: Codec[Any]) -> None:
    try:
        taken.decode(msgspec.json.encode(value))
    except NotRecordable as error:
        raise _unfit(signature, name, error.message, _takes(signature)) from None


def _check_text(word: str) -> None:
    try:
        word.encode()
    except UnicodeEncodeError:
        raise UsageError(
            "an argument is no text in this terminal's encoding", hint="write it as UTF-8"
        ) from None


def _unfit(signature: CallSignature, name: str, problem: str, hint: str) -> BadArguments:
    return BadArguments(f"{signature.title}, argument {name}: {problem}", hint=hint)


def _takes(signature: CallSignature) -> str:
    return f"call it as {signature.shown}"
