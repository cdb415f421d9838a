"""Upkeep of a large memory: decay, summarize, cleanup, and what a doctor needs, over 100,000 nodes."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.state import make_state
from benchmarks.table import Row
from lumen_tui.actions import cleanup, decay, finishing
from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.model.times import DAY
from lumen_tui.queries.lineage.provenance import provenance
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.node_index import AgeIndex

NODES = 100_000
_fork = multiprocessing.get_context("fork")


def timed(work: Callable[[], object]) -> float:
    """Return the wall time in ms of one run."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


def _plain(layout: Layout) -> float:
    """Return the ms for reading and decoding every line, with nothing done to it."""
    import json

    return timed(lambda: [json.loads(line) for line in layout.memory.read_bytes().splitlines()])


def _append_again(path: Path, stop: Any, result: Connection) -> None:
    """Append a line every 2 ms; send how long each append took, in ms."""
    taken = []
    for number in itertools.count():
        if stop.is_set():
            break
        begin = time.perf_counter()
        files.append(path, b'{"id":"beside-%d","created_at":"2026-01-01T00:00:00Z"}\n' % number)
        taken.append((time.perf_counter() - begin) * 1000)
        time.sleep(0.002)
    result.send(taken)


def with_appender(path: Path, work: Callable[[], object]) -> tuple[float, float]:
    """Return the ms of the work while another process appends to the journal, and of the longest append."""
    stop = _fork.Event()
    receiver, sender = _fork.Pipe()
    writer = _fork.Process(target=_append_again, args=(path, stop, sender))
    writer.start()
    taken = timed(work)
    stop.set()
    longest = max(receiver.recv())
    writer.join()
    return taken, longest


def _decay_rows(store: Store, newest: float, plain: float) -> Iterator[Row]:
    other = ("json.loads of each line", plain)
    rule = decay.rule_of(store)
    preview = timed(lambda: decay.due(AgeIndex(store.layout).load(), rule, newest + 30 * DAY))
    yield Row("M1", f"decay, a look at {NODES:,} nodes", preview, "ms", 1500, False, *other)
    late = newest + 400 * DAY
    many = len(decay.due(AgeIndex(store.layout).load(), rule, late))
    memory = store.layout.memory
    taken, waited = with_appender(memory, lambda: perform(store, named("decay.apply", {}), by="bench", now=late))
    yield Row("M1", f"decay, archiving {many:,} nodes", taken, "ms", 15000, False, *other)
    yield Row("M1", "the longest append beside that", waited, "ms", 50)
    back, waited = with_appender(memory, lambda: perform(store, named("undo", {}), by="bench", now=late))
    yield Row("M1", f"undo of that, {many:,} nodes", back, "ms", 20000, False, *other)
    yield Row("M1", "the longest append beside that", waited, "ms", 50)
    nothing = timed(lambda: perform(store, named("decay.apply", {}), by="bench", now=newest))
    yield Row("M1", "decay with nothing to do, as `wu done` runs it", nothing, "ms", 2500, False, *other)


def _other_rows(store: Store, newest: float, plain: float) -> Iterator[Row]:
    other = ("json.loads of each line", plain)
    units = timed(lambda: finishing.summary_draft(store, "WU-008"))
    yield Row("M2", "summarize one of 400 work units, the text", units, "ms", 1000, False, *other)
    written = timed(lambda: perform(store, named("summary.make", {"wu_id": "WU-008"}), by="bench", now=newest))
    yield Row("M2", "summarize one of 400 work units, written", written, "ms", 2000, False, *other)
    options = cleanup.cleanup_options("30d")
    preview = timed(lambda: cleanup.due(store, AgeIndex(store.layout).load(), options, newest))
    yield Row("M3", f"cleanup, a look at {NODES:,} nodes", preview, "ms", 3000, False, *other)
    links = timed(lambda: provenance(store, "mem-0000000000007"))
    yield Row("M5", "why, the chain of one node", links, "ms", 1500, False, *other)
    health = timed(lambda: examine(store, now=newest))
    yield Row("M6", "doctor over all of it", health, "ms", 5000, False, *other)


def _signal_rows(folder: Path, newest: float) -> Iterator[Row]:
    layout = make_state(folder / "signal-upkeep", nodes=10, signals=1_000_000, newest=newest)
    store = Store(layout.root)
    perform(store, named("signal.read_all", {}), by="bench", now=newest)
    taken, waited = with_appender(
        layout.signals, lambda: perform(store, named("cleanup.signals", {}), by="bench", now=newest)
    )
    yield Row("M4", "signal cleanup of 1,000,000 signals", taken, "ms", 3000)
    yield Row("M4", "the longest append beside that", waited, "ms", 100)


def measure(folder: Path, newest: float, *, full: bool = False) -> Iterator[Row]:
    """Yield all rows; the million signals only with `full`."""
    layout = make_state(folder / "upkeep", nodes=NODES, signals=1000, newest=newest)
    plain = _plain(layout)
    store = Store(layout.root)
    yield from _other_rows(store, newest, plain)
    yield from _decay_rows(store, newest, plain)
    if full:
        yield from _signal_rows(folder, newest)
