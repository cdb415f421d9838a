"""The budget: today's caps, the pace and where it leads, who spent what, and more room where it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from lumen_tui.engine.port import Port
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.spendreport import SpendReport
from lumen_tui.model.text import one_line
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.kit.lines import ScrolledLines
from lumen_tui.tui.kit.parts import Said
from lumen_tui.tui.kit.rows_sheet import look_of
from lumen_tui.tui.kit.screen import DetailScreen, Keys
from lumen_tui.tui.screens.budget.form import RaiseForm
from lumen_tui.tui.screens.budget.view import page

_TITLES = 64  # tasks; older ones are read from the disk


class BudgetScreen(DetailScreen[None]):
    """One page, read anew whenever something changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "raise", show=False),
        Binding("u", "undo", show=False),
        Binding("w", "spent", show=False),
    ]

    def __init__(self, port: Port, snapshot: Snapshot, read: Callable[[], SpendReport], refusal: str = "") -> None:
        super().__init__("Budget")
        self._port, self._now, self._refusal = port, snapshot.taken, refusal
        self._roles = tuple(snapshot.config.budget.roles)
        self._titles = _titles(snapshot)
        self._report: SpendReport | None = None
        self._lines = ScrolledLines(self._page)
        self._loader: Loader[SpendReport] = Loader(self, read, self._loaded)

    def body(self) -> ComposeResult:
        yield self._lines
        yield Said()

    def keys(self) -> Keys:
        acts = () if self._refusal else (("r", "raise for today"), ("u", "undo"))
        return (*acts, ("w", "its tasks, and why"), ("j k", "move"), ("esc", "back"))

    def on_mount(self) -> None:
        self._lines.focus()
        self._loader.load()

    def show(self, snapshot: Snapshot) -> None:
        """Something changed: read the ledger anew."""
        self._now, self._titles = snapshot.taken, _titles(snapshot)
        self._loader.load()

    def tick(self, now: float) -> None:
        self._now = now
        self._lines.redraw()

    def _loaded(self, found: SpendReport) -> None:
        self._report = found
        self._lines.redraw()
        self.retitle("Budget", found.day)

    def _page(self, width: int, height: int) -> list[list[Segment]]:
        return page(self._report, self._now, width, look_of(self.app), self._titles) if self._report else []

    def action_raise(self) -> None:
        if self._refusal:
            self.say(f"raise: {self._refusal}", bad=True)
            return
        self.app.push_screen(RaiseForm(self._roles, self._report.full if self._report else ""), self._raise)

    def _raise(self, arguments: dict[str, Any] | None) -> None:
        if arguments:
            self.run_worker(self._submit("budget.raise", **arguments), group="raise")

    def action_spent(self) -> None:
        """The tasks of the page as a list: what caused each of them is asked there."""
        from lumen_tui.tui.screens.budget.spent_screen import SpentScreen  # only where it is asked for

        shares = self._report.tasks if self._report else ()
        self.app.push_screen(SpentScreen(self._port, shares, self._titles, self._refusal))

    def action_undo(self) -> None:
        if self._refusal:
            self.say(f"undo: {self._refusal}", bad=True)
            return
        self.run_worker(self._submit("undo"), group="raise")

    async def _submit(self, verb: str, **arguments: Any) -> None:
        if await jobs.submit(self, self._port, verb, **arguments):
            self._loader.load()


def _titles(snapshot: Snapshot) -> dict[str, str]:
    """What the newest tasks are about, by id."""
    return {view.id: one_line(view.spec.objective, 100) for view in snapshot.tasks[:_TITLES]}
