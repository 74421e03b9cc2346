"""`from agentctl import …`: the names that the design promises, each there, loaded when used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentctl

PROMISED = (
    "Agent Capability uses handler query blocking call call_key service_key attempt "
    "AgentError AgentctlError CallFailed UnknownOutcome Denied DiskTrouble Divergence Locked Stuck "
    "NonRetryable WouldDeadlock JournalDamaged NotRecordable OutcomeGone KeyReused "
    "AgentSettings CapabilityOptions "
    "start bind Host now today random uuid4 sleep timeout replaying Secret "
    "every wait_for_input question occurrence step RetryPolicy Fixed Exponential Workflow "
    "workflow_step resume_input WaitForInput run_steps StepDef backoff Token ScheduleHandle "
    "Cancellation"
).split()


@pytest.mark.parametrize("name", PROMISED)
def test_a_promised_name_is_there(name):
    assert getattr(agentctl, name) is not None
    assert name in agentctl.__all__


def test_all_that_is_public_can_be_had_and_is_listed():
    for name in agentctl.__all__:
        assert getattr(agentctl, name) is not None
    assert set(agentctl.__all__) <= set(dir(agentctl))
    assert len(set(agentctl.__all__)) == len(agentctl.__all__)


def test_a_name_that_is_not_there_is_python_s_own_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = agentctl.no_such_name  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        exec("from agentctl import no_such_name")


def test_importing_the_package_loads_neither_an_event_loop_nor_a_terminal():
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, agentctl; print([m for m in ('asyncio', 'rich', 'typer', 'filelock', "
            "'pydantic', 'msgspec') if m in sys.modules])",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.strip() == "[]"
