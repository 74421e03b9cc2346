"""The topics of `agentctl help`: text as it is shown.

Invariant: lines fit 78 columns, and nothing is named that isn't built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Topic:
    """One topic."""

    summary: str
    text: str


_AGAIN: Final = """\
Examples:
  agentctl run                             stuck events run again by themselves
  agentctl requeue set-aside Bot 1         put event 1 back, finished calls kept
  agentctl requeue set-aside Bot 1 --fresh make it a new event from the start

What makes an event run again, and what that does to its calls:

  the event              again by                      finished calls
  ---------------------  ----------------------------  --------------------
  was cut off (a crash,  the next start, by itself     kept, not made again
  a stop)
  is stuck (a bug, a     the next start, by itself:    kept, not made again
  divergence)            mend the code first
  is set aside           agentctl requeue set-aside    kept, not made again
  is set aside           the same with --fresh: a new  made again, under
                         number, a new start           new call keys
  completed or failed    not at all; invoke it anew    a new event

A call that a crash cut off is made again with the same key, unless its
method says repeat=False. An event that was started 3 times (max_starts)
without a new result is set aside, so that it can't hold up the others.

To go on after a divergence: take the change of the code back, or let the
event be set aside, and requeue it with --fresh.
"""

_EXIT_CODES: Final = """\
Examples:
  agentctl invoke Bot request 7; echo $?
  agentctl run --until-idle || echo "something is stuck"

  code     when                                               again?
  -------  -------------------------------------------------  ------
  0        done
  1        the handler failed, or is stuck by a bug; run      no
           --until-idle: an event is stuck
  2        a flag, an argument, a time                        no
  3        no such project, agent, handler, event             no
  4        in another state than the command needs; a file    no
           exists already; the event is set aside
  5        another program holds the agent's folder           later
  6        damaged, diverged, or written by a newer version   no
  7        kavach.toml or the code can't be loaded            no
  70       a bug in agentctl                                  yes
  74       the disk                                           yes
  124      --timeout passed
  130/143  interrupted before the answer was known            yes
"""

_TIMES: Final = """\
Examples:
  agentctl inspect journal Bot --since -1h
  agentctl inspect audit --since 2026-03-15T10:30:00Z
  agentctl run --until-idle=90s

Moments: 2026-03-15T10:30:00Z or with an offset (+01:00), @1773570600
(seconds since 1970), now, -5m (five minutes ago), +5m. A time without a
zone is refused.

Durations: 90s, 1d2h30m, 500ms, PT5M. A bare number is refused.

Output: RFC 3339, UTC, six decimals; on a terminal times are relative.
"""

_ARGUMENTS: Final = """\
Examples:
  agentctl invoke Bot request 7
  agentctl invoke Bot echo "any text"
  agentctl invoke Bot total '[1, 2, 3]' double=true
  agentctl invoke Bot shift -- -5
  agentctl invoke Bot request --args '[7]'
  agentctl invoke Bot request --args @arguments.json

A handler's arguments are read by its annotations. For a str, the text
stands as it is. For anything else it is JSON: 7, true, '[1, 2]',
'{"a": 1}'; a date, a path and the like may go without their quotes.

name=value gives the argument of that name. What begins with a dash comes
behind --. --args takes all of them at once: a JSON list by position, or an
object by name, from the command line, from @FILE, or from stdin with -.
"""

_FLAGS: Final = """\
Examples:
  agentctl -C shop inspect journal --json
  AGENTCTL_PROJECT=shop agentctl run
  agentctl run --set agents.Bot.settings.grace=10s

Global flags stand before or after the command; everything behind -- is
the command's own. Every flag, a command's own too, can be set by an
environment variable: AGENTCTL_ and its name (AGENTCTL_LOCK_WAIT=10s). A
flag wins.

  -C, --project DIR      the project; else found from the working folder up
  --root DIR             the folder in which agents/ lies
  --set KEY=VALUE        a setting of kavach.toml for once, as often as you
                         like; AGENTCTL_SET has one a line
  --json                 JSON on stdout, errors as JSON on stderr
  --format FORMAT        text, json, or jsonl (a record a line)
  --color WHEN           auto, always or never; NO_COLOR counts
  -q, --quiet            no notes on stderr, only errors
  -v, --verbose          say more; -vv shows tracebacks of agentctl's own
  -y, --yes              answer every question beforehand
  -h, --help             help on the command
  --version              the version
"""

TOPICS: Final = {
    "again": Topic("what makes an event run again, and what happens to its calls", _AGAIN),
    "arguments": Topic("how arguments of handlers are written", _ARGUMENTS),
    "exit-codes": Topic("what each exit code means", _EXIT_CODES),
    "flags": Topic("the global flags, and environment variables", _FLAGS),
    "times": Topic("how moments and durations are written", _TIMES),
}
