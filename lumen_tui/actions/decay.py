"""Decay: archive nodes that nobody touched for long. Pin a node to keep it, touch it to restart its age."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple

import msgspec

from lumen_tui.actions import checks, edits
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import decay, times
from lumen_tui.model.decay import DecayRule
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.requests.memory import ApplyDecay, PinNodes, TouchNodes
from lumen_tui.storage import backwards
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import node_bulk
from lumen_tui.store.memory.node_index import AgeIndex
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.settings.config import load_config

TOUCH_KIND = "touches"  # of a change
touches_now, put_touches = edits.sides(lambda store: store.layout.touches)
_TAIL = 2 * 1024 * 1024
_event = msgspec.json.Decoder(EngineEvent)


def pin(store: Store, request: PinNodes, *, by: str, now: float) -> Done:
    """Set or remove `metadata.pinned` on all of them in one write."""

    def decide(_: Raw) -> Fields:
        return {"metadata.pinned": True if request.pinned else None}

    template = "{} pinned" if request.pinned else "{} no longer pinned"
    full_ids = checks.node_ids(store, request.node_ids)
    return edits.edit_nodes(store, full_ids, decide, verb="decay.pin", template=template, by=by, now=now)


def touch(store: Store, request: TouchNodes, *, by: str, now: float) -> Done:
    """Append to touches.jsonl, whose lines undo takes out."""
    full_ids = checks.node_ids(store, request.node_ids)
    return add_touches(store, full_ids, "decay.touch", "{} touched", by=by, now=now)


def add_touches(store: Store, node_ids: Sequence[str], verb: str, template: str, *, by: str, now: float) -> Done:
    """Append a touch of each node; `{}` in the template becomes their number."""
    at = times.iso(now)
    touched = [{"node_id": node_id, "at": at, "kind": "touch", "by": by, "schema": 1} for node_id in node_ids]
    summary = template.replace("{}", f"{len(touched)} node{'s' if len(touched) > 1 else ''}")
    action = edits.new_action(verb, edits.changes_of(TOUCH_KIND, touched), summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        store.touches.append_all(touched)
    return Done(summary=summary, target=node_ids[0], action_id=action.id)


class ArchiveCandidate(NamedTuple):
    """A node to be archived; `touched` is when it was touched last, in seconds since 1970."""

    node_id: str
    touched: float
    reason: str
    score: float  # -1 where no score had a part in it


ArchivePlan = Callable[[AgeIndex], list[ArchiveCandidate]]


def archive_candidates(store: Store, index: AgeIndex, plan: ArchivePlan, *, verb: str, by: str, now: float) -> Done:
    """Archive what `plan` names as one action. Nodes touched or changed before the write stay."""
    nothing = Done(summary="nothing to archive")
    outcome = nothing
    waiting = plan(index)
    revision = index.revision
    expected: dict[str, float] = {}
    action_id = ""

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        nonlocal outcome, waiting, revision, expected, action_id
        if index.changed():
            index.load()
        if index.revision != revision:
            waiting = plan(index)
            revision = index.revision
        chosen = [leaving for leaving in waiting if leaving.node_id in records]
        expected = {leaving.node_id: leaving.touched for leaving in chosen}
        if not chosen:
            outcome = nothing
            return [], b""
        changes = [
            edits.patch(records[candidate.node_id], _archive_fields(candidate, by=by, now=now), by=by, now=now)
            for candidate in chosen
        ]
        summary = f"{len(chosen)} node{'s' if len(chosen) > 1 else ''} archived"
        action = edits.new_action(verb, changes, summary=summary, by=by, now=now, again=action_id)
        action_id = action.id
        outcome = Done(summary=summary, target=action.target, action_id=action.id)
        return [records[candidate.node_id] for candidate in chosen], journal.begun_lines(action)

    if waiting:
        named = [leaving.node_id for leaving in waiting]
        node_bulk.change(store.layout, named, edit, holds=lambda: index.still_touched_at(expected))
    return outcome


def _archive_fields(leaving: ArchiveCandidate, *, by: str, now: float) -> Fields:
    at = times.iso(now)
    fields: Fields = {"metadata.status": "archived", "metadata.archived_at": at, "metadata.archived_by": by}
    if leaving.score < 0:
        return {**fields, "metadata.archive_reason": leaving.reason}
    return {**fields, "metadata.decay": {"score": leaving.score, "reason": leaving.reason, "computed_at": at}}


def refuse_after_jump(store: Store, now: float) -> None:
    """Refuse for an hour after a clock jump: ages mean nothing then."""
    if (moved := last_jump(store, now)) is None:
        return
    when = times.ago(abs(now - times.epoch(moved.at)))
    raise ActionError(
        f"the clock jumped {when} ({moved.text}): ages cannot be trusted for an hour; "
        "look at the clock, then wait or use --force"
    )


def last_jump(store: Store, now: float) -> EngineEvent | None:
    """Return the newest clock jump within an hour of `now`, on either side of it."""
    newest = None
    for path in (store.layout.earlier_events, store.layout.events):
        for _, line in split_lines(backwards.read_tail(path, _TAIL), 0):
            if b'"clock_jump"' in line and (event := _jump(line)) and abs(now - times.epoch(event.at)) < times.HOUR:
                newest = event
    return newest


def _jump(line: bytes) -> EngineEvent | None:
    try:
        event = _event.decode(line)
    except UNDECODABLE:
        return None
    return event if event.kind == "clock_jump" else None


def rule_of(store: Store, half_life_days: float = 0.0, threshold: float = 0.0) -> DecayRule:
    """Return the decay rule in force, with these numbers replacing its own where they are given."""
    rule = load_config(store.layout)[0].memory.decay.rule
    return decay.check_rule(half_life_days or rule.half_life_days, threshold or rule.threshold)


def due(index: AgeIndex, rule: DecayRule, at: float, most: int | None = None) -> list[ArchiveCandidate]:
    """Return what decay would archive at that moment, or the first `most` of it, the longest untouched first."""
    rows = index.untouched_since(decay.due_before(rule, at), most)
    fates = decay.forecast(rows, rule, at)
    return [ArchiveCandidate(fate.node_id, fate.touched, decay.reason(fate.score, rule), fate.score) for fate in fates]


def apply(store: Store, request: ApplyDecay, *, by: str, now: float) -> Done:
    """Archive from the index of ages, which is compared again under the lock of the memory."""
    rule = rule_of(store, request.half_life_days, request.threshold)
    if not request.force:
        refuse_after_jump(store, now)
    with closing(AgeIndex(store.layout)) as index:
        return archive_candidates(
            store, index.load(), lambda refreshed: due(refreshed, rule, now), verb="decay.apply", by=by, now=now
        )
