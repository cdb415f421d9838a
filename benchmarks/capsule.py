"""Capsules from many packets and nodes, and the digest of an operator who was away, beside a million old signals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from benchmarks import state
from benchmarks.table import Row
from lumen_tui.engine.loops.capsules import Capsules
from lumen_tui.model.config import Config
from lumen_tui.model.loop import Artifact, LeftOut, Orientation, Packet
from lumen_tui.model.records import Signal
from lumen_tui.model.times import HOUR, iso
from lumen_tui.queries import digest
from lumen_tui.queries.digest import digest_for
from lumen_tui.queries.loop_history import PacketIndex
from lumen_tui.storage.store import Store

_PACKETS, _NODES, _SIGNALS = 10_000, 100_000, 1_000_000
_TIMES = 9


def measure(folder: Path) -> Iterator[Row]:
    """Yield the rows of this part."""
    now = time.time()
    store = Store(folder / "capsules")
    store.layout.create()
    state.write_lines(
        store.layout.packets, (msgspec.json.encode(_packet(n, now)).decode() + "\n" for n in range(_PACKETS))
    )
    capsules = Capsules(store.layout)
    yield Row("L1", "capsule from 10,000 packets, from nothing", _ms(lambda: capsules.build(1, Config(), now)), goal=50)
    yield Row("L1", "10,000 packets, listed for the room", _ms(lambda: PacketIndex(store.layout).refresh()), goal=100)
    state.write_lines(store.layout.memory, state.node_lines(_NODES, now))
    _facts(store, now)
    fresh = Capsules(store.layout)
    yield Row("G13", "capsule from 100k nodes, from nothing", _ms(lambda: fresh.build(1, Config(), now)), goal=300)
    yield Row("G13", "capsule from 100k nodes, one line added", _again(store, fresh, now), goal=50)
    yield from _digests(store, now)


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def _packet(number: int, now: float) -> Packet:
    at = now - 300.0 * (_PACKETS - number)
    return Packet(
        f"pkt-{number:013d}", number + 1, iso(at - 60), iso(at), brain="anthropic: m", decided=(f"choice {number}",),
        came_in=("a signal about a port",) * 6, done=("researcher: look at the disk",) * 4, changed={"tasks_done": 4},
        made=(Artifact("report", "r.md", "report"),), abandoned=(LeftOut(f"way {number}", "workers do that"),),
        orientation=Orientation(12.0, 40_000, 10_000, 9000, 0.01, 3, "create_task"),
    )  # fmt: skip


def _facts(store: Store, now: float) -> None:
    from lumen_tui.actions import facts as verbs
    from lumen_tui.model import facts

    probe = facts.Probe("p1", "file", "/etc/hosts")
    claims = [f"service {number} of the site listens on port {8000 + number}" for number in range(200)]
    store.nodes.append_all(
        verbs.node(claim, facts.metadata("steady", "bench", (probe,)), by="lumen", now=now) for claim in claims
    )


def _again(store: Store, capsules: Capsules, now: float) -> float:
    """Return the slowest of some capsules in ms, each after another packet and node."""
    slowest = 0.0
    for number in range(_TIMES):
        store.packets.append(_packet(_PACKETS + number, now))
        store.nodes.append({"id": f"mem-n{number}", "type": "note", "content": "new", "created_at": iso(now)})
        slowest = max(slowest, _ms(lambda: capsules.build(1, Config(), now)))
    return slowest


def _digests(store: Store, now: float) -> Iterator[Row]:
    state.write_lines(store.layout.signals, state.signal_lines(_SIGNALS, now - 6 * HOUR))
    digest.note_visit(store.layout, "ann", now - 5 * HOUR)
    looked = digest.read_visit(store.layout, "ann")
    store.signals.append_all(Signal(f"sig-new{n}", "news", iso(now), sender="bob") for n in range(500))
    taken = _ms(lambda: digest_for(store.layout, "ann", now, seen=looked))
    yield Row("L8", "since you left: 500 new beside 1,000,000 old signals", taken, goal=100)
    taken = _ms(lambda: digest_for(store.layout, "ann", now, since=now - 5 * HOUR))
    yield Row("L8", "the same by date alone", taken, goal=100)
    yield Row("L8", "noting that an operator looks", _ms(lambda: digest.note_visit(store.layout, "ann", now)), goal=20)
