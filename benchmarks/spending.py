"""The ledger and the kill switch: the budget's cost of a model call, a start on a long day, a kill."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.table import Row, share
from lumen_tui.actions.registry import named, perform
from lumen_tui.model.spendbook import HOLD, SPENT, LedgerEntry
from lumen_tui.model.tasks import Run, Spec, Usage
from lumen_tui.model.times import iso
from lumen_tui.storage import files, process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.ledger.ledger import Ledger, new_call

_LINES = 100_000
_WORKERS = 16
_STUBBORN = "import signal,time;signal.signal(signal.SIGTERM,signal.SIG_IGN);print('ready',flush=True);time.sleep(600)"


def measure(folder: Path) -> Iterator[Row]:
    """Yield the rows of this part."""
    yield from _calls(folder / "ledger")
    yield _kill(folder / "kill")


def _calls(root: Path) -> Iterator[Row]:
    layout = Layout(root)
    layout.create()
    day = iso(time.time())[:10]
    me = process.myself()
    known = LedgerEntry(new_call(), SPENT, iso(time.time()), day, "tsk-a", 1, "researcher", "model", 1000, 0.001)
    line = msgspec.json.encode(known)
    lines = [line.replace(known.id.encode(), b"spd-%013d" % number) + b"\n" for number in range(_LINES)]
    files.append(layout.spend, b"".join(lines))
    Ledger(layout).refresh()
    starts = []
    holds = []
    settles = []
    for _ in range(15):
        began = time.perf_counter()
        ledger = Ledger(layout)
        ledger.refresh()
        starts.append(1000 * (time.perf_counter() - began))
    for _ in range(200):
        hold = LedgerEntry(new_call(), HOLD, iso(time.time()), day, "tsk-a", 1, "researcher", "model", 1000, 0.001,
                     pid=me.pid, start_ticks=me.start_ticks, boot_id=me.boot_id)  # fmt: skip
        began = time.perf_counter()
        ledger.hold(hold, lambda book: "")
        holds.append(1000 * (time.perf_counter() - began))
        began = time.perf_counter()
        ledger.settle(hold.id, day, time.time(), Usage(500, usd=0.0005), seconds=0.1)
        settles.append(1000 * (time.perf_counter() - began))
    yield Row("", f"totals of a day with {_LINES:,} calls, at a start, p50", share(starts, 50), goal=20)
    yield Row("", "a model call set aside, p50", share(holds, 50), goal=2)
    yield Row("", "and settled, p50", share(settles, 50), goal=2)


def _kill(root: Path) -> Row:
    """Time a kill from the command to the end of the last worker; all of them ignore TERM."""
    layout = Layout(root)
    layout.create()
    children = [_stubborn(layout, f"tsk-{number}") for number in range(_WORKERS)]
    began = time.perf_counter()
    perform(Store(root), named("kill", {"reason": "measured"}), by="bench", now=time.time())
    for child in children:
        child.wait()
    took = 1000 * (time.perf_counter() - began)
    return Row("", f"kill: {_WORKERS} workers that do not heed TERM are gone after", took, goal=1000)


def _stubborn(layout: Layout, name: str) -> subprocess.Popen[bytes]:
    folder = layout.tasks / name
    folder.mkdir(mode=0o700)
    spec = Spec(id=name, objective="x", created_at=iso(time.time()))
    (folder / "spec.json").write_bytes(msgspec.json.encode(spec))
    fd = os.open(folder / "run.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    child = subprocess.Popen(
        [sys.executable, "-c", _STUBBORN], stdout=subprocess.PIPE, pass_fds=(fd,), start_new_session=True
    )
    os.close(fd)
    assert child.stdout is not None
    child.stdout.readline()
    me = process.identify(child.pid)
    run = Run(attempt=1, started_at=iso(time.time()), pid=me.pid, start_ticks=me.start_ticks, boot_id=me.boot_id)
    files.replace(folder / "run.json", msgspec.json.encode(run))
    return child
