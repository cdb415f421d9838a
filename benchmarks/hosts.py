"""Tasks on hosts: what one costs over a task that runs here, and how fast a queue of short ones is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.table import Row, share
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.tasks import Exit
from lumen_tui.storage import lease
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_records import archived_folder, read_json

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from lumen_hosts import Hosts

_TICK = os.sysconf("SC_CLK_TCK")
_PATIENCE = 1800.0  # seconds
_SLOTS = 4


class Fleet:
    """An engine on a state folder of its own, and hosts beside it."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        folder.mkdir()
        self.layout = Layout(folder / "state")
        self.layout.create()
        beside = folder / "hosts"
        beside.mkdir()
        self.tree = folder / "tree"
        self.tree.mkdir()
        (self.tree / "a.txt").write_text("a")
        self.hosts = Hosts(self.layout, beside)
        for name in names:
            self.hosts.start(name, _SLOTS)
        self.engine = subprocess.Popen(
            [sys.executable, "-m", "lumen_tui", "--state", str(self.layout.root), "--engine-only"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _until(lambda: lease.is_held(self.layout))
        self.hosts.joined(*names)
        self.port = RemotePort(self.layout.root)

    def submit(self, host: str) -> str:
        """Queue a task that takes next to no time; return its id."""
        objective = f"What are the 3 largest files in {self.tree}?"
        return self.port.submit(NewTask(objective=objective, host=host)).target

    def ended(self, task_id: str) -> Exit | None:
        """Return how a task ended, wherever its folder is by now."""
        folder = self.layout.task(task_id)
        if record := read_json(folder / "exit.json", Exit):
            return record
        archived = archived_folder(self.layout.archive, task_id)
        return read_json(archived / "exit.json", Exit) if archived else None

    def one(self, host: str) -> float:
        """Return the seconds from the order to the end of one task."""
        began = time.monotonic()
        task_id = self.submit(host)
        _until(lambda: self.ended(task_id) is not None)
        return time.monotonic() - began

    def cpu(self) -> float:
        """Return the seconds of CPU time that the engine has used."""
        fields = Path(f"/proc/{self.engine.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def close(self) -> None:
        """End everything."""
        os.kill(self.engine.pid, signal.SIGTERM)
        self.engine.wait()
        self.hosts.close()


def measure(folder: Path, *, full: bool) -> Iterator[Row]:
    """Yield the rows of this part; `full` has queues of 1,000 tasks on 1 to 8 hosts."""
    yield from _overhead(folder / "one", runs=40 if full else 15)
    for count in (1, 2, 4, 8) if full else (1, 4):
        yield from _queue(folder / f"hosts-{count}", count, 1000 if full else 60)


def _overhead(folder: Path, runs: int) -> Iterator[Row]:
    fleet = Fleet(folder, ["attic"])
    try:
        for host in ("", "attic", "", "attic"):
            fleet.one(host)  # both have a process at hand that has all loaded
            time.sleep(1)
        here, there = [], []
        for _ in range(runs):
            here.append(1000 * fleet.one(""))
            there.append(1000 * fleet.one("attic"))
    finally:
        fleet.close()
    middle, other = share(there, 50), share(here, 50)
    yield Row("J1", "a task on a host, from order to end, median", middle, other_name="here", other=other)
    yield Row("J2", "what the host adds to that", middle - other, goal=60)


def _queue(folder: Path, count: int, tasks: int) -> Iterator[Row]:
    names = [f"host-{number}" for number in range(count)]
    fleet = Fleet(folder, names)
    try:
        before, began = fleet.cpu(), time.monotonic()
        waiting = {fleet.submit("any") for _ in range(tasks)}
        ends: Counter[tuple[str, int]] = Counter()
        while waiting:
            assert time.monotonic() - began < _PATIENCE, f"{len(waiting)} tasks are left"
            records = {task_id: record for task_id in waiting if (record := fleet.ended(task_id))}
            ends.update((record.status, record.attempt) for record in records.values())
            waiting -= records.keys()
            time.sleep(0.5)
        took, cost = time.monotonic() - began, fleet.cpu() - before
    finally:
        fleet.close()
    assert ends == {("done", 1): tasks}, ends
    what = f"{tasks:,} short tasks on {count} host{'s' if count > 1 else ''}"
    yield Row(f"J{count}q", f"{what}, each done once", tasks / took, unit="tasks/s", more_is_better=True)
    yield Row(f"J{count}c", f"{what}: CPU time of the engine for each", 1000 * cost / tasks)


def _until(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not fact():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.001)
