"""A worker's calls without a worker: reserves, writes down what it was allowed, settles, over and over.

`python racer.py STATE TASK SEED CALLS ROLE [PAGE]`: one line on stdout for each thing that was acknowledged. PAGE is
the bytes after which the ledger's page is turned.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from lumen_tui.model.task_cost import Progress
from lumen_tui.model.tasks import Spec, Usage
from lumen_tui.providers.base import ProviderError, Reserve
from lumen_tui.storage.journal import Journal
from lumen_tui.store.ledger import ledger_pages
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.spending import Spending
from lumen_tui.worker.stopping import Stopper
from lumen_tui.worker.world import TaskTally, World


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(root: Path, task: str, seed: int, calls: int, role: str) -> None:
    folder = root / "tasks" / task
    stopper = Stopper(folder, time.monotonic)
    world = World(folder, time.time, time.monotonic, {}, stopper, lambda text: text)
    events = Recorder(Journal(folder / "events.jsonl"), 1, world.now, world.redact, stopper.guard)
    spending = Spending(
        world, TaskTally(brain="test"), Spec(id=task, objective="x", role=role), events, reached=Progress
    )
    chance = random.Random(seed)  # noqa: S311
    stopper.arm()
    for _ in range(calls):
        most = chance.randrange(10, 400)
        try:
            spending.reserve(Reserve(Usage(most, 0, most / 1e6), "test-model"))
        except ProviderError as error:
            say("refused", error)
            return
        say("held", spending.account.held.id if spending.account.held else "", most)
        cost = chance.randrange(0, most + 1)
        spending.spent(Usage(cost, 0, cost / 1e6))
        say("settled", cost)
    stopper.disarm()


if __name__ == "__main__":
    if len(sys.argv) > 6:
        ledger_pages.LARGEST = int(sys.argv[6])
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
