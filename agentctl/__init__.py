"""agentctl: durable agents in plain Python.

The public names, loaded when they are first used, so that a command which only reads stays quick.
"""

from __future__ import annotations

# Not typing's: to load that takes a while, in which nobody could end the command without Python's
# own words about it. Type checkers know the name.
TYPE_CHECKING = False

__version__: Final = "0.1.0"

if TYPE_CHECKING:
    from typing import Final

    from agentctl.core.lifecycle import (
        Cancellation as Cancellation,
    )
    from agentctl.core.retry import (
        Exponential as Exponential,
    )
    from agentctl.core.retry import (
        Fixed as Fixed,
    )
    from agentctl.core.retry import (
        RetryPolicy as RetryPolicy,
    )
    from agentctl.errors import (
        AgentctlError as AgentctlError,
    )
    from agentctl.errors import (
        AgentError as AgentError,
    )
    from agentctl.errors import (
        CallFailed as CallFailed,
    )
    from agentctl.errors import (
        Cancelled as Cancelled,
    )
    from agentctl.errors import (
        Denied as Denied,
    )
    from agentctl.errors import (
        DiskTrouble as DiskTrouble,
    )
    from agentctl.errors import (
        Divergence as Divergence,
    )
    from agentctl.errors import (
        JournalDamaged as JournalDamaged,
    )
    from agentctl.errors import (
        KeyReused as KeyReused,
    )
    from agentctl.errors import (
        LaneFull as LaneFull,
    )
    from agentctl.errors import (
        Locked as Locked,
    )
    from agentctl.errors import (
        MissedRun as MissedRun,
    )
    from agentctl.errors import (
        NonRetryable as NonRetryable,
    )
    from agentctl.errors import (
        NotRecordable as NotRecordable,
    )
    from agentctl.errors import (
        OutcomeGone as OutcomeGone,
    )
    from agentctl.errors import (
        SetAside as SetAside,
    )
    from agentctl.errors import (
        StepFailed as StepFailed,
    )
    from agentctl.errors import (
        Stuck as Stuck,
    )
    from agentctl.errors import (
        UnknownOutcome as UnknownOutcome,
    )
    from agentctl.errors import (
        WouldDeadlock as WouldDeadlock,
    )
    from agentctl.hosting import (
        Binding as Binding,
    )
    from agentctl.hosting import (
        Host as Host,
    )
    from agentctl.hosting import (
        bind as bind,
    )
    from agentctl.hosting import (
        start as start,
    )
    from agentctl.sdk.agent import (
        Agent as Agent,
    )
    from agentctl.sdk.capability import (
        Capability as Capability,
    )
    from agentctl.sdk.capability import (
        CapabilityOptions as CapabilityOptions,
    )
    from agentctl.sdk.capability import (
        blocking as blocking,
    )
    from agentctl.sdk.capability import (
        call as call,
    )
    from agentctl.sdk.capability import (
        uses as uses,
    )
    from agentctl.sdk.context import (
        attempt as attempt,
    )
    from agentctl.sdk.context import (
        call_key as call_key,
    )
    from agentctl.sdk.context import (
        now as now,
    )
    from agentctl.sdk.context import (
        random as random,
    )
    from agentctl.sdk.context import (
        replaying as replaying,
    )
    from agentctl.sdk.context import (
        service_key as service_key,
    )
    from agentctl.sdk.context import (
        sleep as sleep,
    )
    from agentctl.sdk.context import (
        timeout as timeout,
    )
    from agentctl.sdk.context import (
        today as today,
    )
    from agentctl.sdk.context import (
        uuid4 as uuid4,
    )
    from agentctl.sdk.handlers import (
        Handler as Handler,
    )
    from agentctl.sdk.handlers import (
        handler as handler,
    )
    from agentctl.sdk.handlers import (
        query as query,
    )
    from agentctl.sdk.inputs import (
        Question as Question,
    )
    from agentctl.sdk.inputs import (
        WaitForInput as WaitForInput,
    )
    from agentctl.sdk.inputs import (
        question as question,
    )
    from agentctl.sdk.inputs import (
        resume as resume,
    )
    from agentctl.sdk.inputs import (
        resume_input as resume_input,
    )
    from agentctl.sdk.inputs import (
        wait_for_input as wait_for_input,
    )
    from agentctl.sdk.rounds import (
        Occurrence as Occurrence,
    )
    from agentctl.sdk.rounds import (
        Tick as Tick,
    )
    from agentctl.sdk.rounds import (
        backoff as backoff,
    )
    from agentctl.sdk.rounds import (
        every as every,
    )
    from agentctl.sdk.rounds import (
        occurrence as occurrence,
    )
    from agentctl.sdk.settings import (
        AgentSettings as AgentSettings,
    )
    from agentctl.sdk.steps import (
        StepDef as StepDef,
    )
    from agentctl.sdk.steps import (
        run_steps as run_steps,
    )
    from agentctl.sdk.steps import (
        step as step,
    )
    from agentctl.sdk.timing import (
        BoundHandler as BoundHandler,
    )
    from agentctl.sdk.tokens import (
        ScheduleHandle as ScheduleHandle,
    )
    from agentctl.sdk.tokens import (
        Token as Token,
    )
    from agentctl.sdk.workflow import (
        Step as Step,
    )
    from agentctl.sdk.workflow import (
        Workflow as Workflow,
    )
    from agentctl.sdk.workflow import (
        workflow_step as workflow_step,
    )
    from agentctl.secrets import (
        Secret as Secret,
    )

_HOMES: Final = {
    "agentctl.core.lifecycle": ("Cancellation",),
    "agentctl.core.retry": ("Exponential", "Fixed", "RetryPolicy"),
    "agentctl.errors": (
        "AgentctlError",
        "AgentError",
        "CallFailed",
        "Cancelled",
        "Denied",
        "DiskTrouble",
        "Divergence",
        "JournalDamaged",
        "KeyReused",
        "LaneFull",
        "Locked",
        "MissedRun",
        "NonRetryable",
        "NotRecordable",
        "OutcomeGone",
        "SetAside",
        "StepFailed",
        "Stuck",
        "UnknownOutcome",
        "WouldDeadlock",
    ),
    "agentctl.hosting": (
        "Binding",
        "Host",
        "bind",
        "start",
    ),
    "agentctl.sdk.agent": ("Agent",),
    "agentctl.sdk.capability": (
        "Capability",
        "CapabilityOptions",
        "blocking",
        "call",
        "uses",
    ),
    "agentctl.sdk.context": (
        "attempt",
        "call_key",
        "now",
        "random",
        "replaying",
        "service_key",
        "sleep",
        "timeout",
        "today",
        "uuid4",
    ),
    "agentctl.sdk.handlers": (
        "Handler",
        "handler",
        "query",
    ),
    "agentctl.sdk.inputs": (
        "Question",
        "WaitForInput",
        "question",
        "resume",
        "resume_input",
        "wait_for_input",
    ),
    "agentctl.sdk.rounds": (
        "Occurrence",
        "Tick",
        "backoff",
        "every",
        "occurrence",
    ),
    "agentctl.sdk.settings": ("AgentSettings",),
    "agentctl.sdk.steps": ("StepDef", "run_steps", "step"),
    "agentctl.sdk.timing": ("BoundHandler",),
    "agentctl.sdk.tokens": (
        "ScheduleHandle",
        "Token",
    ),
    "agentctl.sdk.workflow": ("Step", "Workflow", "workflow_step"),
    "agentctl.secrets": ("Secret",),
}
_MODULES: Final = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604 - the names are checked by a test
    "__version__",
    *_MODULES,
]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'agentctl' has no attribute {name!r}")
    import importlib

    found: object = getattr(importlib.import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
