"""Memory blocks: what each says, who wrote it when, every step before, and back to any of them."""

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
from lumen_tui.model.text import safe
from lumen_tui.queries.blocks_page import BlocksPage, diff_of, read_page
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import block_files
from lumen_tui.tui import words
from lumen_tui.tui.kit.diffs import coloured
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.loaded_sheet import LoadedSheet
from lumen_tui.tui.kit.parts import Facts
from lumen_tui.tui.kit.reader import ReadingScreen
from lumen_tui.tui.kit.rows_sheet import beside, look_of
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.screens.blocks.verbs import BlocksVerbs
from lumen_tui.tui.screens.blocks.view import BlockRow, BlockRows, block_rows, facts_of, step_rows

_BESIDE = 6000  # characters of a text that stand beside the list; enter shows all of it


class BlocksScreen(LoadedSheet[BlockRow, BlocksPage]):
    """The list, and beside it the selected block's text, or what the selected step changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "do('edit')", show=False),
        Binding("l", "do('lock')", show=False),
        Binding("b", "do('restore')", show=False),
        Binding("u", "alone('undo')", show=False),
        Binding("h", "history", show=False),
        Binding("a", "alone('new')", show=False),
    ]
    EMPTY = "This block has no history yet."

    def __init__(self, port: Port, snapshot: Snapshot, refusal: str = "") -> None:
        super().__init__("Memory blocks", snapshot.taken, self._read)
        self._refusal = refusal
        self._layout = Layout(Path(snapshot.root))
        self.page = BlocksPage()
        self._of = ""  # the block whose history is shown
        self._verbs = BlocksVerbs(self, port)

    def _read(self) -> BlocksPage:
        return read_page(self._layout, self._now, write=not self._refusal)

    def rows_view(self) -> BlockRows:
        return BlockRows(look_of(self.app), self._now)

    def body(self) -> ComposeResult:
        yield from beside(list(super().body()))

    def keys(self) -> Keys:
        reads, rest = (("enter", "read"), ("h", "history")), (("/", "filter"), ("esc", "back"))
        if self._refusal:
            return (*reads, *rest)
        return (*reads, ("e", "edit"), ("l", "lock"), ("b", "put back"), ("a", "new"), ("u", "undo"), *rest)

    def _loaded(self, page: BlocksPage) -> None:
        self.page = page
        heading = f"Memory blocks: history of {self._of}" if self._of else "Memory blocks"
        total = sum(block.chars for block in page.blocks)
        self.fill(
            step_rows(page, self._of) if self._of else block_rows(page), heading,
            f"{words.plural(len(page.blocks), 'block')} · {words.number(total)} characters",
        )  # fmt: skip
        self.on_line_list_highlighted(None)

    def on_line_list_highlighted(self, _event: LineList.Highlighted | None) -> None:
        row = self.rows.selected
        self.show_facts()
        detail = self.query_one(".detail")
        detail.border_title = Content((f"step {row.past.step} changed" if row.past else row.key) if row else " ")
        self._show_text(safe(row.block.text[:_BESIDE]) if row and not row.past else "", diff=False)
        if row is not None and row.past is not None:
            self.run_worker(self._load_diff(row), group="diff")

    def show_facts(self) -> None:
        row = self.rows.selected
        self.query_one(Facts).show(facts_of(row, self._now) if row else ())

    def _show_text(self, text: str, *, diff: bool) -> None:
        prompt = self.query_one(".prompt", Static)
        prompt.update(coloured(text) if diff else Content(text))
        prompt.display = bool(text)

    async def _load_diff(self, row: BlockRow) -> None:
        number = row.past.step if row.past else 0
        try:
            steps = self.page.steps.get(row.block.name, ())
            text = await looked(self, diff_of, self._layout, steps, number)
        except (OSError, files.StoreError) as error:
            text = f"! {error}"
        if self.rows.selected is row:
            self._show_text(text or "(the text stayed the same)", diff=True)

    def opened(self, row: BlockRow) -> None:
        self.run_worker(self._open(row), group="open")

    async def _open(self, row: BlockRow) -> None:
        heading, text = row.key, row.block.text
        if row.past is not None:
            heading = f"{row.block.name}, step {row.past.step}"
            try:
                text = await looked(self, block_files.kept_text, self._layout, row.past)
            except files.StoreError as error:
                self.say(str(error), bad=True)
                return
        self.app.push_screen(ReadingScreen(heading, text, facts_of(row, self._now)))

    def action_history(self) -> None:
        """Between the blocks and the history of the selected one."""
        row = self.rows.selected
        before, self._of = self._of, "" if self._of or row is None else row.block.name
        self._loaded(self.page)
        steps = self.page.steps.get(self._of, ())
        self.rows.select_key(f"{self._of}:{steps[-1].step}" if steps else before)

    def action_leave(self) -> None:
        if self._of and not self.has_class("-filtering"):
            self.action_history()
            return
        super().action_leave()

    def action_do(self, name: str) -> None:
        """A verb on the selected block."""
        if row := self.chosen():
            job: Callable[[BlockRow], Coroutine[Any, Any, None]] = getattr(self._verbs, name)
            self._begin(job(row))

    def action_alone(self, name: str) -> None:
        """A verb that needs no block, so that it is there before the list is."""
        self._begin(getattr(self._verbs, name)())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        if self._refusal:
            work.close()
            self.say(self._refusal, bad=True)
            return
        self.say("")
        self.run_worker(work, group="ask")
