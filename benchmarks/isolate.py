"""Tasks that work apart: from the order to the first step in a worktree of a repository of 10,000 files."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.engine import asleep, has_zygote, start, until
from benchmarks.table import Row, share
from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.storage.layout import Layout

_FILES, _A_FOLDER = 10_000, 100
_TASKS = 7  # in a kept worktree, after the first one


def measure(folder: Path) -> Iterator[Row]:
    """Yield the time of the first task, which makes the worktree, and the median and the worst of those after it."""
    root = folder / "isolate"
    repository = _repository(root / "repository")
    layout = Layout(root / "state")
    layout.create()
    layout.config.write_text("[workers]\nwarm_minutes = 10\n", encoding="utf-8")
    child = start(layout.root)
    try:
        until(lambda: asleep(layout, child.pid))
        until(lambda: has_zygote(child.pid))
        taken = [_task(layout, repository) for _ in range(1 + _TASKS)]
    finally:
        child.terminate()
        child.wait()
    yield Row("", f"order to first step, a new worktree of {_FILES:,} files", taken[0])
    yield Row("", f"order to first step, a kept worktree of {_FILES:,} files, p50", share(taken[1:], 50), goal=150)
    yield Row("", f"order to first step, a kept worktree of {_FILES:,} files, worst", max(taken[1:]), goal=150)


def _repository(root: Path) -> Path:
    for number in range(_FILES):
        place = root / f"d{number // _A_FOLDER}"
        if number % _A_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"f{number}.txt").write_text(f"file {number}\n" * 20, encoding="utf-8")
    names = {"GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "b@localhost"}
    names |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in names.items()}
    environ = {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": os.devnull, **names}
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all of it"]):
        subprocess.run(["git", *words], cwd=root, env=environ, check=True)
    return root


def _task(layout: Layout, repository: Path) -> float:
    """Order one task; return the milliseconds to its first call of a tool, once it is collected and settled."""
    port, began = RemotePort(layout.root, "bench"), time.time()
    order = NewTask(
        objective="What are the 3 largest files in /etc?",
        role="builder",
        folder=str(repository),
        isolate="worktree",
    )
    task_id = port.submit(order).target
    until(lambda: any(layout.archive.glob(f"*/*/{task_id}/result.md")), 120.0)
    (folder,) = layout.archive.glob(f"*/*/{task_id}")
    events = [json.loads(line) for line in (folder / "events.jsonl").read_bytes().splitlines()]
    first = next(event for event in events if event["kind"] == "call")
    return 1000 * (times.epoch(first["at"]) - began)
