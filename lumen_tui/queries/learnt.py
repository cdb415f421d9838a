"""What waits of the things that were learnt, and whether the constitution was changed: for the attention queue.

A folder in which nothing was learnt is read without what evolution is made of.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lumen_tui.model import times
from lumen_tui.model.learnt import EvolutionView, SessionQuestion, TakenBack
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution.constitution import read_constitution

if TYPE_CHECKING:
    from lumen_tui.model.evolution import Observation


def evolution_summary(layout: Layout) -> EvolutionView:
    """Return what the attention queue needs. What cannot be read counts as nothing: the engine reports it."""
    constitution = read_constitution(layout)
    changed = [line[:1] for line in constitution.diff.splitlines() if not line.startswith(("+++", "---"))]
    diff = f"+{changed.count('+')} −{changed.count('-')} lines" if constitution.why else ""
    return EvolutionView(_questions(_proposed(layout)), one_line(constitution.why), diff, _taken_back(layout))


def _proposed(layout: Layout) -> list[Observation]:
    """Return the observations that wait for a person, oldest first."""
    if not os.path.exists(layout.observations):
        return []
    from lumen_tui.store.evolution import evolved

    try:
        return evolved.waiting(evolved.observations(layout))
    except (files.StoreError, OSError):
        return []


def _taken_back(layout: Layout) -> TakenBack | None:
    """Return the last step of the ledger where that was the engine's own: it names what it took back."""
    if not os.path.exists(layout.promotions):
        return None
    from lumen_tui.model.trials import PromotionStep
    from lumen_tui.store.evolution import champions

    try:
        happened = champions.ledger(layout)
    except (champions.DamagedChampion, files.StoreError, OSError):
        return None  # no task of a shipped role begins, and says why
    last = happened[-1] if happened else None
    if last is None or last.step is not PromotionStep.ROLLBACK or not last.candidate:
        return None
    return TakenBack(last.id, one_line(last.reason, 200), times.epoch(last.at))


def _questions(proposed: list[Observation]) -> tuple[SessionQuestion, ...]:
    """Return what waits as one question for each session, oldest first."""
    by_session: dict[str, list[Observation]] = {}
    for observation in proposed:
        by_session.setdefault(observation.sources[0].session if observation.sources else "", []).append(observation)
    return tuple(
        SessionQuestion(one_line(name, 80), len(asked), one_line(asked[-1].text, 200), times.epoch(asked[0].at))
        for name, asked in by_session.items()
    )
