"""The journals: torn ends, damaged lines by their number, old forms, receipts of nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.engine.doctor.finding import NOTE, Finding
from lumen_tui.model.archive import Passage
from lumen_tui.model.blocks import Step as BlockStep
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.evolution import Observation
from lumen_tui.model.facts import Confirmation
from lumen_tui.model.loop import Command, CommandReceipt, EngineEvent, Packet
from lumen_tui.model.records import EVERYONE, Action, Receipt, Relationship, Touch
from lumen_tui.model.relay import Submission
from lumen_tui.model.sessionlog import Place
from lumen_tui.model.spendbook import Entry
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.storage import files, repair
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.repair import Damaged, Judge
from lumen_tui.store.evolution.evolved import Rejection
from lumen_tui.store.evolution.versions import Version
from lumen_tui.store.memory import relays
from lumen_tui.store.signals import receipts
from lumen_tui.store.signals.compaction import archive_path
from lumen_tui.store.signals.read_state import decode_receipt, read_signal
from lumen_tui.store.tasks.task_records import has_worker

_MOST_NAMED = 20  # damaged lines of one file that are named one by one


class _Identified(msgspec.Struct):
    id: str


def judge(kind: Any) -> Judge:
    """Return a function that says why a line is no record of this kind; empty if it is one."""
    decode = msgspec.json.Decoder(kind).decode

    def why(line: bytes) -> str:
        try:
            decode(line)
        except UNDECODABLE as error:
            return one_line(str(error), 160)
        return ""

    return why


def kinds(layout: Layout) -> dict[Path, Any]:
    """Return the shared journals, each with the type of its lines."""
    return {
        layout.memory: _Identified,
        layout.signals: _Identified,
        archive_path(layout): _Identified,
        layout.receipts: Receipt,
        layout.relationships: Relationship,
        layout.touches: Touch,
        layout.actions: Action,
        layout.events: EngineEvent,
        layout.commands: Command,
        layout.command_receipts: CommandReceipt,
        layout.personnel: dict[str, Any],
        layout.packets: Packet,
        layout.spend: Entry,
        layout.confirmations: Confirmation,
        layout.observations: Observation,
        layout.rejections: Rejection,
        layout.block_history: BlockStep,
        layout.read_sessions: Place,
        layout.versions_log: Version,
        layout.archival: Passage,
    }


def _journals(layout: Layout) -> Iterator[tuple[Path, Any]]:
    """Yield every journal with the type of its lines; of tasks only those that do not run."""
    yield from kinds(layout).items()
    yield from ((relays.path_of(layout, name), Submission) for name in relays.names(layout))
    for path in sorted(layout.tasks.glob("[!.]*/events.jsonl")):
        if path.parent != layout.archive and not has_worker(path.parent):
            yield path, TaskEvent


def lines(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report torn ends and damaged lines; torn ends first, because closing one makes a damaged line of it."""
    for path, kind in _journals(layout):
        name = str(path.relative_to(layout.root))
        try:
            yield from _torn(path, name, fix)
            yield from _damaged(layout, path, name, judge(kind), now, fix)
        except files.StoreError as error:
            yield Finding("journals", name, str(error))


def _torn(path: Path, name: str, fix: bool) -> Iterator[Finding]:
    if not repair.is_torn(path):
        return
    if fix:
        repair.close_tail(path)
    fault = "the last line was cut off"
    yield Finding("torn ends", name, fault, mendable=True, mended="closed, so that it stands alone" if fix else "")


def _damaged(layout: Layout, path: Path, name: str, judge_line: Judge, now: float, fix: bool) -> Iterator[Finding]:
    damaged = repair.damaged_lines(path, judge_line)
    if not damaged:
        return
    moved = repair.quarantine(layout, path, judge_line, iso(now)) if fix else 0
    if moved and path == layout.signals:
        receipts.tidy(layout, moved=True)
    mended = "moved to quarantine/quarantine.jsonl" if moved else ""
    for damage in damaged[:_MOST_NAMED]:
        yield _named(name, damage, mended)
    if len(damaged) > _MOST_NAMED:
        fault = f"{len(damaged) - _MOST_NAMED} further damaged lines"
        yield Finding("damaged lines", name, fault, mendable=True, mended=mended)


def _named(name: str, damage: Damaged, mended: str) -> Finding:
    fault = f"damaged line of {damage.size:,} bytes: {damage.reason}"
    return Finding(
        "damaged lines", f"{name}:{damage.number}", fault, "the other lines are in use", "problem", True, mended
    )


def legacy(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report records in older forms, which are honoured as they are."""
    nobody = [receipt for line in Journal(layout.receipts).lines() if (receipt := decode_receipt(line))]
    count = sum(receipt.reader == EVERYONE for receipt in nobody)
    if count:
        note = f"{count} receipt(s) name no reader: they count for everybody"
        yield Finding("legacy records", "memory/signal-receipts.jsonl", note, level=NOTE)
    inline = 0
    for line in Journal(layout.signals).lines():
        if b'"read"' in line and (signal := read_signal(line)) and signal.read:
            inline += 1
    if inline:
        note = f"{inline} signal(s) say inside that they were read: they are read for everybody"
        yield Finding("legacy records", "memory/signals.jsonl", note, level=NOTE)


def orphaned(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report receipts whose signal is gone."""
    count = receipts.orphans(layout)
    if not count:
        return
    removed = receipts.tidy(layout, moved=False) if fix else 0
    yield Finding(
        "orphaned receipts",
        "memory/signal-receipts.jsonl",
        f"{count} receipt(s) belong to no signal",
        mendable=True,
        mended=f"{removed} removed" if fix else "",
    )
