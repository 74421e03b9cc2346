"""The commands: their words, their one-line summaries, and the module that knows the rest.

Invariant: each command stands here once; help and dispatch read nothing else. Imports no command.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from agentctl.errors import UsageError


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        words: what calls it: `inspect`, `journal`.
        module: its full name; it has `EXAMPLES`, `parse` and `execute`.
    """

    words: tuple[str, ...]
    usage: str
    summary: str
    module: str

    @property
    def name(self) -> str:
        """The words as they are typed."""
        return " ".join(self.words)


COMMANDS: Final = (
    Command(
        ("new",),
        "DIR",
        "make a new project that runs, from a template",
        "agentctl.cli.commands.new",
    ),
    Command(
        ("add",),
        "AGENT",
        "add an agent to this project, from a template",
        "agentctl.cli.commands.add",
    ),
    Command(
        ("run",),
        "[AGENT]...",
        "finish what was cut off, then serve until stopped",
        "agentctl.cli.commands.run",
    ),
    Command(
        ("invoke",),
        "AGENT HANDLER [ARG]...",
        "run one handler and print its result",
        "agentctl.cli.commands.invoke",
    ),
    Command(
        ("status",),
        "[AGENT]",
        "tell how each agent stands, and whether that is well",
        "agentctl.cli.commands.status",
    ),
    Command(
        ("why",),
        "AGENT [NAME]",
        "say why an event or a schedule is where it is",
        "agentctl.cli.commands.why",
    ),
    Command(
        ("invocation", "list"),
        "[AGENT]",
        "list events, and where each stands",
        "agentctl.cli.commands.invocation_list",
    ),
    Command(
        ("invocation", "show"),
        "AGENT [KEY]",
        "show one event, with its calls",
        "agentctl.cli.commands.invocation_show",
    ),
    Command(
        ("invocation", "wait"),
        "AGENT [KEY]",
        "wait until one event is over, or in a state",
        "agentctl.cli.commands.invocation_wait",
    ),
    Command(
        ("invocation", "cancel"),
        "AGENT [KEY]",
        "cancel one event",
        "agentctl.cli.commands.invocation_cancel",
    ),
    Command(
        ("invocation", "retry"),
        "AGENT [KEY]",
        "run a stuck or failed event again",
        "agentctl.cli.commands.invocation_retry",
    ),
    Command(
        ("invocation", "resume"),
        "CALL --input JSON",
        "give an event the input that it waits for",
        "agentctl.cli.commands.invocation_resume",
    ),
    Command(
        ("approval", "list"),
        "[AGENT]",
        "list what waits for a person",
        "agentctl.cli.commands.approval_list",
    ),
    Command(
        ("approval", "approve"),
        "[CALL]",
        "answer a question with yes",
        "agentctl.cli.commands.approval_approve",
    ),
    Command(
        ("approval", "deny"),
        "[CALL]",
        "answer a question with no",
        "agentctl.cli.commands.approval_deny",
    ),
    Command(
        ("workflow", "list"),
        "[AGENT]",
        "list workflows, and where each stands",
        "agentctl.cli.commands.workflow_list",
    ),
    Command(
        ("workflow", "show"),
        "WORKFLOW",
        "show one workflow, with its steps and their attempts",
        "agentctl.cli.commands.workflow_show",
    ),
    Command(
        ("workflow", "cancel"),
        "WORKFLOW",
        "cancel one workflow",
        "agentctl.cli.commands.workflow_cancel",
    ),
    Command(
        ("schedule", "list"),
        "[AGENT]",
        "list what is to come: schedules and scheduled events",
        "agentctl.cli.commands.schedule_list",
    ),
    Command(
        ("schedule", "show"),
        "AGENT NAME",
        "show one schedule, and its next due times",
        "agentctl.cli.commands.schedule_show",
    ),
    Command(
        ("schedule", "set"),
        "AGENT HANDLER [ARG]... --name NAME",
        "run a handler at a time, or again and again",
        "agentctl.cli.commands.schedule_set",
    ),
    Command(
        ("schedule", "cancel"),
        "AGENT NAME",
        "cancel one schedule",
        "agentctl.cli.commands.schedule_cancel",
    ),
    Command(
        ("schedule", "pause"),
        "AGENT NAME",
        "keep one schedule from firing",
        "agentctl.cli.commands.schedule_pause",
    ),
    Command(
        ("schedule", "unpause"),
        "AGENT NAME",
        "let a paused schedule fire again",
        "agentctl.cli.commands.schedule_unpause",
    ),
    Command(
        ("schedule", "trigger"),
        "AGENT NAME",
        "run a schedule's handler once now",
        "agentctl.cli.commands.schedule_trigger",
    ),
    Command(
        ("schedule", "preview"),
        "EXPR",
        "tell when a cron expression is due",
        "agentctl.cli.commands.schedule_preview",
    ),
    Command(
        ("agent", "list"),
        "[AGENT]",
        "list instances, and what is kept of each",
        "agentctl.cli.commands.agent_list",
    ),
    Command(
        ("agent", "show"),
        "INSTANCE",
        "show one instance: its state, its keys, its open events",
        "agentctl.cli.commands.agent_show",
    ),
    Command(
        ("agent", "delete"),
        "INSTANCE",
        "delete one instance: its state, keys and open events",
        "agentctl.cli.commands.agent_delete",
    ),
    Command(
        ("inspect", "journal"),
        "[AGENT]",
        "show what happened, record by record",
        "agentctl.cli.commands.inspect_journal",
    ),
    Command(
        ("inspect", "audit"), "[AGENT]", "show the audit log", "agentctl.cli.commands.inspect_audit"
    ),
    Command(
        ("inspect", "set-aside"),
        "[AGENT]",
        "show events that were taken out of service",
        "agentctl.cli.commands.inspect_set_aside",
    ),
    Command(
        ("inspect", "state"),
        "[AGENT]",
        "show each instance's state",
        "agentctl.cli.commands.inspect_state",
    ),
    Command(
        ("inspect", "schedules"),
        "[AGENT]",
        "show each instance's schedules",
        "agentctl.cli.commands.inspect_schedules",
    ),
    Command(
        ("inspect", "lock"),
        "[AGENT]",
        "show who holds an agent's folder",
        "agentctl.cli.commands.inspect_lock",
    ),
    Command(
        ("requeue", "set-aside"),
        "AGENT [EVENT]...",
        "put set-aside events back",
        "agentctl.cli.commands.requeue_set_aside",
    ),
    Command(
        ("set-aside", "drop"),
        "AGENT EVENT --reason TEXT",
        "remove a set-aside event for good",
        "agentctl.cli.commands.set_aside_drop",
    ),
    Command(
        ("backup",),
        "FILE",
        "write one archive of every agent's folder",
        "agentctl.cli.commands.backup",
    ),
    Command(
        ("config", "show"),
        "",
        "show every setting, and where its value came from",
        "agentctl.cli.commands.config_show",
    ),
    Command(
        ("schema",),
        "[NAME]",
        "print the JSON Schema of what --json writes",
        "agentctl.cli.commands.schema",
    ),
    Command(
        ("completion",),
        "SHELL",
        "print the script by which a shell completes the command",
        "agentctl.cli.commands.completion",
    ),
)
HELP: Final = Command(("help",), "[TOPIC]", "explain a topic or a command", "")


def find(words: Sequence[str]) -> tuple[Command, Sequence[str]]:
    """Find the command that the words call.

    Returns:
        The command, and the words behind it.

    Raises:
        UsageError: there is none; names the nearest.
    """
    first = words[0]
    if first.startswith("-"):
        raise UsageError(
            f"there is no option {first}", hint="agentctl help flags lists the global ones"
        )
    group = group_of(first)
    if not group:
        raise unknown(f"there is no command {first!r}", first, {c.words[0] for c in COMMANDS})
    if len(group[0].words) == 1:
        return group[0], words[1:]
    seconds = {command.words[1]: command for command in group}
    if len(words) == 1 or words[1].startswith("-"):
        raise UsageError(
            f"{first} needs one more word: {', '.join(seconds)}",
            hint=f"for example: agentctl {group[0].name} {group[0].usage}",
        )
    if words[1] not in seconds:
        error = unknown(f"there is no command {f'{first} {words[1]}'!r}", words[1], seconds)
        if len(seconds) == 1 and is_list(error.hint):  # the only one may be left out in thought
            error.hint = " ".join(("write: agentctl", *group[0].words, *words[1:]))
        raise error
    return seconds[words[1]], words[2:]


def group_of(first: str) -> Sequence[Command]:
    """The commands that begin with this word."""
    return [command for command in COMMANDS if command.words[0] == first]


def is_list(hint: str | None) -> bool:
    """Whether a hint lists what there is, since nothing is near."""
    return not (hint or "").startswith("did you mean")


def unknown(problem: str, word: str, known: Collection[str]) -> UsageError:
    """Make the error for a word that nobody knows, with the nearest."""
    from agentctl.nearest import nearest_hint  # only where it is needed: it isn't free

    return UsageError(problem, hint=nearest_hint(word, known, "words"))
