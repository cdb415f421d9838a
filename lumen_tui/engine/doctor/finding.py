"""What the doctor found: single findings, and the report of a whole check."""

from __future__ import annotations

from msgspec import Struct, field

PROBLEM, NOTE = "problem", "note"


class Finding(Struct, frozen=True):
    """One thing out of order. A note is worth knowing and needs no repair."""

    check: str
    where: str  # a path below the state folder, with `:line` where there is one
    what: str
    hint: str = ""
    level: str = PROBLEM
    repairable: bool = field(default=False, name="mendable")
    repaired: str = field(default="", name="mended")  # what was done about it; empty where nothing was


class DoctorReport(Struct, frozen=True):
    """The result of checking a state folder."""

    root: str
    checked: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def left(self) -> list[Finding]:
        """Problems that are still there."""
        return [finding for finding in self.findings if finding.level == PROBLEM and not finding.repaired]
