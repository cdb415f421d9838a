"""Watches the first tasks after a promotion, and rolls back by itself where they are clearly worse.

It keeps no state: the ledger says what was promoted and when, the tasks what came of it. So an engine that was killed
goes on watching with its next start.
"""

from __future__ import annotations

from lumen_tui.actions import abtests as ab_actions
from lumen_tui.actions import acting, promotion
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.events import EventLog
from lumen_tui.model import times
from lumen_tui.model.canary import WATCHED, WatchedTask, breach
from lumen_tui.model.trials import Promotion, PromotionStep
from lumen_tui.queries.ab_results import result_of
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import abtests, champions
from lumen_tui.store.evolution.champions import DamagedChampion
from lumen_tui.store.tasks import claims, role_stats, task_files
from lumen_tui.worker.record import events_of

_PORTION = 400  # tasks that one look indexes


class Canary:
    """Looks at each task that ended since the last promotion, up to WATCHED of them."""

    def __init__(self, store: Store, log: EventLog) -> None:
        self._store, self._layout, self._log = store, store.layout, log
        self._looked = False  # since this engine began, at all there is
        self._fault = ""  # that was reported

    def note_ended(self, ended: object, now: float) -> None:
        """Look where tasks ended, and once after a start."""
        if self._looked and not ended:
            return
        self._looked = True
        try:
            self._look(now)
            self._fault = ""
        except (DamagedChampion, ActionError, StoreError, OSError) as error:
            if str(error) != self._fault:
                self._log.add("evolution", f"the last promotion cannot be watched: {error}", now)
            self._fault = str(error)

    def _look(self, now: float) -> None:
        self._look_at_test(now)
        if not self._layout.champion.exists():
            return
        promoted = _last_promotion(champions.ledger(self._layout))
        if promoted is None:
            return
        role = champions.current(self._layout).edits[-1].role
        before, after, behind = watched(self._store, role, times.epoch(promoted.at), now)
        self._looked = not behind
        if reason := breach(before, after):
            with acting.acting_for(acting.LEARNING, acting.ENGINE, now):
                done = promotion.take_back(self._store, promoted, reason, by=acting.LEARNING, now=now)
            self._log.add("evolution", f"{done.summary} by itself: {reason}", now, candidate=promoted.candidate)

    def _look_at_test(self, now: float) -> None:
        """End the live A/B test where all its tasks ended, or those with the candidate are clearly worse."""
        test = abtests.running(self._layout)
        if test is None:
            return
        result = result_of(self._layout, test, now)
        worse = breach(result.a.tasks, result.b.tasks)
        reason = f"with it {worse}" if worse else "" if result.seen < test.tasks else f"{result.seen} tasks ended"
        if not reason:
            return
        with acting.acting_for(acting.LEARNING, acting.ENGINE, now):
            done = ab_actions.end(self._store, test, reason, by=acting.LEARNING, now=now)
        self._log.add("evolution", f"{done.summary}: {result.words}", now, candidate=test.candidate)


def _last_promotion(ledger: list[Promotion]) -> Promotion | None:
    """Return the promotion by which the version in force came in; None where the last step was another one."""
    return ledger[-1] if ledger and ledger[-1].step is PromotionStep.PROMOTE else None


def watched(store: Store, role: str, since: float, now: float) -> tuple[list[WatchedTask], list[WatchedTask], bool]:
    """Return the last tasks of a role before a time, the first ones that ended after it, and whether there is more.

    A long archive that was never read is indexed in portions.
    """
    (before, after), behind = role_stats.ask(
        store.layout, now, lambda index: (index.around(role, since, WATCHED), index.behind), _PORTION
    )
    return [_task(store, each) for each in before], [_task(store, each) for each in after], behind


def _task(store: Store, task_id: str) -> WatchedTask:
    folder = task_files.folder_of(store.layout, task_id)
    ended = task_files.read_exit(folder) if folder is not None else None
    if folder is None or ended is None:
        return WatchedTask()
    disproved = bool(claims.refuted(folder)) or ended.reason.startswith("disproved: ")
    denials = sum(event.kind == "result" and event.data.get("refused") is True for event in events_of(folder))
    return WatchedTask(disproved, ended.status == "lost", denials, ended.usage.tokens)
