"""Raise today's budget: a dated grant in the ledger, which undo revokes. Tomorrow the settings apply again."""

from __future__ import annotations

from lumen_tui.actions import checks, edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import budget, ids, times
from lumen_tui.model.budget import Limit
from lumen_tui.model.config import BudgetConfig
from lumen_tui.model.records import Change
from lumen_tui.model.requests.engine import RaiseBudget
from lumen_tui.model.spendbook import GRANT, REVOKE, Book, LedgerEntry
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.settings.config import load_config

_NUMBERS = ("tokens", "usd", "seconds")
_FIELDS = ("day", "role", *_NUMBERS)


def raise_cap(store: Store, request: RaiseBudget, *, by: str, now: float) -> Done:
    """Raise today's cap, or that of one role."""
    if min(request.tokens, request.usd, request.minutes) < 0 or not (request.tokens or request.usd or request.minutes):
        raise ActionError("name how much more there shall be today: tokens, dollars or minutes, above 0")
    if problem := budget.out_of_range(tokens=request.tokens, usd=request.usd, minutes=request.minutes):
        raise ActionError(problem)
    config = load_config(store.layout)[0].budget
    ledger = Ledger(store.layout)
    more = Limit(request.tokens, request.usd, request.minutes * 60)
    day = budget.day_of(now, config.day_starts)
    if request.role and request.role not in config.roles:
        checks.role_name(store.layout, request.role)
    _must_have_limit(ledger.refresh(), config, day, request.role, more)
    grant = LedgerEntry(
        ids.new_id("grn"),
        GRANT,
        times.iso(now),
        day,
        role=request.role,
        tokens=request.tokens,
        usd=request.usd,
        seconds=request.minutes * 60,
        by=by,
        text=one_line(request.reason, 400),
    )
    change = Change(kind="grant", key=grant.id, before=None, after=_side(grant))
    summary = f"{_cap(ledger.refresh(), config, day, request.role).name} raised by {_limit_text(more)}"
    action = edits.new_action("budget.raise", [change], summary=summary, by=by, now=now, reason=request.reason)
    with journal.carrying_out(store.layout, action):
        ledger.append(grant)
    return Done(summary=summary, target=grant.id, action_id=action.id)


def _cap(book: Book, config: BudgetConfig, day: str, role: str) -> budget.Cap:
    return budget.role_cap(book, config, day, role) if role else budget.day_cap(book, config, day)


def _must_have_limit(book: Book, config: BudgetConfig, day: str, role: str, more: Limit) -> None:
    """Refuse to raise a cap that has no limit: nothing would change."""
    cap = _cap(book, config, day, role)
    names = {"tokens": "tokens", "usd": "dollars", "seconds": "minutes"}
    for name, unit in names.items():
        if getattr(more, name) and not getattr(cap.limit, name):
            raise ActionError(f"{cap.name} has no limit in {unit}: there is nothing to raise")


def _limit_text(more: Limit) -> str:
    parts = [f"{more.tokens:,} tokens"] if more.tokens else []
    parts += [budget.dollars(more.usd)] if more.usd else []
    parts += [f"{more.seconds / 60:g} minutes"] if more.seconds else []
    return ", ".join(parts)


def _side(grant: LedgerEntry) -> Side:
    return {name: getattr(grant, name) for name in _FIELDS}


def grant_now(store: Store, change: Change) -> Side | None:
    """For undo: the current grant."""
    grant = Ledger(store.layout).refresh().grants.get(change.key)
    if grant is None:
        return None
    current = _side(grant)
    sides = (side for side in (change.before, change.after) if side is not None)
    return next((side for side in sides if _without_nulls(side) == current), current)


def _without_nulls(side: Side) -> Side:
    """Return a side with null numbers (which JSON cannot express) as 0, as the ledger has them."""
    return {name: side[name] or 0 if name in _NUMBERS else side[name] for name in _FIELDS}


def put_grant(store: Store, change: Change) -> None:
    """For undo: revoke the grant, or give it again."""
    side = _without_nulls(change.after or change.before or {})
    kind = REVOKE if change.after is None else GRANT
    Ledger(store.layout).append(LedgerEntry(id=change.key, kind=kind, at="", **side))
