"""Freshness: what facts cost a snapshot, and whether a beat's probes keep to their time."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Row
from lumen_tui.actions import facts as verbs
from lumen_tui.model import facts
from lumen_tui.model.facts import Outcome, Probe
from lumen_tui.model.freshness import DueProbe, choose
from lumen_tui.model.times import iso
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.facts import FactIndex, record
from lumen_tui.tools.probes import batch
from lumen_tui.tools.probes.batch import ProbeJob

_FACTS = 10_000
_SECONDS, _EACH = 2.0, 0.5


def measure(folder: Path) -> Iterator[Row]:
    """Yield the rows of this part."""
    layout = Layout(folder / "facts")
    layout.create()
    _fill(layout)
    began = time.perf_counter()
    index = FactIndex(layout)
    index.refresh()
    index.view()
    yield Row("K1", "10,000 facts with a confirmation each, read", 1000 * (time.perf_counter() - began), goal=2000)
    turns = [DueProbe(state.fact.id, "p1", state.probed, 1.0) for state in index.states()]
    began = time.perf_counter()
    choose(turns, 32, random.Random(1))
    yield Row("K2", "choosing a beat's probes among 10,000", 1000 * (time.perf_counter() - began), goal=100)
    yield from _batches(layout)


def _fill(layout: Layout) -> None:
    now = time.time()
    store = Store(layout.root)
    probe = Probe("p1", "file", "/etc/hosts")
    nodes = [
        verbs.node(f"fact {number} about /etc/hosts", facts.metadata("steady", "bench", (probe,)), by="lumen", now=now)
        for number in range(_FACTS)
    ]
    store.nodes.append_all(nodes)
    record(layout, [facts.Confirmation(node["id"], iso(now), Outcome.HOLDS, "p1") for node in nodes])


def _batches(layout: Layout) -> Iterator[Row]:
    quick = [ProbeJob("mem-a", Probe("p1", "file", "/etc/hosts"))] * 32
    began = time.perf_counter()
    batch.run(layout.root, quick, seconds=_SECONDS, each=_EACH)
    yield Row("K3", "32 quick probes, with their process", 1000 * (time.perf_counter() - began), goal=1000)
    hanging = [ProbeJob("mem-a", Probe("p1", "exit", f"sleep {600 + number}")) for number in range(32)]
    began = time.perf_counter()
    batch.run(layout.root, hanging, seconds=_SECONDS, each=_EACH)
    yield Row(
        "K3", "32 probes that hang, 2 s allowed (and the process)", 1000 * (time.perf_counter() - began), goal=3500
    )
