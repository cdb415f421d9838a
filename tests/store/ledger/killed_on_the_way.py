"""A worker that makes one call of a model, to be killed meanwhile: `python killed_on_the_way.py STATE TASK KIND URL`"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from lumen_tui.model.config import ModelsConfig, ServerConfig
from lumen_tui.model.roles import Role
from lumen_tui.model.task_cost import Progress
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.base import Job, Reserve
from lumen_tui.providers.choose import choose_provider
from lumen_tui.storage.journal import Journal
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.spending import Spending
from lumen_tui.worker.stopping import Stopper
from lumen_tui.worker.world import TaskTally, World


def main(root: Path, task: str, kind: str, url: str) -> None:
    folder = root / "tasks" / task
    stopper = Stopper(folder, time.monotonic)
    world = World(folder, time.time, time.monotonic, {}, stopper, lambda text: text)
    events = Recorder(Journal(folder / "events.jsonl"), 1, world.now, world.redact, stopper.guard)
    role, spec = Role("builder", "p", tier="haiku"), Spec(id=task, objective="x", role="builder")
    spending = Spending(world, TaskTally(brain="test"), spec, events, reached=Progress)
    stopper.arm()
    config = ModelsConfig(provider="box", connect_seconds=60.0, endpoints={"box": ServerConfig(kind, url)})
    for step in choose_provider(config, role, spec, {"BOX_API_KEY": "k"}).converse(Job("s", "o", sent=spending.sent)):
        if isinstance(step, Reserve):
            spending.reserve(step)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
