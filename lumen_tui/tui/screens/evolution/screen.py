"""What was learnt, what it changed and why; accept, reject, edit, and back to an earlier version."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from lumen_tui.engine.port import Port
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.queries.evolution_page import EvolutionPage, read_page
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import version_diff
from lumen_tui.tui import words
from lumen_tui.tui.kit.diffs import coloured
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.loaded_sheet import LoadedSheet
from lumen_tui.tui.kit.parts import Facts
from lumen_tui.tui.kit.reader import ReadingScreen
from lumen_tui.tui.kit.rows_sheet import beside, look_of, show_why
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.screens.evolution.verbs import EvolutionVerbs
from lumen_tui.tui.screens.evolution.view import (
    EvolutionRow,
    EvolutionRows,
    change_of,
    facts_of,
    observation_rows,
    rejection_rows,
    version_rows,
)

_PARTS = {"versions": version_rows, "turned away": rejection_rows}
_EMPTY = {
    "versions": "No version yet: one comes with everything that is learnt. h goes back.",
    "turned away": "Nothing was turned away yet: what the gate refuses comes here, with the reason. t goes back.",
}


class EvolutionScreen(LoadedSheet[EvolutionRow, EvolutionPage]):
    """The list, what the selected one says and comes from, and one line on what the last action did."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "do('accept')", show=False),
        Binding("r", "do('reject')", show=False),
        Binding("e", "do('edit')", show=False),
        Binding("b", "do('restore')", show=False),
        Binding("u", "do('undo')", show=False),
        Binding("h", "turn('versions')", show=False),
        Binding("t", "turn('turned away')", show=False),
    ]
    EMPTY = (
        "Nothing was learnt yet: that comes when sessions end. `lumen-tui evolve --all` reads Claude Code's as well."
    )

    def __init__(self, port: Port, snapshot: Snapshot, refusal: str = "") -> None:
        super().__init__("Evolution", snapshot.taken, lambda: read_page(self._layout))
        self._port, self._refusal = port, refusal
        self._layout = Layout(Path(snapshot.root))
        self._page = EvolutionPage()
        self._part = ""  # versions | turned away; else what was learnt
        self._verbs = EvolutionVerbs(self, port)

    def rows_view(self) -> EvolutionRows:
        return EvolutionRows(look_of(self.app), self._now)

    def body(self) -> ComposeResult:
        yield from beside(list(super().body()))

    def keys(self) -> Keys:
        parts, rest = (("h", "versions"), ("t", "turned away")), (("w", "why"), ("/", "filter"), ("esc", "back"))
        if self._refusal:
            return (*parts, *rest)
        return (("a", "accept"), ("r", "reject"), ("e", "edit"), *parts, ("b", "back to one"), ("u", "undo"), *rest)

    def _loaded(self, page: EvolutionPage) -> None:
        self._page = page
        rows = _PARTS.get(self._part, observation_rows)(page)
        waiting = sum(1 for one in page.observations if one.status == "proposed")
        aside = f"{waiting} wait · {words.plural(page.rejected_count, 'rejection')} · version {len(page.versions)}"
        self.rows.empty = _EMPTY.get(self._part, self.EMPTY)
        self.fill(rows, f"Evolution: {self._part}" if self._part else "Evolution", aside)
        self.on_line_list_highlighted(None)

    @property
    def page(self) -> EvolutionPage:
        """What is shown."""
        return self._page

    def on_line_list_highlighted(self, _event: LineList.Highlighted | None) -> None:
        row = self.rows.selected
        self.show_facts()
        title, text = change_of(row, self._page) if row else ("", "")
        self.query_one(".detail").border_title = Content(title) if title else None
        self._show_change(text)
        if row is not None and row.version is not None:
            self.run_worker(self._load_change(row), group="diff", exclusive=True)

    def show_facts(self) -> None:
        row = self.rows.selected
        self.query_one(Facts).show(facts_of(row, self._page, self._now) if row else ())

    def _show_change(self, text: str) -> None:
        prompt = self.query_one(".prompt", Static)
        prompt.update(coloured(text))
        prompt.display = bool(text)

    async def _load_change(self, row: EvolutionRow) -> None:
        """What a version changed against the one before it."""
        number = row.version.version if row.version else 0
        try:
            text = await looked(self, version_diff.between, self._layout, number - 1, number)
        except (LookupError, OSError, files.StoreError) as error:
            text = f"! {error}"
        if self.rows.selected is row:
            self.query_one(".detail").border_title = Content(f"what version {number} changed")
            self._show_change(text)

    def opened(self, row: EvolutionRow) -> None:
        if row.observation is not None:
            one = row.observation
            facts = facts_of(row, self._page, self._now)[1:]
            self.app.push_screen(ReadingScreen(str(one.kind), one.text, facts))
        else:
            self.query_one(".detail").focus()

    def action_why(self) -> None:
        row = self.chosen()
        if row is not None and row.observation is None:
            self.say("What led to it is known only of what was learnt.")
        elif row is not None:
            show_why(self.app, row.key)

    def action_turn(self, part: str) -> None:
        """To another part, and with the same key back to what was learnt."""
        self._part = "" if self._part == part else part
        self._loaded(self._page)

    # What the keys do. Each is a job of its own, because some ask something first.

    def action_do(self, name: str) -> None:
        if self._refusal:
            self.say(self._refusal, bad=True)
            return
        job: Callable[[], Coroutine[Any, Any, None]] = getattr(self._verbs, name)
        self.say("")
        self.run_worker(job(), group="ask", exclusive=True)
