"""Change settings in operator.toml, and raise caps: a dated grant in the ledger, after which the settings apply again.

Both sides of each change are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from lumen_tui.actions import checks, edits, refusal
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import budget, ids, times
from lumen_tui.model.budget import Limit
from lumen_tui.model.config import BudgetConfig, Config
from lumen_tui.model.decay import check_rule
from lumen_tui.model.records import Change
from lumen_tui.model.requests.engine import ChangeSettings, RaiseBudget
from lumen_tui.model.spendbook import GRANT, REVOKE, Book, LedgerEntry
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.memory import nodes
from lumen_tui.store.settings import config_errors
from lumen_tui.store.settings.config import change_operator, load_config

_MISSING = object()


def change(store: Store, request: ChangeSettings, *, by: str, now: float) -> Done:
    """Write operator.toml in one piece; both sides of each key are recorded."""
    if not request.changes:
        raise ActionError("nothing is set: name at least one setting")
    before = load_config(store.layout)[0]
    check(before, request.changes)
    sides = [_change_of(store, key, value) for key, value in request.changes.items()]
    summary = "; ".join([f"{key} {_shown(before, key)} → {_in_words(value)}" for key, value in request.changes.items()])
    action = edits.new_action("setting.change", sides, summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        change_operator(store.layout, dict(request.changes))
    after = load_config(store.layout)[0]
    summary = "; ".join([f"{key} {_shown(before, key)} → {_shown(after, key)}" for key in request.changes])
    return Done(summary=summary, target=next(iter(request.changes)), action_id=action.id)


def check(config: Config, changes: Mapping[str, Any]) -> None:
    """Refuse unknown settings, values of the wrong type, and numbers that make no valid decay rule."""
    table: dict[str, Any] = msgspec.to_builtins(config)
    known = set(_keys(msgspec.to_builtins(Config())))
    for key, value in changes.items():
        if key not in known and not key.startswith(("keys.", "filters.")):
            raise ActionError(f"there is no setting {key!r}", candidates=refusal.nearest(key, known))
        if value is not None:
            nodes.set_fields(table, {key: value})
    try:
        decay = msgspec.convert(table, Config).memory.decay
    except msgspec.ValidationError as error:
        raise ActionError(config_errors.in_words(error, Config, table)) from error
    check_rule(decay.half_life_days, decay.threshold)


def _keys(table: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{above}{name}.")
        else:
            yield above + name


def _shown(config: Config, key: str) -> str:
    value = _lookup(msgspec.to_builtins(config), key)
    return "(default)" if value is _MISSING else _in_words(value)


def _in_words(value: object) -> str:
    if value is None:
        return "as in lumen.toml"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _lookup(table: object, key: str) -> object:
    for name in key.split("."):
        if not isinstance(table, dict) or name not in table:
            return _MISSING
        table = table[name]
    return table


def _change_of(store: Store, key: str, value: object) -> Change:
    after = None if value is None else {"value": value}
    return Change(kind="setting", key=key, before=side(store, key), after=after)


def side(store: Store, key: str) -> Side | None:
    """Return what operator.toml says of a setting; None where it says nothing."""
    text = (files.read(store.layout.operator) or b"").decode()
    value = _lookup(frontmatter.parse_toml(text), key)
    return None if value is _MISSING else {"value": value}


def _value(known: Side | None) -> Any:
    return None if known is None else known["value"]


def setting_now(store: Store, change: Change) -> Side | None:
    """For undo: what operator.toml says now."""
    return side(store, change.key)


def put_setting(store: Store, change: Change) -> None:
    """For undo: bring the setting to the change's `after`."""
    change_operator(store.layout, {change.key: _value(change.after)})


_NUMBERS = ("tokens", "usd", "seconds")
_FIELDS = ("day", "role", *_NUMBERS)


def raise_cap(store: Store, request: RaiseBudget, *, by: str, now: float) -> Done:
    """Append a dated grant to the ledger, which undo revokes."""
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
