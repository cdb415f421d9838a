"""`pause`, `resume`, `stop`, `beat`, `budget`, `kill`, `unkill`: what the engine may do, and what it may spend."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_outcome, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.budget import Cap, own_words
from lumen_tui.model.requests.engine import (
    KillAgent,
    PauseAgent,
    RaiseBudget,
    RequestBeat,
    ResumeAgent,
    StopEngine,
    UnkillAgent,
)
from lumen_tui.model.spendbook import Amount
from lumen_tui.model.spendreport import Grant, ReportedCall, Share, SpendReport
from lumen_tui.model.tasks import Budget

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_SCOPES = "all (as without it), loop, role NAME, provider NAME, or worker ID"


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_engine(commands)
    _declare_budget(commands)


def _declare_engine(commands: CommandGroup) -> None:
    pause = commands.verb(
        "pause", PauseAgent, "Start nothing new, or pause workers.", "pause worker 7f2 --for 2h", request=_pause
    )
    pause.set_defaults(seconds=None)  # a time of 0 that is written is wrong; none written is none
    pause.add_argument("scope", nargs="*", metavar="SCOPE", help=_SCOPES)
    resume = commands.add("resume", run_resume, "Go on after a pause; without a scope after every one.", "resume loop")
    resume.add_argument("scope", nargs="*", metavar="SCOPE", help=_SCOPES)
    resume.json()
    commands.verb("stop", StopEngine, "End the engine.", "stop --after task")
    commands.verb("beat", RequestBeat, "Ask the engine for a beat now.", "beat")


def _target(words: list[str]) -> str:
    """Return the scope as the requests name it. Raise ActionError where the words make none."""
    if not words or words == ["all"]:
        return ""
    if words == ["loop"]:
        return "loop"
    if len(words) == 2 and words[0] in ("worker", "role", "provider"):
        return words[1] if words[0] == "worker" else f"{words[0]}:{words[1]}"
    raise ActionError(f"{' '.join(words)!r} is no scope: {_SCOPES}")


def _pause(_: Session, args: Namespace) -> PauseAgent:
    if args.seconds is not None and not args.seconds >= 1:
        raise ActionError("a pause lasts 1 second at least; without --for it lasts until `resume`")
    return request_of(PauseAgent, args, target=_target(args.scope))


def run_resume(session: Session, args: Namespace) -> int:
    from lumen_tui.store.tasks.pauses import is_killed

    target = _target(args.scope)
    try:
        return print_outcome(session.perform(ResumeAgent(target=target)), as_json=args.json)
    except ActionError as error:
        if not is_killed(session.layout):
            raise
        talk(f"lumen-tui: {error}")
        return 1  # the words were right; what they ask for is not to be had


_BARS = "▁▂▃▄▅▆▇█"
_MOST = 10  # tasks that are listed for people


def _declare_budget(commands: CommandGroup) -> None:
    page = commands.add(
        "budget",
        run_budget,
        "Today's cost against its caps; `budget raise` raises today's cap.",
        "budget raise --usd 5",
    )
    page.add_argument("raise_", nargs="?", default="", choices=("", "raise"), metavar="raise", help="raise today's cap")
    page.fields(RaiseBudget)
    page.json()
    commands.verb(
        "kill",
        KillAgent,
        "End every worker at once; nothing starts until `unkill`. Needs no engine.",
        'kill --reason "it ran wild"',
    )
    commands.verb("unkill", UnkillAgent, "Resume the engine after a kill.", "unkill")


def run_budget(session: Session, args: Namespace) -> int:
    if args.raise_:
        return print_outcome(session.perform(request_of(RaiseBudget, args)), as_json=args.json)
    if args.tokens or args.usd or args.minutes or args.role:
        raise ActionError("to raise today's cap, use `budget raise`")
    from lumen_tui.queries.queue_conditions import spend_report

    report = spend_report(session.layout, session.now)
    if args.json:
        document(report)
    else:
        _print_budget(report, session.now)
    return 0


def _print_budget(report: SpendReport, now: float) -> None:
    for cap in report.caps:
        say(_cap(cap))
    say(_forecast(report, now))
    for text in (report.killed, report.full, report.warned, report.paused):
        if text:
            say(f"! {text}")
    for grant in report.grants:
        say(f"raised today by {grant.by}: {_grant(grant)}")
    _print_shares("by role", report.roles)
    _print_shares("by model", report.models)
    _print_shares("of which outside of task steps", report.purposes)
    _print_shares("by task", report.tasks[:_MOST])
    if len(report.tasks) > _MOST:
        talk(f"and {len(report.tasks) - _MOST} more tasks: --json has them")
    _print_calls("being made", report.held, now)
    _print_calls("waiting for room", report.waiting, now)
    _print_calls("cost unknown, counted in full", report.unknown, now)
    most = max([hour.tokens for hour in report.hours] + [1])
    say("last 24 hours  " + "".join(_BARS[min(7, 8 * hour.tokens // most)] for hour in report.hours))


def _grant(grant: Grant) -> str:
    """Return what was added, and why: `40,000 tokens, $5.00 for role builder: a long night`."""
    role = f" for role {grant.role}" if grant.role else ""
    reason = f": {grant.reason}" if grant.reason else ""
    return own_words(Budget(grant.tokens, grant.usd, grant.seconds)) + role + reason


def _cap(cap: Cap) -> str:
    if not cap.limit:
        return f"{cap.name}: {_amount(cap.spent)}, no limit"
    aside = f", {_amount(cap.held)} reserved" if cap.held else ""
    share = "" if cap.closed else f" ({cap.share:.0%})"
    return f"{cap.name}: {cap.words}{share}{aside}"


def _forecast(report: SpendReport, now: float) -> str:
    pace = f"pace: {_amount(report.hour)} in the last hour"
    if report.caps[0].share >= 1:
        return pace
    if 0 < report.reached_at <= report.ends_at:
        return f"{pace}; the cap is reached in {times.span(report.reached_at - now)} at that pace"
    return f"{pace}; today's cap will not be reached at that pace"


def _amount(amount: Amount) -> str:
    minutes = f", {amount.seconds / 60:.0f} min" if amount.seconds >= 30 else ""
    return f"{amount.tokens:,} tokens, ${amount.usd:.4f}{minutes}"


def _print_shares(title: str, shares: tuple[Share, ...]) -> None:
    if not shares:
        return
    say(title)
    table(
        [
            (
                f"  {row.name}",
                f"{row.amount.tokens:,} tokens",
                f"${row.amount.usd:.4f}",
                _calls_made(row.amount.calls),
                f"{row.amount.cached:.0%} cached" if row.amount.read else "",
                times.span(row.amount.seconds),
            )
            for row in shares
        ]
    )


def _calls_made(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _print_calls(title: str, calls: tuple[ReportedCall, ...], now: float) -> None:
    if not calls:
        return
    say(title)
    table(
        [
            (
                f"  {call.task}",
                call.role,
                call.model,
                f"up to {call.tokens:,} tokens, ${call.usd:.4f}",
                f"since {times.age(now - call.since)}",
            )
            for call in calls
        ]
    )
