"""The schedules of `kavach.toml` as a program that starts is to set them.

Checked by the handlers of the code that is loaded: what doesn't fit is an error of the file, with
its line, before any folder is opened.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentctl.engines.local.asking.sending import wish_by
from agentctl.engines.schedules import SetRequest
from agentctl.errors import AgentctlError, NotFound, UsageError
from agentctl.names import format_instance
from agentctl.project.loading import LoadedAgent
from agentctl.project.model import FileSchedule, Project
from agentctl.sdk.agent import spec_of


def filed(project: Project, agents: Sequence[LoadedAgent]) -> Sequence[SetRequest]:
    """What the file asks for, as far as these agents go.

    Raises:
        ProjectError: a handler isn't there, or takes other arguments; an instance isn't one, or is
            another one written otherwise.
    """
    specs = {spec_of(one.cls).name: spec_of(one.cls) for one in agents}
    requests, places = [], set()
    for one in project.schedules():
        if one.agent in specs:
            request, table = _request(one), ("schedules", str(one.timing.name))
            try:
                wish = wish_by(specs[one.agent], request)
            except AgentctlError as error:
                raise project.file.error(
                    (*table, _key(error)), error.message, hint=error.hint
                ) from None
            if (place := (*table, wish.identity)) in places:  # 7 and 07 are one number
                instance = format_instance(one.agent, wish.identity)
                raise project.file.error((*table, "instances"), f"{instance} stands there twice")
            places.add(place)
            requests.append(request)
    return requests


def _request(one: FileSchedule) -> SetRequest:
    return SetRequest(
        one.agent,
        "",
        one.handler,
        one.timing,
        one.identity,
        one.args,
        one.kwargs,
        source="file",
    )


def _key(error: AgentctlError) -> str:
    """Which key of the table is wrong."""
    if isinstance(error, NotFound):
        return "handler"
    return "args" if isinstance(error, UsageError) and isinstance(error, TypeError) else "instances"
