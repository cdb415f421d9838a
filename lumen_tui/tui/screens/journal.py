"""The journal of decisions: who did what, when and why, newest first; what is one's own can be taken back."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment

from lumen_tui.actions import acting
from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.records import AuditEntry
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.text import humanize
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.lines import Cell, line, spread
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, chosen_row, fill

_LIMIT = 2000  # actions that are shown


class DeedRows(Rows[AuditEntry]):
    """How long ago, who, what and why."""

    widest = 1000  # cells of the longest reason, where they are known

    def key(self, row: AuditEntry) -> str:
        return row.id

    def line(self, row: AuditEntry, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        text = ink.muted if row.undone or row.undoes else ink.strong if selected else ink.text
        reason = humanize(row.reason) if width >= 70 else ""
        cells = (
            Cell(words.age(self.now - times.epoch(row.at)), ink.muted, 6, right=True),
            Cell(row.by, ink.muted, 10),
            Cell(humanize(row.summary) or row.verb, text),
            *((Cell(reason, ink.muted, min(self.widest, width // 4)),) if reason else ()),
            *((Cell("undone", ink.accent, 6),) if row.undone else ()),
        )
        return line(width, cells)

    def more(self, row: AuditEntry, width: int) -> list[Segment]:
        sep = f" {self.look.shapes.sep} "
        details = sep.join(part for part in (row.verb, row.at[:19].replace("T", " "), humanize(row.reason)) if part)
        return spread(width, [(f"        {details}", self.look.ink.muted)], [])

    def words(self, row: AuditEntry) -> str:
        return f"{row.summary} {row.reason} {row.verb} {row.by} {row.target}"

    def fields(self, row: AuditEntry) -> dict[str, str]:
        age = f"{self.now - times.epoch(row.at):.0f}"
        return {"by": row.by, "verb": row.verb, "reason": row.reason, "target": row.target, "age": age}


class JournalScreen(LoadedSheet[AuditEntry, Sequence[AuditEntry]]):
    """Every recent action of every operator."""

    SCOPE = "journal"
    OF_ROWS = frozenset({"undo"})
    EMPTY = "No actions yet. What operators do is recorded here, with the reason."
    TWO_LINES = True

    def __init__(self, port: Port, operator: str, now: float, refusal: str = "") -> None:
        super().__init__("Journal", now, lambda: port.audit_entries(_LIMIT))
        self._port = port
        self._operator = operator
        self._refusal = refusal
        self._at = self._why = ""

    def begin(self, at: str, reason: str) -> None:
        """Open with the cursor on an action, and with a sentence at the bottom."""
        self._at, self._why = at, reason

    def rows_view(self) -> DeedRows:
        return DeedRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        return (*self.offer("undo"), *super().keys())

    def _loaded(self, deeds: Sequence[AuditEntry]) -> None:
        if isinstance(view := self.rows.view, DeedRows):
            view.widest = max((cell_len(deed.reason) for deed in deeds), default=0)
        fill(self, deeds, "Journal", words.plural(len(deeds), "action"))
        if self._at and self.rows.select_key(self._at):
            self.say(self._why, bad=True)
            self._at = ""

    def action_undo(self) -> None:
        deed = chosen_row(self)
        if deed is None:
            return
        if obstacle := self._why_not(deed):
            self.say(f"undo: {obstacle}", bad=True)
        else:
            self.run_worker(self._undo(deed.id), group="undo")

    def _why_not(self, deed: AuditEntry) -> str:
        if self._refusal:
            return self._refusal
        if not acting.may_undo_by_id(deed.by, deed.client, self._operator):
            return f"{deed.by} did this, and only {deed.by} can undo it"
        if deed.undoes or deed.redoes:
            return "this was an undo or a redo: go to the action itself"
        if not deed.changes:
            return "nothing it changed can be reverted"
        return "already undone; U in the room redoes it" if deed.undone else ""

    async def _undo(self, action_id: str) -> None:
        if await jobs.submit(self, self._port, Undo(action_id=action_id)):
            self.loader.load()

    def opened(self, row: AuditEntry) -> None:
        facts: list[Fact] = [
            ("when", times.dated(times.epoch(row.at), self._now)),
            ("who", row.by),
            ("what", row.verb),
            ("where", acting.origin_text(row.client, "") if row.client else "not known"),
            ("reason", humanize(row.reason) or "none"),
            ("about", row.target or "–"),
            ("changes", words.number(row.changes)),
            ("undone", "yes" if row.undone else "no"),
            ("id", row.id),
        ]
        self.app.push_screen(ReadingScreen(row.verb, humanize(row.summary), facts))
