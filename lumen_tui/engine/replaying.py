"""Replays for front ends: in this process, until they are stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.replay import ReplayReport
from lumen_tui.storage.store import Store


def replayed(
    root: Path,
    task_id: str,
    progress: Callable[[int, int], None],
    stopped: Callable[[], bool] = bool,
    seconds: float | None = None,
    role: str = "",
) -> ReplayReport:
    """Judge the recorded calls of a task again; ActionError where that cannot be, or it was stopped.

    `seconds` is for calls that are made again, if not the usual time; `role` another one than the task's own.
    """
    from lumen_tui.store.settings.roles import load_role
    from lumen_tui.tools.base import Stopped
    from lumen_tui.worker.replay.run import LONGEST, NotReplayable, Surroundings, Variant, replay

    store = Store(root)
    limit = LONGEST if seconds is None else seconds
    around = Surroundings(os.environ, time.time, time.monotonic, progress=progress, stopped=stopped, seconds=limit)
    try:
        return replay(store, task_id, around, Variant(load_role(store.layout, role)) if role else None)
    except Stopped as error:
        raise ActionError("the replay was stopped") from error
    except (NotReplayable, OSError) as error:
        raise ActionError(str(error)) from error
