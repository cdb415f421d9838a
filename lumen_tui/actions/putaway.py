"""Archiving many nodes that nobody has touched, decided anew until it holds when it is written, as one action."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from lumen_tui.actions import edits
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import EngineEvent
from lumen_tui.storage import backwards
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import node_bulk
from lumen_tui.store.memory.age_index import AgeIndex
from lumen_tui.store.memory.nodes import Raw

_TAIL = 2 * 1024 * 1024
_event = msgspec.json.Decoder(EngineEvent)


class Leaving(NamedTuple):
    """A node that is to be archived. `touched` and the age count from its last touch."""

    node_id: str
    touched: float
    reason: str
    score: float  # -1 where no score had a part in it


Plan = Callable[[AgeIndex], list[Leaving]]


def carry_out(store: Store, index: AgeIndex, plan: Plan, *, verb: str, by: str, now: float) -> Done:
    """Archive what `plan` names. What was touched or changed until it is written stays."""
    done = nothing = Done(summary="nothing to archive")
    waiting, seen = plan(index), index.revision
    expected: dict[str, float] = {}
    action_id = ""

    def edit(found: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        nonlocal done, waiting, seen, expected, action_id
        if index.changed():
            index.load()
        if index.revision != seen:
            waiting, seen = plan(index), index.revision
        chosen = [leaving for leaving in waiting if leaving.node_id in found]
        expected = {leaving.node_id: leaving.touched for leaving in chosen}
        if not chosen:
            done = nothing
            return [], b""
        changes = [edits.patch(found[one.node_id], _fields(one, by=by, now=now), by=by, now=now) for one in chosen]
        summary = f"{len(chosen)} node{'s' if len(chosen) > 1 else ''} archived"
        action = edits.new_action(verb, changes, summary=summary, by=by, now=now, again=action_id)
        action_id = action.id
        done = Done(summary=summary, target=action.target, action_id=action.id)
        return [found[one.node_id] for one in chosen], journal.begun_lines(action)

    if waiting:
        named = [leaving.node_id for leaving in waiting]
        node_bulk.change(store.layout, named, edit, holds=lambda: index.still_touched_at(expected))
    return done


def _fields(leaving: Leaving, *, by: str, now: float) -> Fields:
    at = times.iso(now)
    fields: Fields = {"metadata.status": "archived", "metadata.archived_at": at, "metadata.archived_by": by}
    if leaving.score < 0:
        return {**fields, "metadata.archive_reason": leaving.reason}
    return {**fields, "metadata.decay": {"score": leaving.score, "reason": leaving.reason, "computed_at": at}}


def refuse_after_jump(store: Store, now: float) -> None:
    """Ages mean nothing right after the clock moved: refuse for an hour."""
    if (moved := last_jump(store, now)) is None:
        return
    when = times.ago(abs(now - times.epoch(moved.at)))
    raise ActionError(
        f"the clock jumped {when} ({moved.text}): ages cannot be trusted for an hour; "
        "look at the clock, then wait or use --force"
    )


def last_jump(store: Store, now: float) -> EngineEvent | None:
    """The newest clock jump within an hour of `now`, on either side of it."""
    found = None
    for path in (store.layout.earlier_events, store.layout.events):
        for _, line in split_lines(backwards.read_tail(path, _TAIL), 0):
            if b'"clock_jump"' in line and (event := _jump(line)) and abs(now - times.epoch(event.at)) < times.HOUR:
                found = event
    return found


def _jump(line: bytes) -> EngineEvent | None:
    try:
        event = _event.decode(line)
    except UNDECODABLE:
        return None
    return event if event.kind == "clock_jump" else None
