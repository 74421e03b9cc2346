"""agentctl: durable agents in plain Python.

The public names, loaded when they are first used, so that a command which only reads stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

__version__: Final = "0.1.0"

if TYPE_CHECKING:
    from agentctl.errors import (
        AgentctlError as AgentctlError,
        AgentError as AgentError,
        CallFailed as CallFailed,
        Cancelled as Cancelled,
        Denied as Denied,
        DiskTrouble as DiskTrouble,
        Divergence as Divergence,
        JournalDamaged as JournalDamaged,
        KeyReused as KeyReused,
        LaneFull as LaneFull,
        Locked as Locked,
        MissedRun as MissedRun,
        NonRetryable as NonRetryable,
        NotRecordable as NotRecordable,
        OutcomeGone as OutcomeGone,
        SetAside as SetAside,
        StepFailed as StepFailed,
        Stuck as Stuck,
        UnknownOutcome as UnknownOutcome,
        WouldDeadlock as WouldDeadlock,
    )
    from agentctl.hosting import (
        Binding as Binding,
        Host as Host,
        bind as bind,
        start as start,
    )
    from agentctl.secrets import (
        Secret as Secret,
    )
    from agentctl.sdk.agent import (
        Agent as Agent,
        AgentSettings as AgentSettings,
    )
    from agentctl.sdk.capability import (
        Capability as Capability,
        blocking as blocking,
        call as call,
        uses as uses,
    )
    from agentctl.sdk.context import (
        attempt as attempt,
        call_key as call_key,
        now as now,
        random as random,
        replaying as replaying,
        service_key as service_key,
        sleep as sleep,
        timeout as timeout,
        today as today,
        uuid4 as uuid4,
    )
    from agentctl.sdk.handlers import (
        BoundHandler as BoundHandler,
        Handler as Handler,
        handler as handler,
        query as query,
    )
    from agentctl.sdk.planned import (
        Cancellation as Cancellation,
        Exponential as Exponential,
        Fixed as Fixed,
        Occurrence as Occurrence,
        Question as Question,
        RetryPolicy as RetryPolicy,
        ScheduleHandle as ScheduleHandle,
        Step as Step,
        StepDef as StepDef,
        Tick as Tick,
        Token as Token,
        WaitForInput as WaitForInput,
        backoff as backoff,
        every as every,
        occurrence as occurrence,
        question as question,
        resume_input as resume_input,
        run_steps as run_steps,
        step as step,
        wait_for_input as wait_for_input,
        workflow_step as workflow_step,
    )
    from agentctl.sdk.workflow import (
        Workflow as Workflow,
    )

_HOMES: Final = {
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
    "agentctl.secrets": ("Secret",),
    "agentctl.sdk.agent": (
        "Agent",
        "AgentSettings",
    ),
    "agentctl.sdk.capability": (
        "Capability",
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
        "BoundHandler",
        "Handler",
        "handler",
        "query",
    ),
    "agentctl.sdk.planned": (
        "Cancellation",
        "Exponential",
        "Fixed",
        "Occurrence",
        "Question",
        "RetryPolicy",
        "ScheduleHandle",
        "Step",
        "StepDef",
        "Tick",
        "Token",
        "WaitForInput",
        "backoff",
        "every",
        "occurrence",
        "question",
        "resume_input",
        "run_steps",
        "step",
        "wait_for_input",
        "workflow_step",
    ),
    "agentctl.sdk.workflow": ("Workflow",),
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
