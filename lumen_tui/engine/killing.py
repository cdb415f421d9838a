"""The kill switch: every worker ended within a second, with an engine or without one."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lumen_tui.engine import workers
from lumen_tui.engine.events import EventLog
from lumen_tui.model.tasks import Run
from lumen_tui.store import files, process
from lumen_tui.store.layout import Layout
from lumen_tui.store.spend.ledger import Ledger
from lumen_tui.store.store import Store
from lumen_tui.store.tasks.killfile import Kill, is_thrown, read_kill
from lumen_tui.store.tasks.taskread import has_worker, read_json, task_names

TERM_SECONDS = 0.3  # between TERM and KILL: enough to write exit.json and to end what left the session
_KILL_SECONDS = 0.3
_LOOK = 0.01
_ROUNDS = 3  # a worker that an engine started meanwhile is found in the next round

Living = tuple[Path, Run]
Clock = Callable[[], float]  # running time in seconds


def end_all(layout: Layout, kill: Kill, now: float, running: Clock) -> list[str]:
    """End every worker and settle what it had set aside; returns the tasks. Needs no engine, and waits for none."""
    ended: dict[str, None] = {}
    for _ in range(_ROUNDS):
        found = list(_living(layout))
        if not found:
            break
        ended.update(dict.fromkeys(folder.name for folder, _ in found))
        _end(found, kill, running)
        for folder, run in found:
            _write_exit(folder, run, kill, now)
    if ended:
        _settle(layout, now)
    return list(ended)


def _living(layout: Layout) -> Iterator[Living]:
    for name in task_names(layout.tasks):
        folder = layout.tasks / name
        if has_worker(folder) and (run := read_json(folder / "run.json", Run)):
            yield folder, run


def _end(found: list[Living], kill: Kill, running: Clock) -> None:
    for folder, _ in found:
        _say_why(folder, kill)
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
        process.signal_sessions([workers.identity(run) for _, run in found], number)
        if _all_gone(found, running() + seconds, running):
            return


def _say_why(folder: Path, kill: Kill) -> None:
    try:
        workers.ask_to_stop(folder, "cancelled", kill.words)
    except (files.StoreError, OSError):
        pass  # a full disk must not keep a worker alive


def _all_gone(found: list[Living], until: float, running: Clock) -> bool:
    while any(has_worker(folder) for folder, _ in found):
        if running() > until:
            return False
        time.sleep(_LOOK)
    return True


def _write_exit(folder: Path, run: Run, kill: Kill, now: float) -> None:
    """How the task ended, where its worker had no time to say so. Its folder may be archived by now."""
    if has_worker(folder) or (folder / "exit.json").exists() or not folder.exists():
        return
    try:
        workers.write_exit(folder, folder.name, "cancelled", kill.words, attempt=run.attempt, now=now)
    except (files.StoreError, OSError):
        pass  # stop.json tells the next engine


def _settle(layout: Layout, now: float) -> None:
    try:
        Ledger(layout).give_up_dead(now)
    except (files.StoreError, OSError):
        pass  # the next engine does


class KillSwitch:
    """The engine's side: looks for kill.json, ends the workers, tells when it came and when it went."""

    def __init__(self, store: Store, log: EventLog, running: Clock) -> None:
        self._layout, self._log, self._running = store.layout, log, running
        self.kill: Kill | None = None

    def changed(self) -> bool:
        """Whether the switch was thrown or lifted since the last look: one `stat`."""
        return is_thrown(self._layout) != (self.kill is not None)

    def look(self, now: float) -> Kill | None:
        """The kill in force, with no worker left alive; None where there is none."""
        before, self.kill = self.kill, read_kill(self._layout)
        if self.kill is not None:
            ended = end_all(self._layout, self.kill, now, self._running)
            if before is None or ended:
                self._log.add("killed", f"{self.kill.words} ({len(ended)} workers ended)", now, ended=ended)
        elif before is not None:
            self._log.add("unkilled", f"goes on; it was {before.words}", now)
        return self.kill
