"""G5: durable appends by one and by eight writers, compared with SQLite on the same disk in the same run."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.table import Row, share
from lumen_tui.storage import files

LINE = b'{"id":"sig-%013d","message":"80 % done, tests left","created_at":"2026-01-01T00:00:00Z","lane":"UI"}'.replace(
    b"80 %", b"80 %%"
)
SECONDS = 1.5
_fork = multiprocessing.get_context("fork")


def _journal(path: Path, batch: int) -> Callable[[], Any]:
    data = (LINE % 7 + b"\n") * batch
    return lambda: files.append(path, data)


def _raw(path: Path, batch: int) -> Callable[[], Any]:
    """What the system can do at best: one file that stays open, no lock, no look at its end."""
    data = (LINE % 7 + b"\n") * batch
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write() -> None:
        os.write(fd, data)
        os.fdatasync(fd)

    return write


def _database(path: Path, batch: int) -> Callable[[], Any]:
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    rows = [(LINE % 7,)] * batch

    def insert() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO signals VALUES (?)", rows)
        connection.execute("COMMIT")

    return insert


def _work(
    make: Callable[[Path, int], Callable[[], Any]], path: Path, batch: int, gate: Any, result: Connection
) -> None:
    write = make(path, batch)
    gate.wait()
    taken: list[float] = []
    begin = last = time.perf_counter()
    while last - begin < SECONDS:
        write()
        now = time.perf_counter()
        taken.append((now - last) * 1000)
        last = now
    result.send((len(taken) * batch / (last - begin), taken))


def _race(
    make: Callable[[Path, int], Callable[[], Any]], path: Path, writers: int, batch: int
) -> tuple[float, list[float]]:
    """Return lines a second of all writers together, and how long each call took in ms."""
    gate = _fork.Barrier(writers)
    processes = []
    for _ in range(writers):
        receiver, sender = _fork.Pipe(duplex=False)
        process = _fork.Process(target=_work, args=(make, path, batch, gate, sender))
        process.start()
        sender.close()
        processes.append((process, receiver))
    rate = 0.0
    durations = []
    for process, end in processes:
        speed, times = end.recv()
        rate += speed
        durations += times
        process.join()
    return rate, durations


def _expect_whole(path: Path, lines: int) -> None:
    with open(path, "rb") as file:
        present = sum(line.rstrip() == LINE % 7 for line in file)
    if present != lines:
        raise SystemExit(f"{path}: {lines} lines were acknowledged and {present} are there")


def _new_database(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE signals (line BLOB)")
    connection.close()
    return path


def measure(folder: Path) -> Iterator[Row]:
    """Yield the rows of three races against as many SQLite writers, without batches against the disk alone too."""
    for writers, batch, goal in ((1, 1, 0.0), (8, 1, 10_000.0), (8, 64, 100_000.0)):
        name = f"{writers}-{batch}"
        other, _ = _race(_database, _new_database(folder / f"{name}.db"), writers, batch)
        path = folder / f"{name}.jsonl"
        rate, taken = _race(_journal, path, writers, batch)
        _expect_whole(path, len(taken) * batch)
        who = f"{writers} writer{'s' if writers > 1 else ''}" + (f", batches of {batch}" if batch > 1 else "")
        yield Row(
            "G5", f"durable signals a second, {who}", rate, "/s", goal, True, "SQLite WAL synchronous=FULL", other
        )
        if batch == 1:  # between two of the other: a disk is not as fast in each second
            raw = [_race(_raw, folder / f"{name}.raw", writers, 1)[0] for _ in range(2)]
            again, _ = _race(_journal, path, writers, 1)
            raw.append(_race(_raw, folder / f"{name}.raw", writers, 1)[0])
            limit, goal = median([rate, again]) / median(raw), 0.9 if writers == 1 else 0.0
            yield Row("G5", f"share of raw append and fdatasync, {who}", limit, "x", goal, True)
        if writers == 8 and batch == 1:
            yield Row("G5", f"one durable signal, {who}, p99", share(taken, 99), "ms", 3.0)
            yield Row("G5", f"times faster than SQLite, {who}", rate / other, "x", 2.5, True)
