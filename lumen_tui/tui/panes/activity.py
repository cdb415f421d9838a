"""The strip of activity: what the last hours cost, when loops ended, and what failed, on one line."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from lumen_tui.model import times
from lumen_tui.model.snapshot import Need, Snapshot
from lumen_tui.model.spendbook import SLOT
from lumen_tui.tui import words
from lumen_tui.tui.kit.lines import spread
from lumen_tui.tui.theme import Appearance

BUCKETS = 60  # of SLOT seconds each
_TOGETHER = 3  # buckets in a cell of the loops
_HOUR = int(times.HOUR) // SLOT
_FAILED = frozenset({Need.FAILED, Need.LOST})

Piece = tuple[str, Style]


def something(snapshot: Snapshot, now: float) -> bool:
    """Return whether there is anything to draw."""
    return any(snapshot.spend.slots) or any(True for _ in _loops(snapshot, now))


def strip(snapshot: Snapshot, now: float, width: int, look: Appearance) -> list[Segment]:
    """Return the strip on `width` cells, said shorter where that makes it fit; else its end is left out."""
    for brief in (False, True):
        groups = [_spend(snapshot, look, brief), _pace(snapshot, look, brief), _ticks(snapshot, now, look, brief),
                  _last(snapshot, look, brief)]  # fmt: skip
        if sum(map(_cells, groups)) <= width:
            break
    pieces = list[Piece]()
    for group in groups:
        if _cells(pieces + group) <= width:
            pieces += group
    return spread(width, pieces or [("", look.ink.text)], [])


def _cells(pieces: list[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)


def _spend(snapshot: Snapshot, look: Appearance, brief: bool) -> list[Piece]:
    """Return a level for each bucket, the oldest first."""
    ink, levels = look.ink, look.shapes.levels
    slots = snapshot.spend.slots or (0.0,) * BUCKETS
    most = max(*slots, 0.0) or 1.0
    chart = "".join(levels[min(len(levels) - 1, int(len(levels) * slot / most))] for slot in slots)
    hours = len(slots) * SLOT / times.HOUR
    since, until = (f"{hours:g}h ", "") if brief else (f"{hours:g} h ", " now")
    return [(since, ink.muted), (chart, ink.text if any(slots) else ink.faint), (until, ink.muted)]


def _pace(snapshot: Snapshot, look: Appearance, brief: bool) -> list[Piece]:
    spent = sum(snapshot.spend.slots[-_HOUR:])
    amount = words.money(spent) if snapshot.spend.slots_usd else f"{words.kilo(int(spent))} tokens"
    text = f"  {amount}/h" if brief else f"   {amount} in the last hour"
    return [(text, look.ink.muted)] if spent else []


def _ticks(snapshot: Snapshot, now: float, look: Appearance, brief: bool) -> list[Piece]:
    """Return a tick for each quarter of an hour in which a loop ended, and the mark of a failure where one failed."""
    ink, shapes = look.ink, look.shapes
    ended, failed = set[int](), set[int]()
    for at, bad in _loops(snapshot, now):
        (failed if bad else ended).add(_cell(at, now))
    pieces: list[Piece] = [("  loops " if brief else "   loops ", ink.muted)]
    for cell in range(BUCKETS // _TOGETHER):
        mark = (shapes.failed, ink.bad) if cell in failed else (shapes.tick, ink.text)
        pieces.append(mark if cell in failed | ended else (shapes.sep, ink.faint))
    return pieces if ended or failed else []


def _cell(at: float, now: float) -> int:
    return BUCKETS // _TOGETHER - 1 - int((now - at) // (SLOT * _TOGETHER))


def _loops(snapshot: Snapshot, now: float) -> Iterator[tuple[float, bool]]:
    """Yield when each loop of the last hours ended, and whether it failed."""
    for packet in snapshot.packets:
        at = times.epoch(packet.completed_at) if packet.completed_at else 0.0
        if 0 <= now - at < BUCKETS * SLOT:
            yield at, bool(packet.failed)


def _last(snapshot: Snapshot, look: Appearance, brief: bool) -> list[Piece]:
    """Return how many tasks failed and need a person, and when the last of them did."""
    failed = [need for need in snapshot.attention if need.need in _FAILED and need.since]
    if not failed:
        return []
    at = times.iso(max(need.since for need in failed))[11:16]
    return [(f"{'  ' if brief else '   '}{look.shapes.failed} {len(failed)} failed {at}", look.ink.bad)]
