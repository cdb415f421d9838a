"""Cleanup: archive nodes and signals whose retention is over. Nothing is deleted; active work is left alone."""

from __future__ import annotations

import math
from contextlib import closing
from typing import NamedTuple

from lumen_tui.actions import acting, edits, refusal
from lumen_tui.actions import decay as decay_rules
from lumen_tui.actions.decay import ArchiveCandidate
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import ids, times
from lumen_tui.model.ids import BadId, check_name
from lumen_tui.model.records import LIFECYCLE_BY_TYPE, Action, Change
from lumen_tui.model.requests.memory import CleanUpNodes
from lumen_tui.model.requests.sessions import EndSession
from lumen_tui.model.requests.signals import CleanUpSignals
from lumen_tui.model.summary import Retention, is_pending_decision
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.rewriting import Watch, unwatched
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.node_index import AgeIndex
from lumen_tui.store.memory.nodes import Ambiguous, Raw
from lumen_tui.store.signals import cleanups, compaction, retention
from lumen_tui.store.signals.cleanups import CleanupRecorder
from lumen_tui.store.signals.retention import CleanupCounts
from lumen_tui.store.work import sessions, work_units

SIGNALS_KIND = "signal cleanup"  # of a change
_ARCHIVED = "the signals are in memory/archive.jsonl, where they can be read and searched"
_TOO_LARGE = f"journals of more than {cleanups.MOST_BYTES >> 20} MiB are not kept to be put back"


class CleanupOptions(NamedTuple):
    """Options of one cleanup. With a session id only that session's nodes count, whatever their age."""

    retention: Retention
    session_id: str = ""


def cleanup_options(ttl: str = "", session_id: str = "") -> CleanupOptions:
    """Parse options: `30d` replaces the retention of every lifecycle. ValueError where it is no duration."""
    if not ttl:
        return CleanupOptions(Retention(), session_id)
    limit = times.parse_duration(ttl)
    if limit < 0:
        raise ValueError(f"--ttl {ttl!r} is below zero")
    return CleanupOptions(Retention(ephemeral=limit, session=limit, wu=limit), session_id)


class _Protection:
    """What a cleanup leaves alone besides what decay protects."""

    def __init__(self, layout: Layout) -> None:
        units, _ = work_units.list_units(layout)
        self.active = {unit.id for unit in units if unit.status != "done"}

    def keeps(self, node: Raw, last_checkpoints: set[str], *, whole_unit: bool) -> bool:
        if is_pending_decision(node):
            return True
        active = node.get("wu_id") in self.active
        return active and (whole_unit or node["id"] in last_checkpoints)


def lifecycle_of(node: Raw) -> str:
    """Return the lifecycle that a node names, or that of its type."""
    named = node.get("lifecycle")
    return named if isinstance(named, str) and named else LIFECYCLE_BY_TYPE.get(str(node.get("type")), "session")


def due(store: Store, index: AgeIndex, options: CleanupOptions, now: float) -> list[ArchiveCandidate]:
    """Return what a cleanup would archive now, the longest untouched first."""
    keep = _Protection(store.layout)
    rows = list(index.records(index.untouched_since(math.inf)))
    last = _last_checkpoints([node for _, node in rows])
    candidates = []
    for row, node in rows:
        if keep.keeps(node, last, whole_unit=not options.session_id):
            continue
        if reason := _archive_reason(node, now - row.touched, options):
            candidates.append(ArchiveCandidate(row.node_id, row.touched, reason, -1.0))
    return candidates


def _last_checkpoints(nodes: list[Raw]) -> set[str]:
    """Return the newest checkpoint of each work unit, from which a fresh agent continues."""
    newest: dict[object, tuple[str, str]] = {}
    for node in nodes:
        if node.get("type") == "checkpoint":
            stamp = (str(node.get("created_at")), str(node["id"]))
            newest[node.get("wu_id")] = max(stamp, newest.get(node.get("wu_id"), stamp))
    return {node_id for _, node_id in newest.values()}


def _archive_reason(node: Raw, age: float, options: CleanupOptions) -> str:
    """Return why this node is archived, empty where it stays."""
    lifecycle = lifecycle_of(node)
    if options.session_id:
        is_its_own = node.get("session_id") == options.session_id
        return f"session {options.session_id} is over" if is_its_own and lifecycle in ("ephemeral", "session") else ""
    limit = options.retention.of(lifecycle)
    if limit is None or age < limit:
        return ""
    span_text = f"kept for {times.age(limit)}" if limit else "not kept"
    return f"{lifecycle} node untouched for {times.age(age)}, {span_text}"


def known_session(store: Store, text: str) -> str:
    """Return the id of a session, given any beginning of it; an imported one is known from its nodes."""
    try:
        return sessions.resolve(store.layout, text)
    except Ambiguous as error:
        raise ambiguous(text, error.candidates) from error
    except (LookupError, BadId):
        pass
    known = {str(node["session_id"]) for node in newest_nodes(store.layout, '"session_id"') if node.get("session_id")}
    if text not in known:
        near = refusal.nearest(text, known)
        if not near:
            check_name(text, "session id")
        raise ActionError(f"there is no session {text!r}", candidates=near, missing=True)
    return text


def _close(store: Store, session_id: str, *, by: str, now: float) -> Done | None:
    """End the session where it is still open."""
    from lumen_tui.actions import sessions as verbs

    session = sessions.read(store.layout, session_id)
    if session is None or session.ended_at:
        return None
    return verbs.end(store, EndSession(session=session_id), by=by, now=now)


def nodes(store: Store, request: CleanUpNodes, *, by: str, now: float) -> Done:
    """Archive nodes whose retention is over; with `decay` also those that have decayed.

    With a session id that session is closed, and only its own nodes are considered.
    """
    options = cleanup_options(request.ttl, known_session(store, request.session_id) if request.session_id else "")
    if not request.force:
        decay_rules.refuse_after_jump(store, now)
    closed = _close(store, options.session_id, by=by, now=now) if request.session_id else None
    rule = decay_rules.rule_of(store)

    def plan(index: AgeIndex) -> list[ArchiveCandidate]:
        candidates = due(store, index, options, now)
        named = {candidate.node_id for candidate in candidates}
        return candidates + [
            candidate
            for candidate in decay_rules.due(index, rule, now)
            if request.decay and candidate.node_id not in named
        ]

    with closing(AgeIndex(store.layout)) as index:
        outcome = decay_rules.archive_candidates(store, index.load(), plan, verb="cleanup.nodes", by=by, now=now)
    if closed is None:
        return outcome
    summary = f"{closed.summary}; {outcome.summary}"
    return Done(
        summary=summary, target=outcome.target or closed.target, action_id=outcome.action_id or closed.action_id
    )


def _signal_rule(request: CleanUpSignals) -> retention.RetentionRule:
    """Parse a retention rule for signals; ValueError where a value is no duration or below zero."""
    if request.max_entries < 0:
        raise ValueError(f"--max-entries {request.max_entries} is below zero")
    read, unread = times.parse_duration(request.ttl), times.parse_duration(request.unread_ttl)
    return retention.RetentionRule(read, unread, request.max_entries)


def signal_plan(store: Store, request: CleanUpSignals, *, now: float, watch: Watch = unwatched) -> CleanupCounts:
    """Return what a cleanup of the signals would do."""
    return compaction.plan(store.layout, _signal_rule(request), now, watch)


class Cleaned(Done, frozen=True, kw_only=True):
    """The outcome of a cleanup of the signals."""

    counts: CleanupCounts


def signals(store: Store, request: CleanUpSignals, *, by: str, now: float) -> Cleaned:
    """Announce the action before the first line goes; undo has copies unless they are too large."""
    if not request.force:
        decay_rules.refuse_after_jump(store, now)
    rule = _signal_rule(request)
    name = ids.new_id("cln")
    actions: list[Action] = []

    def tell(counts: CleanupCounts) -> None:
        changes = [_change(name, rule, now)] if keeping.copies else []
        summary = _moved(counts) if counts.removed else "orphaned receipts removed"
        final = "" if keeping.copies else f"{_TOO_LARGE}: {_ARCHIVED}"
        actions.append(edits.new_action("cleanup.signals", changes, summary=summary, by=by, now=now, final=final))
        transaction.announce(actions[0])

    keeping = CleanupRecorder(store.layout, name, times.iso(now), tell)
    with journal.Transaction(store.layout) as transaction:
        counts = compaction.compact(store.layout, rule, now, acting.caller().watch, keeping)
    if not actions:
        return Cleaned(summary="nothing to clean up", counts=counts)
    text = _moved(counts)
    if counts.orphaned:
        text += f"; {counts.orphaned} orphaned receipt{'' if counts.orphaned == 1 else 's'} removed"
    return Cleaned(summary=text, target="memory/archive.jsonl", counts=counts, action_id=actions[0].id)


def _moved(counts: CleanupCounts) -> str:
    moved = counts.removed
    return f"{moved} signal{'' if moved == 1 else 's'} moved to memory/archive.jsonl, {counts.kept} kept"


def _change(name: str, rule: retention.RetentionRule, now: float) -> Change:
    after = {"at": times.iso(now), "read": rule.read, "unread": rule.unread, "most_read": rule.most_read}
    return Change(SIGNALS_KIND, name, before=None, after=after)


def signals_now(store: Store, change: Change) -> Side | None:
    """For undo: whether a cleanup of the signals is in effect. Refused where its removed lines are not kept."""
    cleanup = cleanups.read(store.layout, change.key)
    if cleanup is None:
        if change.after is None:
            raise ActionError(f"only the last {cleanups.MOST} cleanups are kept to be taken back: {_ARCHIVED}")
        return {}
    return None if cleanup.undone else change.after or change.before


def may_signals(store: Store, change: Change) -> None:
    """For undo: cleanups are undone last first, so that each signal gets its place again."""
    if after := cleanups.later(store.layout, change.key):
        by = journal.last_change(store.layout, SIGNALS_KIND, after.id)
        who = f" by {by.by} (`undo {by.id}`)" if by else ""
        raise ActionError(f"a later cleanup{who} is in effect: undo that first")


def put_signals(store: Store, change: Change) -> None:
    """For undo: bring back what a cleanup removed; redo applies its rule as of that moment."""
    if change.after is None:
        cleanups.put_back(store.layout, change.key)
        return
    side = change.after
    rule = retention.RetentionRule(side["read"], side["unread"], side["most_read"])
    keeping = CleanupRecorder(store.layout, change.key, side["at"], lambda _: None)
    compaction.compact(store.layout, rule, times.epoch(side["at"]), keeping=keeping)
