"""Candidates that nothing here can measure, taken over by a person: into the version in force, or carried out once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lumen_tui.actions import blocks, finishing, promotion, triage
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model.digests import text_digest
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit, Measure, title
from lumen_tui.model.requests.blocks import RethinkBlock
from lumen_tui.model.requests.discoveries import MergeDiscoveries
from lumen_tui.model.requests.evolution import TakeCandidate
from lumen_tui.model.requests.memory import RewriteSummary
from lumen_tui.model.trials import UNMEASURED, EvolutionCandidate, PromotionStep, objections
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import candidates, suites
from lumen_tui.store.memory import blocks as stored_blocks


def take(store: Store, request: TakeCandidate, *, by: str, now: float) -> Done:
    """Ask the gate all but the trial. What has to prove itself is not taken; a merge or a text is its own verb."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        candidate = promotion.find(layout, request.candidate)
        edit, champion = candidate.edit, promotion.current(layout)
        if candidate.withdrawn:
            raise ActionError(f"{candidate.id} is withdrawn")
        if edit.measure is not Measure.PERSON:
            raise ActionError(f"{candidate.id} has to prove itself: `evolve --try {candidate.id}`")
        reasons = objections(promotion.ground_of(layout, candidate, champion), None)
        if against := [reason for reason in reasons if reason != UNMEASURED]:
            raise ActionError(f"{candidate.id} is not taken over: {'; '.join(against)}")
        if edit.rules.by_version:
            after, step = champion.with_edit(edit), PromotionStep.TAKE
            summary = f"taken over: {title(edit)}"
            return promotion.swap(layout, step, champion.name, after, summary, candidate.id, by=by, now=now)
    done = _VERBS[edit.kind](store, edit, by, now)
    _settled(layout, candidate)
    return done


def _merge(store: Store, edit: EvolvedEdit, by: str, now: float) -> Done:
    request = MergeDiscoveries(node_ids=edit.text.split(), into=edit.name, reason="proposed as saying the same")
    return triage.merge(store, request, by=by, now=now)


def _rethink(store: Store, edit: EvolvedEdit, by: str, now: float) -> Done:
    before = stored_blocks.read(store.layout, edit.name)
    if text_digest(before.text) != edit.base:
        raise ActionError(f"block {edit.name} was changed since at step {before.step} by {before.by}: nothing was done")
    return blocks.rethink(store, RethinkBlock(name=edit.name, text=edit.text, base=before.step), by=by, now=now)


def _rewrite(store: Store, edit: EvolvedEdit, by: str, now: float) -> Done:
    request = RewriteSummary(node_id=edit.name, text=edit.text, base=edit.base, proposed=True)
    return finishing.rewrite(store, request, by=by, now=now)


_VERBS: dict[EditKind, Callable[[Store, EvolvedEdit, str, float], Done]] = {
    EditKind.MERGE: _merge,
    EditKind.BLOCK: _rethink,
    EditKind.SUMMARY: _rewrite,
}


def _settled(layout: Layout, candidate: EvolutionCandidate) -> None:
    """Put a candidate away that was carried out; undo of the verb does not bring it back."""
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        candidates.write(layout, [msgspec.structs.replace(candidate, withdrawn=True)])
