"""A worker's call that is killed: `python killed_call.py STATE TASK STEPS`, with as many steps as came before.

Steps are: 0 reserved, 1 sent. The process kills itself there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from lumen_tui.model.task_cost import Progress
from lumen_tui.model.tasks import Spec, Usage
from lumen_tui.providers.base import Reserve
from lumen_tui.storage.journal import Journal
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.spending import Spending
from lumen_tui.worker.stopping import Stopper
from lumen_tui.worker.world import TaskTally, World


def main(root: Path, task: str, steps: int, *, tells: bool) -> None:
    folder = root / "tasks" / task
    stopper = Stopper(folder, time.monotonic)
    world = World(folder, time.time, time.monotonic, {}, stopper, lambda text: text)
    events = Recorder(Journal(folder / "events.jsonl"), 1, world.now, world.redact, stopper.guard)
    spending = Spending(
        world, TaskTally(brain="test"), Spec(id=task, objective="x", role="builder"), events, reached=Progress
    )
    stopper.arm()
    spending.reserve(Reserve(Usage(1000, 0, 0.37), "test-model", tells=tells))
    if steps:
        spending.sent()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), tells=sys.argv[4] == "tells")
