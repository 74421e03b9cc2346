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
  agentctl run                              what was stuck runs again
  agentctl invocation retry Bot#3           run stuck or failed event 3 again
  agentctl requeue set-aside Bot 1          put event 1 back, its calls are kept
  agentctl requeue set-aside Bot 1 --fresh  make it a new event from the start

What makes an event run again, and what that does to its calls:

  the event              again by                      finished calls
  ---------------------  ----------------------------  --------------------
  was cut off (a crash,  the next start, by itself     kept, not made again
   a stop)
  is stuck (a bug, a     the next start, by itself:    kept, not made again
   divergence)           mend the code first
  is stuck, and what     agentctl invocation retry     kept, not made again
   was wrong is gone
  diverged, and the new  agentctl invocation retry     kept up to the call
   code is right         --accept-divergence           that differs
  failed                 agentctl invocation retry     kept; those that the
                                                       failure came out of,
                                                       and what followed,
                                                       are made again
  failed, a workflow     the same: it goes on at the   kept, not made again
                         failed step
  failed, and its steps  not at all: delete its        a new event
   were undone           instance, and invoke it
  is set aside           agentctl requeue set-aside    kept, not made again
  is set aside           the same with --fresh: a new  made again, under
                         number, a new start           new call keys
  completed, was missed  not at all; invoke it anew    a new event
   or was cancelled
  waits for an input     agentctl invocation resume,   kept, not made again
                         agentctl approval approve
  was a schedule's       agentctl schedule trigger     a new event, with
                                                       the same arguments

Invoking is no way to run something again: it makes a new event, also with
--trigger. Only the same idempotency key (-i) finds the event that is there:
agentctl help keys.

A call that a crash cut off is made again with the same key, unless its
method says repeat=False. An event that was started 3 times (max_starts)
without a new result is set aside, so that it can't hold up the others.
"""

_CANCEL: Final = """\
Examples:
  agentctl invocation cancel Bot#3               event 3, if it isn't executing
  agentctl invocation cancel Bot order-7         the one with this key
  agentctl invocation cancel Bot#3 --running     also if it is executing
  agentctl workflow cancel Onboard/ana           the workflow of ana
  agentctl schedule cancel Bot report            a schedule: it fires no more

  the event is           answer              code  what happens
  ---------------------  ------------------  ----  -------------------------
  scheduled, queued, or  cancelled           0     it ends, no code of it runs
   stuck
  sleeping, or waiting   cancelled           0     its handler cleans up
  executing              running             4     nothing
  executing, a workflow  cancelled           0     its attempt ends, no other
                                                   step begins
  executing, --running   cancelled           0     its handler cleans up
  cancelled before       already cancelled   0     nothing
  over, or set aside     finished            4     nothing
  nobody knows it        unknown             3     nothing

A handler that cleans up gets asyncio.CancelledError where it waits. The
calls of its finally blocks are made and recorded. Then the event ends as
cancelled, also if the handler swallows the error; what it changed in the
state is dropped. What its calls did stays done; done steps that say how
(compensate=) are undone, the last one first.

The answer is on record before it is given. Without a program it is too, and
the clean-up runs at the next start. A running event then counts as queued.
"""

_KEYS: Final = """\
Examples:
  agentctl invoke -i order-7 Bot request 7       once, however often it is said
  agentctl invoke -i - Bot request 7             makes a key, says it on stderr
  agentctl invocation show Bot order-7           the event with this key

An idempotency key stands for one handler with one set of arguments, within
one instance. Said again:

  the first event is     what happens
  ---------------------  ------------------------------------------------
  open                   its end is waited for, and told
  stuck                  its error is told
  completed, or failed   its outcome is told; nothing runs
  cancelled              a new event begins
  set aside              refused, exit code 4: put it back first
  of other arguments,    refused, exit code 4: take a new key
   or another handler

With --trigger its address is printed in each case. Outcomes are kept for
retention (7d) after the end; then the key is new again.

Two other things are called keys, too. The call key (Bot-1-2: agent, event,
call) says which call this is; it is the same each time that call is made.
The service key is the call key with the event's random part: give that to a
service, so that it can drop a call that is made again.
"""

_EXIT_CODES: Final = """\
Examples:
  agentctl invoke Bot request 7; echo $?
  agentctl run --until-idle || echo "something is stuck"

  code     when                                               again?
  -------  -------------------------------------------------  ------
  0        done
  1        the handler failed, is stuck by a bug, or was      no
           cancelled; run --until-idle: an event is stuck;
           status --check: something isn't well
  2        a flag, an argument, a time                        no
  3        no such project, agent, handler, event, schedule   no
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
  agentctl invoke -t --at 2099-03-15T10:30:00 --tz Europe/Berlin Bot request 7

Moments: 2026-03-15T10:30:00Z or with an offset (+01:00), @1773570600
(seconds since 1970), now, -5m (five minutes ago), +5m. A time without a
zone is refused, but where --tz says which; so is a wall time that the
zone's clocks show twice, or never.

Durations: 90s, 1d2h30m, 500ms, PT5M. A bare number is refused.

A moment that has passed: invoke --at and schedule set begin at once, unless
schedule set's --max-late is over; kavach.toml doesn't set it.

Cron expressions ('0 9 * * 1-5': five fields, names, L), and what comes again
and again: agentctl help schedules.

Output: RFC 3339, UTC, six decimals; on a terminal times are relative.
"""

_SCHEDULES: Final = """\
Examples:
  agentctl schedule set Bot request 7 --name daily --every 1d
  agentctl schedule set Bot request 7 --name report --cron '0 9 * * *' --tz UTC
  agentctl schedule preview '30 2 * * *' --tz Europe/Berlin
  agentctl schedule list

A schedule is a name of one instance. It runs a handler once (--at, --in), or
again and again (--every, --cron), while a program runs the agent. Set again
under its name it is replaced; set just so again, nothing changes. What code
or kavach.toml has set is replaced from the shell only with --force.

It keeps to the grid of its first due time: neither a restart, a pause nor a
late run moves it. Each occurrence runs once, and never early. A policy says
what becomes of a due time at which it couldn't:

  the policy             what becomes of it
  ---------------------  ---------------------------------------------------
  --missed coalesce      nothing ran then: one run for all, then the grid
  --missed skip          nothing ran then: it is left out
  --missed all           nothing ran then: each of them runs, at most 100
  --overlap skip         the last one still runs: it is left out
  --overlap queue        the last one still runs: it runs behind it
  --overlap allow        the last one still runs: it runs beside it
  --max-late 1h          it would begin later than that: it is missed
  --jitter 30s           it begins up to so much later, at random; its due
                         time and the grid stay

What is left out or missed stands in the audit log, with a count. What is due
once is late, but never left out: --missed and --overlap don't go with it.

A change in kavach.toml counts from the next start of the program. A single
time that has passed already: schedule set and invoke --at begin at once (or
it is missed, by --max-late); kavach.toml doesn't set it, and run says so.

Cron is five fields, in a zone: that of --tz, or tz in [project]:

  minute                 0 to 59
  hour                   0 to 23
  day of the month       1 to 31; L the last, LW the last weekday
  month                  1 to 12, or JAN to DEC
  day of the week        0 to 7 (0 and 7 are Sunday), or SUN to SAT; 5L the
                         last Friday, 1#2 the second Monday

Each takes * for any, lists (1,15), ranges (1-5) and steps (*/10). Where both
a day of the month and a day of the week are given, either counts: 0 9 13 * 5
is the 13th, and each Friday.

Where the clocks are set forward, a time that
isn't there runs once, at the first moment behind the gap. Where they are set
back, a time that comes twice runs once; with * for its minute or hour, in
both. agentctl schedule preview marks these nights.
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
  --color WHEN           auto, always or never; NO_COLOR and TERM=dumb count
                         with auto. Only tables on a terminal are coloured,
                         so always changes nothing in a pipe
  -q, --quiet            no notes on stderr, only errors
  -v, --verbose          say more; -vv shows tracebacks of agentctl's own
  -y, --yes              answer every question beforehand
  -h, --help             help on the command
  --version              the version
"""

TOPICS: Final = {
    "again": Topic("what makes an event run again, and what happens to its calls", _AGAIN),
    "arguments": Topic("how arguments of handlers are written", _ARGUMENTS),
    "cancel": Topic("what cancelling does, and what it answers", _CANCEL),
    "exit-codes": Topic("what each exit code means", _EXIT_CODES),
    "flags": Topic("the global flags, and environment variables", _FLAGS),
    "keys": Topic("idempotency keys, call keys and service keys", _KEYS),
    "schedules": Topic("what recurs: its grid, and what is missed or overlaps", _SCHEDULES),
    "times": Topic("how moments and durations are written", _TIMES),
}
