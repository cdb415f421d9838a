"""Give an agent a task from a program of your own, and print the answer.

    python examples/first-task.py "What are the 5 largest files in /tmp?"

It works in a throw-away state folder; name yours to see the task in your room.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from lumen_tui.engine.driving import driving
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.tasks import Status
from lumen_tui.storage.layout import Layout


async def answer(root: Path, objective: str) -> tuple[Status, str]:
    """See one task through: under the engine that drives the folder, else under one of our own."""
    Layout(root).create()
    port = RemotePort(root, operator="example", client="example")
    task = port.submit(NewTask(objective=objective)).target
    async with driving(root) as driver:
        while not (detail := await asyncio.to_thread(port.task_detail, task)).view.finished:
            driver.look()  # the engine of before may be gone
            await asyncio.sleep(0.1)
    return detail.view.status, detail.result or detail.view.reason


def main() -> int:
    objective = " ".join(sys.argv[1:]) or "What are the 5 largest files in /tmp?"
    with tempfile.TemporaryDirectory(prefix="lumen-example-") as folder:
        status, text = asyncio.run(answer(Path(folder, "state"), objective))
    print(text)
    return 0 if status is Status.DONE else 1


if __name__ == "__main__":
    raise SystemExit(main())
