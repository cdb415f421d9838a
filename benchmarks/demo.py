"""How long a demo takes to open, from the command to rows on the screen and to its first live worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Row, share
from benchmarks.terminal import Terminal
from lumen_tui.headless.recording import ARCHIVE
from lumen_tui.headless.scripted_model import SURVEY

_ROWS, _WORKER = "Needs you", SURVEY[:12]
_RUNS = 3
_MOST = 60.0  # seconds
_GOAL, _KIB = 3_000.0, 300.0


def measure(folder: Path) -> Iterator[Row]:
    """Open demos below `folder` one after the other, and leave each."""
    rows, workers = [], []
    for _ in range(_RUNS):
        terminal = Terminal([sys.executable, "-m", "lumen_tui", "--demo"], env={"TMPDIR": str(folder)})
        terminal.until(_ROWS, _MOST)
        rows.append(terminal.when(_ROWS))
        terminal.until(_WORKER, _MOST)
        workers.append(terminal.when(_WORKER))
        terminal.leave()
    yield Row("", "a demo: from the command to its rows, p50", share(rows, 50), goal=_GOAL)
    yield Row("", "a demo: until a worker of its own is on the screen, p50", share(workers, 50))
    yield Row("", "a demo: its archive in the wheel", ARCHIVE.stat().st_size / 1024, "KiB", goal=_KIB)
