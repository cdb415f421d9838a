"""Today's spending as a page: caps, who spent what, what is set aside, the pace and where it leads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model import budget, times
from lumen_tui.model.budget import Cap
from lumen_tui.model.spendbook import NOTHING, SLOT, Amount, Book, LedgerEntry
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.model.config import BudgetConfig

HOURS = 24
_TASKS = 50  # that spent most


class Share(Struct, frozen=True):
    """One role, model or task, and what it spent today."""

    name: str
    amount: Amount


class ReportedCall(Struct, frozen=True):
    """A call that is being made, or one that waits for room (then with the reason)."""

    task: str
    role: str
    model: str
    tokens: int
    usd: float
    since: float  # seconds since 1970
    why: str = ""


class Grant(Struct, frozen=True):
    """More room that a person gave for today."""

    id: str
    by: str
    at: str
    tokens: int
    usd: float
    seconds: float
    role: str = ""
    reason: str = ""


class SpendReport(Struct, frozen=True):
    """Everything about one day. Texts are safe."""

    day: str
    ends_at: float  # seconds since 1970, as all moments here
    caps: tuple[Cap, ...]  # the day's first, then those of roles
    roles: tuple[Share, ...]
    models: tuple[Share, ...]
    tasks: tuple[Share, ...]
    purposes: tuple[Share, ...]  # of calls that no step of a task needed, such as `summary`; they are in all others too
    hours: tuple[Amount, ...]  # the last 24, the present one last
    hour: Amount  # the pace: what the last 60 minutes cost
    reached_at: float  # at the pace of the last hour; 0 for never
    reached_at_day_pace: float  # at the pace of the last 24 hours
    held: tuple[ReportedCall, ...]
    waiting: tuple[ReportedCall, ...]
    unknown: tuple[ReportedCall, ...]  # counted in full, because the worker ended before it told the cost
    grants: tuple[Grant, ...]
    warned: str = ""
    full: str = ""
    killed: str = ""
    paused: str = ""


def report(book: Book, config: BudgetConfig, now: float, *, killed: str = "", paused: str = "") -> SpendReport:
    """Return the page at `now`."""
    day = budget.day_of(now, config.day_starts)
    cap = budget.day_cap(book, config, day)
    seen = budget.view(book, config, now)
    last_day = budget.pace(book, now, times.DAY)
    return SpendReport(
        day=day,
        ends_at=budget.day_ends(now, config.day_starts),
        caps=(cap, *_role_caps(book, config, day)),
        roles=_shares(book, day, "role"),
        models=_shares(book, day, "model"),
        tasks=_shares(book, day, "task")[:_TASKS],
        purposes=_shares(book, day, "purpose"),
        hours=hours(book, now),
        hour=budget.pace(book, now),
        reached_at=budget.reaches(cap, budget.pace(book, now), now),
        reached_at_day_pace=budget.reaches(cap, last_day, now, times.DAY),
        held=_held(book.open.values()),
        waiting=_held(wait for wait in book.waits.values() if wait.day == day),
        unknown=_held(lost for lost in book.lost.values() if lost.day == day),
        grants=tuple(_grant(grant) for grant in book.grants.values() if grant.day == day),
        warned=seen.warned,
        full="; ".join(seen.reached),
        killed=killed,
        paused=paused,
    )


def hours(book: Book, now: float) -> tuple[Amount, ...]:
    """Return what each of the last hours cost, the present one last."""
    this = int(now // times.HOUR)
    totals = [NOTHING] * HOURS
    for slot, amount in book.slots.items():
        back = this - slot * SLOT // 3600
        if 0 <= back < HOURS:
            totals[HOURS - 1 - back] = totals[HOURS - 1 - back].plus(amount)
    return tuple(totals)


def _role_caps(book: Book, config: BudgetConfig, day: str) -> list[Cap]:
    return [cap for role in config.roles if (cap := budget.role_cap(book, config, day, role)).limit]


def _shares(book: Book, day: str, kind: str) -> tuple[Share, ...]:
    """Return what each role, model or task spent, largest first."""
    totals = book.parts.get(f"{day} {kind}", {})
    shares = [Share(one_line(name, 100) or "(none)", amount) for name, amount in totals.items() if amount != NOTHING]
    return tuple(sorted(shares, key=lambda share: (-share.amount.usd, -share.amount.tokens, share.name)))


def _held(entries: Iterable[LedgerEntry]) -> tuple[ReportedCall, ...]:
    return tuple(
        ReportedCall(
            one_line(entry.task, 64),
            one_line(entry.role, 64),
            one_line(entry.model, 100),
            entry.tokens,
            entry.usd,
            times.epoch(entry.at),
            one_line(entry.text),
        )
        for entry in entries
    )


def _grant(entry: LedgerEntry) -> Grant:
    return Grant(
        entry.id,
        one_line(entry.by, 60),
        entry.at,
        entry.tokens,
        entry.usd,
        entry.seconds,
        one_line(entry.role, 64),
        one_line(entry.text),
    )
