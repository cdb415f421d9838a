"""Work units as they move through a lane: claimed, blocked, released, done.

Every change is made under the lock `work`: first the unit's own file, which is authoritative, then the lane lock and
the stamp that follow from it. Undo sets the fields and lets the rest follow in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import agents, checks, edits
from lumen_tui.actions.edits import Fields, Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import kinds, times
from lumen_tui.model import lanes as names
from lumen_tui.model.records import Change
from lumen_tui.model.requests.work import BlockWorkUnit, ClaimWorkUnit, ReleaseWorkUnit, UnblockWorkUnit
from lumen_tui.model.work import Holder, Tracked
from lumen_tui.queries.trail import Trail, blockers
from lumen_tui.queries.trail_file import EDGES, NODES
from lumen_tui.storage import files, locks
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.sessions.hook_events import SignalTimes
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.work import sessions as stored
from lumen_tui.store.work import work_units

if TYPE_CHECKING:
    from lumen_tui.model.config import Config, LanesConfig

READY = "ready"
IN_PROGRESS = "in_progress"
BLOCKED = "blocked"
DONE = "done"
CLAIM = "wu.claim"
STAMP_KIND = "stamp"  # of a change
_FREE: Fields = {"claimed_by": None, "claimed_at": None, "claimed_in": None}
_NOT_BLOCKED: Fields = {"blocked_by": None, "blocked_at": None, "blocked_reason": None}


def config_of(store: Store) -> Config:
    """Return the configuration in force."""
    return load_config(store.layout)[0]


def unit_of(store: Store, text: str) -> Tracked:
    """Return an existing work unit."""
    unit = work_units.read_tracked(store.layout, checks.known_unit(store.layout, text or "?"))
    if unit is None:
        raise ActionError(f"there is no work unit {text}", missing=True)
    return unit


def in_lane(store: Store, lane: str) -> list[Holder]:
    """Return who occupies the lane: its units in progress, with what the lane lock says of each."""
    known = {entry.wu_id: entry for entry in work_units.lane_holders(store.layout, lane)}
    every = work_units.list_tracked(store.layout)
    units = [unit for unit in every if names.key(unit.lane) == names.key(lane) and unit.status == IN_PROGRESS]
    return [_holder(unit, known.get(unit.id)) for unit in units]


def _holder(unit: Tracked, known: Holder | None) -> Holder:
    if known is not None and known.by == unit.claimed_by:
        return known
    return Holder(lane=unit.lane, wu_id=unit.id, by=unit.claimed_by, since=unit.claimed_at)


def is_stale(store: Store, holder: Holder, rules: LanesConfig, *, now: float) -> bool:
    """Return whether a holder is both old and, by evidence, gone."""
    age = now - times.epoch(holder.since, now)
    return age >= rules.stale_hours * times.HOUR and work_units.is_gone(store.layout, holder)


def must_be_free(store: Store, unit: Tracked, *, by: str, now: float) -> None:
    """Refuse an agent what would end the work of somebody who is still there."""
    known = {entry.wu_id: entry for entry in work_units.lane_holders(store.layout, unit.lane)}
    stale = is_stale(store, _holder(unit, known.get(unit.id)), config_of(store).lanes, now=now)
    agents.must_be_free(unit, by=by, stale=stale)


def holder_text(holder: Holder, now: float) -> str:
    """Describe a holder for people."""
    since = f", for {times.span(max(0.0, now - times.epoch(holder.since, now)))}" if holder.since else ""
    where = f", process {holder.pid} on {holder.host}" if holder.pid else ""
    return f"{holder.wu_id} by {holder.by or 'somebody'}{since}{where}"


def claim(store: Store, request: ClaimWorkUnit, *, by: str, now: float) -> Done:
    """Take it on under the lock of work units: see `take_on`."""
    return take_on(store, request.wu_id, lane=request.lane, session=request.session, pid=request.pid, by=by, now=now)


def take_on(
    store: Store,
    wu_id: str,
    *,
    by: str,
    now: float,
    session: str,
    lane: str = "",
    pid: int = 0,
    verb: str = CLAIM,
    summary: str = "",
) -> Done:
    """Claim a work unit, perhaps as part of another verb."""
    rules = config_of(store).lanes
    with locks.waiting_lock(store.layout.lock("work")):
        unit = unit_of(store, wu_id)
        over = _may_claim(store, unit, rules, by=by, now=now)
        where = _lane_for(store, unit, lane)
        _must_have_room(store, unit, where, rules, now=now)
        since = unit.claimed_at if unit.claimed_by == by and unit.claimed_in else times.iso(now)
        fields: Fields = {
            "status": IN_PROGRESS,
            "lane": where or None,
            "claimed_by": by,
            "claimed_at": since,
            "claimed_in": None if verb == CLAIM else session,
        }
        session_id = _session_id(store, session, by, unit.id)
        holder = work_units.local_holder(where, unit.id, by=by, since=since, pid=pid, session_id=session_id)
        summary = summary or f"{unit.id} claimed by {by}" + (f" in {where}" if where else "") + over
        return change_unit(store, unit.id, fields, verb=verb, summary=summary, by=by, now=now, holder=holder)


def _session_id(store: Store, session: str, by: str, wu_id: str) -> str:
    if session:
        return stored.resolve(store.layout, session)
    newest = stored.newest(store.layout, by, wu_id)
    return newest.session_id if newest else ""


def _may_claim(store: Store, unit: Tracked, rules: LanesConfig, *, by: str, now: float) -> str:
    """Refuse what cannot be claimed; return words about whom it was taken over from, or nothing."""
    if unit.status == DONE:
        raise ActionError(f"{unit.id} is done (by {unit.done_by or 'somebody'}, {times.stamp_of(unit.done_at)})")
    if unit.status == BLOCKED:
        raise ActionError(f"{unit.id} is blocked ({unit.blocked_reason}): `wu unblock {unit.id}` first")
    with Trail(store.layout, (NODES, EDGES)) as trail:
        open_ones = blockers(store, trail, unit.id, now=now)
    if open_ones:
        names = ", ".join(f"{blocker.id} ({blocker.title})" for blocker in open_ones)
        raise ActionError(f"{unit.id} is blocked by {names}: close that first")
    if unit.status != IN_PROGRESS:
        return ""
    known = {entry.wu_id: entry for entry in work_units.lane_holders(store.layout, unit.lane)}
    holder = _holder(unit, known.get(unit.id))
    if is_stale(store, holder, rules, now=now):
        return f", taken over from {holder.by or 'somebody'} (stale)"
    if unit.claimed_by == by and unit.claimed_in:
        return ""  # the start of a session put it in progress; now it is claimed beyond that session
    if unit.claimed_by == by:
        raise ActionError(f"{unit.id} is yours already", missing=True)
    raise ActionError(f"{unit.id} is held: {holder_text(holder, now)}; `wu release {unit.id}` frees it")


def _lane_for(store: Store, unit: Tracked, lane: str) -> str:
    if not lane.strip():
        return unit.lane
    return checks.lane(store.layout, lane)


def _must_have_room(store: Store, unit: Tracked, lane: str, rules: LanesConfig, *, now: float) -> None:
    """Refuse if the lane is full, naming who occupies it."""
    if not lane:
        return
    others = [other for other in in_lane(store, lane) if other.wu_id != unit.id]
    held = [other for other in others if not is_stale(store, other, rules, now=now)]
    if len(held) >= rules.limit(lane):
        names = "; ".join(holder_text(other, now) for other in held)
        raise ActionError(
            f"lane {lane!r} is full ({len(held)} of {rules.limit(lane)}): {names}. Finish, block or release that first"
        )


def block(store: Store, request: BlockWorkUnit, *, by: str, now: float) -> Done:
    """Change the unit and its lane under the lock of work units."""
    clean_reason = checks.reason(request.reason)
    with locks.waiting_lock(store.layout.lock("work")):
        unit = unit_of(store, request.wu_id)
        if unit.status in (BLOCKED, DONE):
            raise ActionError(f"{unit.id} is {unit.status} already", missing=True)
        must_be_free(store, unit, by=by, now=now)
        fields = {
            "status": BLOCKED,
            "blocked_by": by,
            "blocked_at": times.iso(now),
            "blocked_reason": clean_reason,
            **_FREE,
        }
        summary = f"{unit.id} blocked: {clean_reason}"
        outcome = change_unit(
            store, unit.id, fields, verb="wu.block", summary=summary, by=by, now=now, reason=clean_reason
        )
    return msgspec.structs.replace(outcome, aside=_signal_due_at_block(store, unit.id))


def unblock(store: Store, request: UnblockWorkUnit, *, by: str, now: float) -> Done:
    """Change the unit under the lock of work units."""
    with locks.waiting_lock(store.layout.lock("work")):
        unit = unit_of(store, request.wu_id)
        if unit.status != BLOCKED:
            raise ActionError(f"{unit.id} is {unit.status}, not blocked", missing=True)
        fields = {"status": READY, **_NOT_BLOCKED}
        summary = f"{unit.id} is ready again"
        return change_unit(store, unit.id, fields, verb="wu.unblock", summary=summary, by=by, now=now)


def release(store: Store, request: ReleaseWorkUnit, *, by: str, now: float) -> Done:
    """Change the unit and its lane under the lock of work units."""
    with locks.waiting_lock(store.layout.lock("work")):
        unit = unit_of(store, request.wu_id)
        if unit.status != IN_PROGRESS:
            raise ActionError(f"{unit.id} is {unit.status}, nobody holds it", missing=True)
        must_be_free(store, unit, by=by, now=now)
        fields = {"status": READY, **_FREE}
        whose = f" (was held by {unit.claimed_by})" if unit.claimed_by not in ("", by) else ""
        summary = f"{unit.id} released{whose}"
        return change_unit(
            store, unit.id, fields, verb="wu.release", summary=summary, by=by, now=now, reason=request.reason
        )


def change_unit(
    store: Store,
    wu_id: str,
    fields: Fields,
    *,
    verb: str,
    summary: str,
    by: str,
    now: float,
    reason: str = "",
    holder: Holder | None = None,
    stamp: dict[str, str] | None = None,
) -> Done:
    """Set fields of a unit with all that follows, and record it; a failure leaves nothing changed."""
    before = work_units.unit_fields(store.layout, wu_id, list(fields))
    change = Change(kind="unit", key=wu_id, before=before, after=fields)
    stamped = [Change(STAMP_KIND, wu_id, None, stamp)] if stamp else []
    action = edits.new_action(verb, [change, *stamped], summary=summary, by=by, now=now, reason=reason)
    with journal.carrying_out(store.layout, action):
        try:
            put(store, wu_id, fields, holder, stamp)
        except files.StoreError:
            put(store, wu_id, before or {})
            raise
    return Done(summary=summary, target=wu_id, action_id=action.id)


def put(
    store: Store, wu_id: str, fields: Fields, holder: Holder | None = None, stamp: dict[str, str] | None = None
) -> None:
    """Write the fields, then the lane lock and the stamp that follow from the unit. Needs the lock `work`."""
    layout = store.layout
    earlier = work_units.read_tracked(layout, wu_id)
    work_units.set_unit_fields(layout, wu_id, fields)
    unit = work_units.read_tracked(layout, wu_id)
    if unit is None:
        raise files.StoreError(f"work/{wu_id}.md is gone")
    if earlier and (earlier.lane != unit.lane or unit.status != IN_PROGRESS):
        work_units.leave_lane(layout, earlier.lane, wu_id)
    if unit.status == IN_PROGRESS and unit.lane:
        work_units.enter_lane(
            layout, holder or work_units.local_holder(unit.lane, wu_id, by=unit.claimed_by, since=unit.claimed_at)
        )
    if unit.status == DONE and not work_units.read_stamp(layout, wu_id):
        default_stamp = {"wu_id": wu_id, "done_by": unit.done_by, "done_at": unit.done_at}
        work_units.write_stamp(layout, wu_id, stamp or default_stamp)
    if unit.status != DONE:
        work_units.remove_stamp(layout, wu_id)


def unit_now(store: Store, change: Change) -> Side | None:
    return work_units.unit_fields(store.layout, change.key, list(change.before or {}))


def may_unit(store: Store, change: Change) -> None:
    """For undo: refuse if the place in the lane was taken meanwhile."""
    after = change.after or {}
    if after.get("status") == IN_PROGRESS:
        unit = unit_of(store, change.key)
        claimed_at = times.epoch(str(after.get("claimed_at") or ""))
        _must_have_room(store, unit, after.get("lane", unit.lane) or "", config_of(store).lanes, now=claimed_at)


def put_unit(store: Store, change: Change) -> None:
    """For undo: set the unit's fields; refused if the place in the lane was taken meanwhile."""
    with locks.waiting_lock(store.layout.lock("work")):
        if unit_now(store, change) != change.before:
            raise ActionError(f"{change.key} was changed at this moment: nothing was done")
        may_unit(store, change)
        put(store, change.key, change.after or {})


def stamp_now(store: Store, change: Change) -> Side | None:
    return dict(work_units.read_stamp(store.layout, change.key)) or None


def put_stamp(store: Store, change: Change) -> None:
    """For undo: restore the stamp, since the unit alone does not say who was told."""
    if change.after is None:
        work_units.remove_stamp(store.layout, change.key)
    else:
        work_units.write_stamp(store.layout, change.key, change.after)


def signal_due_before_done(store: Store, unit: Tracked) -> str:
    """Return a reminder if no progress signal was sent since the unit was claimed."""
    rule = load_config(store.layout)[0].memory.progress_signals
    if not rule.enabled or not rule.before_gates:
        return ""
    signals = SignalTimes(store.layout)
    signals.refresh()
    newest = signals.newest.get(unit.id, 0.0)
    return (
        "" if newest and newest >= times.epoch(unit.claimed_at) else _progress_signal(unit.id, kinds.UNSIGNALLED_DONE)
    )


def _signal_due_at_block(store: Store, wu_id: str) -> str:
    """Return a reminder to signal that a work unit is blocked."""
    rule = load_config(store.layout)[0].memory.progress_signals
    return _progress_signal(wu_id, kinds.UNSIGNALLED_BLOCKED) if rule.enabled and rule.on_blocked else ""


def _progress_signal(wu_id: str, occasion: str) -> str:
    return f"{wu_id} {occasion}: {kinds.signal_command(wu_id)}"
