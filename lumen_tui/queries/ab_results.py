"""What the tasks of both arms of a live A/B test came to: derived from their folders, and written nowhere."""

from __future__ import annotations

from math import inf

from msgspec import structs

from lumen_tui.model import times
from lumen_tui.model.abtests import ABResult, ABTest, Arm
from lumen_tui.model.canary import WatchedTask
from lumen_tui.model.decoding import safe_record
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import abtests, champions
from lumen_tui.store.evolution.champions import DamagedChampion
from lumen_tui.store.tasks import claims, role_stats, task_files

_PORTION = 400  # tasks that one look indexes


def ab_result(layout: Layout, now: float) -> ABResult | None:
    """Return the newest test with what is known of it; None where there was none."""
    test = abtests.last(layout)
    return result_of(layout, test, now) if test is not None else None


def result_of(layout: Layout, test: ABTest, now: float) -> ABResult:
    """Return a test with the tasks that began and ended while it went on."""
    test = _settled(layout, test)
    begun, ended = times.epoch(test.at), times.epoch(test.ended) if test.ended else inf
    (_, later), _ = role_stats.ask(
        layout, now, lambda index: (index.around(test.role, begun, 4 * test.tasks), index.behind), _PORTION
    )
    arms: dict[str, list[WatchedTask]] = {test.a: [], test.b: []}
    for task_id in later:
        seen = _task(layout, task_id, begun, ended)
        if seen is not None:
            arms[test.version_of(task_id)].append(seen)
    return ABResult(safe_record(test), Arm(tuple(arms[test.a])), Arm(tuple(arms[test.b])))


def _settled(layout: Layout, test: ABTest) -> ABTest:
    """Return a test as it is where a kill kept its end from being written: another version came into force."""
    if test.ended:
        return test
    try:
        steps = champions.ledger(layout)
        if champions.pointed(layout) == test.a:
            return test
    except DamagedChampion as error:
        return structs.replace(test, reason=str(error))
    swapped = next((step.at for step in steps if step.parent == test.a and step.at >= test.at), test.at)
    return structs.replace(test, ended=swapped, reason="another version came into force")


def _task(layout: Layout, task_id: str, begun: float, ended: float) -> WatchedTask | None:
    """Return what a task came to; None for one that did not begin and end within the time."""
    folder = task_files.folder_of(layout, task_id)
    exit = task_files.read_exit(folder) if folder is not None else None
    spec = task_files.read_spec(layout, task_id)
    if folder is None or exit is None or spec is None:
        return None
    if times.epoch(spec.created_at) < begun or times.epoch(exit.finished_at) >= ended:
        return None
    disproved = bool(claims.refuted(folder)) or exit.reason.startswith("disproved: ")
    return WatchedTask(disproved, exit.status == "lost", 0, exit.usage.tokens, exit.status == "done")
