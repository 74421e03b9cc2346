"""The state of an agent as its steps hand it on: what one begins with, and what it changed.

What the last attempt of a step changed is put in place with the step's end. It never sees an
attempt that failed: what that one did went with its own copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentctl.errors import AgentctlError, NotRecordable
from agentctl.sdk.fields import fresh_transients


def snapshot(obj: Any) -> Mapping[str, bytes]:
    """The state of an event's object, each field as JSON.

    Raises:
        NotRecordable: a field can't be written down, or is gone.
    """
    fields, values, taken = type(obj).__agentctl_spec__.state, vars(obj), {}
    for name, one in fields.items():
        try:
            taken[name] = one.codec.encode(values[name])
        except NotRecordable as error:
            raise NotRecordable(f"the state {name}: {error.message}", path=name) from None
        except KeyError:
            raise NotRecordable(f"the state {name} was deleted", path=name) from None
    return taken


def working_copy(original: Any, state: Mapping[str, bytes]) -> Any:
    """What the code of a step has as its agent: the same instance, with this state, for itself."""
    cls = type(original)
    spec, known = cls.__agentctl_spec__, vars(original)
    copy = object.__new__(cls)
    attributes = copy.__dict__
    for name in (*(one.name for one in spec.identity), *spec.capabilities):
        attributes[name] = known[name]
    for name, one in spec.state.items():
        attributes[name] = one.codec.decode(state[name])
    if spec.transient:
        attributes.update(fresh_transients(spec))
    return copy


def changes(obj: Any, before: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The fields of an object's state that aren't as in a snapshot before, each as JSON.

    Raises:
        NotRecordable: a field can't be written down, or not be read back then.
    """
    fields = type(obj).__agentctl_spec__.state
    changed = {name: raw for name, raw in snapshot(obj).items() if raw != before[name]}
    for name, raw in changed.items():
        try:
            fields[name].codec.decode(raw)  # the handler gets it from the record
        except NotRecordable as error:
            raise NotRecordable(f"the state {name}: {error.message}", path=name) from None
    return changed


def put_in_place(obj: Any, changed: Mapping[str, bytes]) -> None:
    """Give the handler's own object what a step changed.

    Raises:
        AgentctlError: the class has no such state any more.
    """
    fields = type(obj).__agentctl_spec__.state
    for name, raw in changed.items():
        try:
            vars(obj)[name] = fields[name].codec.decode(raw)
        except (NotRecordable, KeyError) as error:
            raise AgentctlError(f"the recorded state {name} no longer fits: {error}") from None
