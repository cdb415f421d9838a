"""The chain of hashes over the journals: what was changed behind the program's back, and where."""

from __future__ import annotations

from collections.abc import Iterator

from lumen_tui.engine.doctor.disk import NOTE, DoctorFinding
from lumen_tui.model.seals import Seal
from lumen_tui.model.text import one_line
from lumen_tui.storage import chain_check
from lumen_tui.storage.chain_check import ChainReport
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.seals import NAME

_MOST_NAMED = 20
_HINT = "a backup has it as it was; where you changed it yourself, `doctor --accept-history` seals it as it is now"


def chain(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report what is not as it was sealed; no repair makes it what it was."""
    report = chain_check.look_through(layout.root)
    for fault in report.faults:
        yield DoctorFinding("history", one_line(fault.journal, 120), one_line(str(fault), 200), _HINT)
    for seal in report.unsound[:_MOST_NAMED]:
        yield DoctorFinding("history", one_line(seal.journal, 120), _found(seal), _HINT)
    if len(report.unsound) > _MOST_NAMED:
        yield DoctorFinding("history", NAME, f"{len(report.unsound) - _MOST_NAMED} further changes were found", _HINT)
    for seal in report.accepted:
        note = f"what was found up to {one_line(seal.at, 40)} was accepted {one_line(seal.why, 80)}"
        yield DoctorFinding("history", NAME, note, level=NOTE)


def _found(seal: Seal) -> str:
    return f"was not as it had been sealed when it was looked at, {one_line(seal.at, 40)}: {one_line(seal.why, 200)}"


def head_words(report: ChainReport, expected: str = "") -> str:
    """Return the sentence on the head of the chain; with an expected head, whether that one is in it."""
    if not report.head:
        return "no history is sealed: the head you gave is not in it" if expected else ""
    words = f"history sealed up to {one_line(report.at, 40)}; head {report.head}"
    if not expected:
        return words
    return words + (", behind the one you gave" if expected in report.hashes else "; the head you gave is NOT in it")
