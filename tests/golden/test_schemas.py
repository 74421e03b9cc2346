"""The fields of every JSON document, in their order: they are only ever added to, at the end."""

from __future__ import annotations

import pytest

from agentctl.ops import (
    approval_documents,
    backing_up,
    changes,
    documents,
    journal_documents,
    schedule_documents,
    step_documents,
    view_documents,
)

FIELDS = {
    "agentctl.error/1": "code error detail hint event status type",
    "agentctl.invoke/1": "event handler key status result due",
    "agentctl.version/1": "version",
    "agentctl.help/1": "topic text",
    "agentctl.completion/1": "shell script",
    "agentctl.record/1": "agent line at event kind key record",
    "agentctl.journal/1": "agents",
    "agentctl.audit/1": "agents",
    "agentctl.set-aside/1": "agents",
    "agentctl.state/1": "agents",
    "agentctl.requeue/1": "events dry_run",
    "agentctl.drop/1": "event reason",
    "agentctl.cancel/1": "answer event key status",
    "agentctl.retry/1": "event was again",
    "agentctl.delete/1": "instance state_bytes cancelled keys dry_run cleaning_up schedules",
    "agentctl.wait/1": "event key status",
    "agentctl.new/1": "folder package agent files next",
    "agentctl.add/1": "folder agent files appended next dry_run",
    "agentctl.templates/1": "templates",
    "agentctl.config/1": "values",
    "agentctl.status/1": "healthy agents",
    "agentctl.invocations/1": "invocations",
    "agentctl.invocation/1": "event status handler key args kwargs accepted started ended next "
    "waits_for asked_by starts result type text line records calls cancelling schedule due "
    "priority steps",
    "agentctl.approvals/1": "approvals",
    "agentctl.approval/1": "call event approved by note",
    "agentctl.resume/1": "call event by note",
    "agentctl.agents/1": "agents",
    "agentctl.instance/1": "instance state keys events schedules",
    "agentctl.lock/1": "agents",
    "agentctl.backup/1": "file agents",
    "agentctl.schedule-list/1": "schedules",
    "agentctl.schedule-show/1": "instance name handler args kwargs due begins period_s cron tz "
    "missed overlap jitter_s max_late_s source paused set by priority next",
    "agentctl.schedule-set/1": "instance name handler due changed replaced paused",
    "agentctl.schedule-cancel/1": "answer instance name",
    "agentctl.schedule-pause/1": "instance name paused changed due skipped",
    "agentctl.schedule-preview/1": "cron tz times",
    "agentctl.schedules/1": "agents",
    "agentctl.workflow-list/1": "workflows",
    "agentctl.workflow-show/1": "workflow event status accepted started ended next waits_for "
    "result type text cancelling steps",
    "agentctl.why/1": "event instance schedule status why next at behind record",
}
PARTS = {
    "SeenJournal": "agent path records damaged",
    "SeenRecord": "line at event kind key record",
    "Damage": "line reason",
    "SeenAudit": "agent lines",
    "SetAsideOfAgent": "agent events",
    "SeenSetAside": "event handler args starts records",
    "StateOfAgent": "agent instances",
    "SeenState": "instance state",
    "RequeuedEvent": "event fresh was",
    "TemplateLine": "name about",
    "ConfigValue": "key value source",
    "SeenHolder": "pid host command since",
    "EventCounts": "scheduled queued running sleeping waiting stuck",
    "AgentStatus": "agent holder events set_aside next_due journal_bytes late_s warnings "
    "longest_wait_s waits_longest",
    "SeenInvocation": "event status handler key accepted ended next waits_for text cancelling "
    "schedule due attempt asks",
    "SeenCall": "key fn state args outcome at ended until where about by attempts next kwargs",
    "SeenAttempt": "attempt at ended error",
    "SeenStep": "name key state attempt next error result asks attempts",
    "SeenWorkflow": "workflow event status step step_state steps accepted ended next asks text",
    "SeenInput": "call event handler step question type schema_ asked until status",
    "InstancesOfAgent": "agent instances",
    "SeenInstance": "instance state_bytes open next_due",
    "SeenKey": "key event status",
    "BackedUpAgent": "agent bytes records",
    "SeenLock": "agent path held note",
    "SeenSchedule": "agent instance name event key handler args due period_s cron tz source paused",
    "DueTime": "at local note",
    "KeptSchedule": "instance name handler args kwargs due begins period_s cron tz missed overlap "
    "jitter_s max_late_s source paused set by priority",
    "SchedulesOfAgent": "agent schedules",
}
STRUCTS = {
    name: each
    for module in (
        *(documents, journal_documents, changes, view_documents, backing_up),
        *(schedule_documents, approval_documents, step_documents),
    )
    for name, each in vars(module).items()
    if hasattr(each, "__struct_fields__") and each.__module__ == module.__name__
}
TAGGED = {
    each.__struct_config__.tag: each for each in STRUCTS.values() if each.__struct_config__.tag
}


def test_every_document_is_listed_here() -> None:
    assert set(TAGGED) == set(FIELDS)
    assert {n for n, each in STRUCTS.items() if not each.__struct_config__.tag} == set(PARTS)


@pytest.mark.parametrize("schema", FIELDS)
def test_a_document_has_these_fields(schema: str) -> None:
    assert " ".join(TAGGED[schema].__struct_fields__) == FIELDS[schema]
    assert TAGGED[schema].__struct_config__.tag_field == "schema"


@pytest.mark.parametrize("name", PARTS)
def test_a_part_has_these_fields(name: str) -> None:
    assert " ".join(STRUCTS[name].__struct_fields__) == PARTS[name]
