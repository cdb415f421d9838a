"""What waits of the things that were learnt, and whether the constitution was changed: for the attention queue."""

from __future__ import annotations

from lumen_tui.model import times
from lumen_tui.model.evolution import EvolutionView, Observation, SessionQuestion, TakenBack
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import PromotionStep
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import champions, evolved
from lumen_tui.store.evolution.champions import DamagedChampion
from lumen_tui.store.evolution.evolved import read_constitution


def evolution_summary(layout: Layout) -> EvolutionView:
    """Return what the attention queue needs. What cannot be read counts as nothing: the engine reports it."""
    try:
        proposed = evolved.waiting(evolved.observations(layout))
    except (files.StoreError, OSError):
        proposed = []
    constitution = read_constitution(layout)
    changed = [line[:1] for line in constitution.diff.splitlines() if not line.startswith(("+++", "---"))]
    diff = f"+{changed.count('+')} −{changed.count('-')} lines" if constitution.why else ""
    return EvolutionView(_questions(proposed), one_line(constitution.why), diff, _taken_back(layout))


def _taken_back(layout: Layout) -> TakenBack | None:
    """Return the last step of the ledger where that was the engine's own: it names what it took back."""
    try:
        happened = champions.ledger(layout) if layout.promotions.exists() else []
    except (DamagedChampion, files.StoreError, OSError):
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
