"""What a shell needs to complete the command: scripts made of the one table of commands.

Invariant: a script names every command and every option, and nothing else; completing starts no
interpreter, so that it takes no time. Never reads a project; the script looks for one itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, get_args

from agentctl.cli.options import COLORS, FORMATS, GLOBAL_FLAGS, TAKES_VALUE
from agentctl.cli.parsing import options_of, typer_command
from agentctl.cli.table import COMMANDS, HELP
from agentctl.cli.topics import TOPICS
from agentctl.core.lanes import LANES
from agentctl.core.timing import Missed, Overlap
from agentctl.engines.changes import State
from agentctl.ops.health import FAILS
from agentctl.ops.schemas import names
from agentctl.records import KINDS

VALUED: Final = (
    *sorted(TAKES_VALUE),
    *("-C", "--project", "--root", "--set", "--format", "--color"),
)
"""The options after which a value stands, and no command."""
_STATES: Final = [str(state).replace("_", "-") for state in State]
_VALUES: Final[Mapping[str, Sequence[str]]] = {
    "--format": FORMATS,
    "--color": COLORS,
    "--status": _STATES,
    "--for": _STATES,
    "--fail-on": FAILS,
    "--if-full": ("wait", "refuse"),
    "--priority": LANES,
    "--missed": get_args(Missed),
    "--overlap": get_args(Overlap),
    "--log-format": ("text", "json"),
    "--kind": sorted(KINDS),
}
"""The options of which it is known what may stand behind them."""
_SHELLS_WORDS: Final = ("bash", "zsh", "fish")
_ARGUMENTS: Final[Mapping[str, Sequence[str]]] = {
    "help": sorted({*TOPICS, *(command.words[0] for command in COMMANDS)}),
    "completion": _SHELLS_WORDS,
    "schema": names(),
}


@dataclass(frozen=True)
class Completed:
    """One command as it is completed.

    Attributes:
        options: each with its help.
        agents: its first argument is an agent.
    """

    words: tuple[str, ...]
    summary: str
    options: Sequence[tuple[str, str]]
    agents: bool

    @property
    def names(self) -> str:
        """Its own options and the global ones, parted by spaces."""
        return " ".join(sorted({*(name for name, _ in self.options), *_GLOBAL}))


_GLOBAL: Final = (*GLOBAL_FLAGS, "-C")


def completed() -> Sequence[Completed]:
    """Every command with its options."""
    made = []
    for command in (*COMMANDS, HELP):
        options: list[tuple[str, str]] = []
        if command.module:
            declared = options_of(typer_command(import_module(command.module).parse))
            options = [(name, one.help or "") for one in declared for name in one.opts]
        agents = command.usage.strip("[").startswith(("AGENT", "INSTANCE"))
        made.append(Completed(command.words, command.summary, options, agents))
    return made


def _groups(commands: Sequence[Completed]) -> Mapping[str, Sequence[Completed]]:
    found: dict[str, list[Completed]] = {}
    for command in commands:
        if len(command.words) > 1:
            found.setdefault(command.words[0], []).append(command)
    return found


_AGENTS: Final = r"""_agentctl_agents() {
    local folder=$PWD
    while [ -n "$folder" ] && [ ! -f "$folder/kavach.toml" ]; do folder=${folder%/*}; done
    [ -f "$folder/kavach.toml" ] || return 0
    sed -n 's/^ *\[agents\.\([A-Za-z][A-Za-z0-9_]*\)[].].*/\1/p' "$folder/kavach.toml" | sort -u
}
"""


def _cases() -> str:
    """Set `known` to the words that may stand here; the same text in bash and zsh."""
    commands = completed()
    groups = _groups(commands)
    firsts = dict.fromkeys(command.words[0] for command in commands)
    lines = [
        '    case "$count $first $second $cur" in',
        f'        "0  "*" -"*) known="{" ".join(sorted(_GLOBAL))}" ;;',
        f'        "0 "*) known="{" ".join(firsts)}" ;;',
    ]
    for first, group in groups.items():
        seconds = " ".join(command.words[1] for command in group)
        lines.append(f'        "1 {first}  -"*) known="{" ".join(sorted(_GLOBAL))}" ;;')
        lines.append(f'        "1 {first} "*) known="{seconds}" ;;')
    for command in commands:
        words = " ".join(command.words)
        rest = "" if len(command.words) > 1 else '*" "'
        lines.append(f'        *[0-9]" {words} "{rest}-*) known="{command.names}" ;;')
        begin = f'"{len(command.words)} {words} "*'
        if command.agents:
            lines.append(f"        {begin}) known=$(_agentctl_agents) ;;")
        elif command.words[0] in _ARGUMENTS:
            lines.append(f'        {begin}) known="{" ".join(_ARGUMENTS[command.words[0]])}" ;;')
    return "\n".join([*lines, "    esac"])


_LOOP: Final = r"""        if [ "$skip" = 1 ]; then skip=0; continue; fi
        case $word in
            %(valued)s) skip=1 ;;
            -*) ;;
            *) count=$((count + 1))
                if [ "$count" = 1 ]; then first=$word; fi
                if [ "$count" = 2 ]; then second=$word; fi ;;
        esac
    done
    case $prev in
%(values)s
        %(other)s) return 0 ;;
    esac
    if [ -z "$known" ]; then
%(cases)s
    fi
"""


def _loop() -> str:
    return _LOOP % {
        "valued": "|".join(VALUED),
        "values": "\n".join(
            f'        {name}) known="{" ".join(words)}" ;;' for name, words in _VALUES.items()
        ),
        "other": "|".join(name for name in VALUED if name not in _VALUES),
        "cases": _cases(),
    }


def _bash() -> str:
    return f"""{_AGENTS}
_agentctl() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    local first="" second="" known="" word at count=0 skip=0
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${{COMP_WORDS[at]}}
{_loop()}    mapfile -t COMPREPLY < <(compgen -W "$known" -- "$cur")
}}
complete -o bashdefault -o default -F _agentctl agentctl
"""


def _zsh() -> str:
    return f"""#compdef agentctl
{_AGENTS}
_agentctl() {{
    local cur=$words[CURRENT] prev=$words[CURRENT-1]
    local first="" second="" known="" word at count=0 skip=0
    for ((at = 2; at < CURRENT; at++)); do
        word=$words[at]
{_loop()}    if [ -n "$known" ]; then compadd -- ${{=known}}; else _files; fi
}}
compdef _agentctl agentctl
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish() -> str:
    commands = completed()
    groups = _groups(commands)
    lines = [
        "function __agentctl_agents",
        "    set -l folder $PWD",
        '    while test -n "$folder"; and not test -f "$folder/kavach.toml"',
        "        set folder (string replace -r '/[^/]*$' '' -- $folder)",
        "    end",
        '    test -f "$folder/kavach.toml"; or return 0',
        r"    string replace -rf '^ *\[agents\.([A-Za-z][A-Za-z0-9_]*)[].].*' '$1' "
        '< "$folder/kavach.toml" | sort -u',
        "end",
    ]
    firsts = {c.words[0]: f"{c.words[0]} …" if len(c.words) > 1 else c.summary for c in commands}
    for first, told in firsts.items():
        lines.append(f"complete -c agentctl -n __fish_use_subcommand -a {first} -d {_quoted(told)}")
    for command in commands:
        first, *rest = command.words
        seen = f"__fish_seen_subcommand_from {first}"
        if rest:
            others = " ".join(other.words[1] for other in groups[first])
            lines.append(
                f"complete -c agentctl -f -n '{seen}; and not __fish_seen_subcommand_from "
                f"{others}' -a {rest[0]} -d {_quoted(command.summary)}"
            )
            seen += f"; and __fish_seen_subcommand_from {rest[0]}"
        if command.agents:
            lines.append(f"complete -c agentctl -f -n '{seen}' -a '(__agentctl_agents)'")
        elif first in _ARGUMENTS:
            lines.append(f"complete -c agentctl -f -n '{seen}' -a '{' '.join(_ARGUMENTS[first])}'")
        for name, told in command.options:
            lines.append(_fish_option(name, told, f" -n '{seen}'"))
    lines += [_fish_option(name, "", "") for name in _GLOBAL]
    return "\n".join(lines) + "\n"


def _fish_option(name: str, told: str, when: str) -> str:
    how = "-l" if name.startswith("--") else "-s"
    needs = " -r" if name in VALUED else ""
    if name in _VALUES:
        needs = f" -x -a {_quoted(' '.join(_VALUES[name]))}"
    about = f" -d {_quoted(told)}" if told else ""
    return f"complete -c agentctl{when} {how} {name.lstrip('-')}{needs}{about}"


SHELLS: Final[Mapping[str, Callable[[], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""How the script of each shell is made."""
