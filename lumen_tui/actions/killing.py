"""The kill switch: `kill` ends every worker, `unkill` lifts it. Neither can be undone: each reverses the other."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lumen_tui.actions import edits
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.requests.engine import KillAgent, UnkillAgent
from lumen_tui.model.tasks import Run, StopRequest
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.tasks.pauses import Kill, read_kill, remove_kill, write_kill
from lumen_tui.store.tasks.task_records import ask_to_stop, has_worker, identity, read_json, task_names, write_exit

TERM_SECONDS = 0.3  # between TERM and KILL: enough to write exit.json and to end what left the session
_KILL_SECONDS = 0.3
_LOOK = 0.01
_ROUNDS = 3  # a worker that an engine started meanwhile is found in the next round

Living = tuple[Path, Run]
Clock = Callable[[], float]  # running time in seconds


def kill(store: Store, request: KillAgent, *, by: str, now: float) -> Done:
    """End every worker at once and start nothing until `unkill`; needs no engine and waits for none.

    If it is killed already, the first reason stays, and what is still alive ends.
    """
    earlier = read_kill(store.layout)
    kill_record = earlier or Kill(at=times.iso(now), by=by, reason=one_line(request.reason, 400))
    failed: files.StoreError | None = None
    try:
        if earlier is None:
            write_kill(store.layout, kill_record)
    except files.StoreError as error:
        failed = error  # on a full disk, too, the workers end
    running = SystemClock().running
    began = running()
    ended = end_all(store.layout, kill_record, now, running)
    took = f"{len(ended)} worker{'' if len(ended) == 1 else 's'} ended in {running() - began:.2f} s"
    if failed is not None:
        raise ActionError(f"{took}, but an engine may start others: {failed}. Stop the engine by its process")
    state = f"already {earlier.words}" if earlier else "killed"
    summary = f"{state}{';' if earlier else ':'} {took}; nothing starts until `lumen-tui unkill`"
    final = "`lumen-tui unkill` resumes everything; workers that were ended start again with `task retry`"
    return _record(store, "kill", summary, by, now, one_line(request.reason, 400), final)


def unkill(store: Store, _request: UnkillAgent, *, by: str, now: float) -> Done:
    """Remove kill.json first and record it then; final."""
    was = read_kill(store.layout)
    if was is None:
        raise ActionError("nothing is killed here", missing=True)
    remove_kill(store.layout)
    when = f" ({times.stamp_of(was.at)})" if was.at else ""
    final = "`lumen-tui kill` ends every worker again"
    return _record(store, "unkill", f"goes on; it was {was.words}{when}", by, now, "", final)


def _record(store: Store, verb: str, summary: str, by: str, now: float, reason: str, final: str) -> Done:
    """Record it in the journal; a failure to record is reported and undoes nothing."""
    action = edits.new_action(verb, (), summary=summary, by=by, now=now, reason=reason, final=final)
    try:
        journal.record(store.layout, action)
    except files.StoreError as error:
        summary = f"{summary} (not in the journal: {error})"
    return Done(summary=summary)


def end_all(layout: Layout, kill: Kill, now: float, running: Clock) -> list[str]:
    """End every worker, settle its reserved budget, and return the tasks. Needs no engine, and waits for none."""
    ended: dict[str, None] = {}
    for _ in range(_ROUNDS):
        living = list(_living(layout))
        if not living:
            break
        ended.update(dict.fromkeys(folder.name for folder, _ in living))
        _end_workers(living, kill, running)
        for folder, run in living:
            _write_exit(folder, run, kill, now)
    if ended:
        _settle(layout, now)
    return list(ended)


def _living(layout: Layout) -> Iterator[Living]:
    for name in task_names(layout.tasks):
        folder = layout.tasks / name
        if has_worker(folder) and (run := read_json(folder / "run.json", Run)):
            yield folder, run


def _end_workers(living: list[Living], kill: Kill, running: Clock) -> None:
    for folder, _ in living:
        _write_reason(folder, kill)
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
        process.signal_sessions([identity(run) for _, run in living], number)
        if _all_gone(living, running() + seconds, running):
            return


def _write_reason(folder: Path, kill: Kill) -> None:
    try:
        ask_to_stop(folder, StopRequest("cancelled", kill.words))
    except (files.StoreError, OSError):
        pass  # a full disk must not keep a worker alive


def _all_gone(living: list[Living], until: float, running: Clock) -> bool:
    while any(has_worker(folder) for folder, _ in living):
        if running() > until:
            return False
        time.sleep(_LOOK)
    return True


def _write_exit(folder: Path, run: Run, kill: Kill, now: float) -> None:
    """Write how the task ended, if its worker had no time to. Its folder may be archived by now."""
    if has_worker(folder) or (folder / "exit.json").exists() or not folder.exists():
        return
    try:
        write_exit(folder, folder.name, "cancelled", kill.words, attempt=run.attempt, now=now)
    except (files.StoreError, OSError):
        pass  # stop.json tells the next engine


def _settle(layout: Layout, now: float) -> None:
    try:
        Ledger(layout).give_up_dead(now)
    except (files.StoreError, OSError):
        pass  # the next engine does
