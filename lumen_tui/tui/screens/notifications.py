"""What needed you, newest first: when it appeared, how long it waited, who answered it or what ended it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.segment import Segment
from textual.app import App

from lumen_tui.model import times
from lumen_tui.model.notifying import ToldTransition, told_words
from lumen_tui.model.text import humanize, one_line
from lumen_tui.model.transitions import TransitionKind, words_of
from lumen_tui.queries.transitions import newest, with_told
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of, host_of
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, fill

_HOW = 28  # cells
_LIMIT = 2000  # transitions that are read at most


class TransitionRows(Rows[ToldTransition]):
    """When, which kind of need, what happened to it, and what it was."""

    def key(self, row: ToldTransition) -> str:
        return row.id

    def line(self, row: ToldTransition, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        gone = row.kind is TransitionKind.GONE
        cells = (
            Cell(times.exact(row.moment)[5:19], ink.muted, 14),
            Cell(row.need, ink.muted if gone else ink.accent, 12),
            Cell(humanize(words_of(row)), ink.muted if gone else ink.loud, min(_HOW, width // 4)),
            Cell(humanize(row.text), ink.strong if selected else ink.muted if gone else ink.text),
        )
        return line(width, cells)

    def words(self, row: ToldTransition) -> str:
        return one_line(f"{row.at} {row.need} {words_of(row)} {row.target} {row.text}")

    def fields(self, row: ToldTransition) -> dict[str, str]:
        return {"kind": row.kind.value, "need": row.need, "by": row.by, "target": row.target}


class NotificationsScreen(LoadedSheet[ToldTransition, Sequence[ToldTransition]]):
    """The journal of what needs a person; enter shows one in full."""

    EMPTY = "Nothing needed you yet. What does is recorded here, with who answered it."

    def __init__(self, layout: Layout, now: float) -> None:
        super().__init__("Notifications", now, lambda: with_told(layout, newest(layout, _LIMIT)))

    def rows_view(self) -> TransitionRows:
        return TransitionRows(appearance_of(self.app))

    def _loaded(self, transitions: Sequence[ToldTransition]) -> None:
        fill(self, transitions, "Notifications", words.plural(len(transitions), "transition"))

    def opened(self, row: ToldTransition) -> None:
        facts: list[Fact] = [
            ("when", times.dated(row.moment, self._now)),
            ("what", words_of(row)),
            ("need", row.need),
            ("about", row.target or "–"),
            ("expires", times.dated(times.epoch(row.closes), self._now) if row.closes else "never"),
            ("told by", told_words(row.told) or "–"),
            ("id", row.id),
        ]
        self.app.push_screen(ReadingScreen(f"{row.need} {row.kind}", humanize(row.text), facts))


def show_notifications(app: App[Any]) -> None:
    """Open the journal of what needs a person; nothing in an application without a state."""
    if (host := host_of(app)) is not None:
        host.push_screen(NotificationsScreen(Layout(host.port.root), host.clock()))
