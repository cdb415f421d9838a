"""The memory blocks: what each says, who wrote it when, every step before, and the way back to any of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.blocks import LIMIT, BadEdit, Block, Fields, Step, check_fields, description
from lumen_tui.model.ids import BadId, check_name
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.blocks import LockBlock, NewBlock, RestoreBlock, RethinkBlock, UnlockBlock
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.pages import BlocksPage, read_blocks_page, step_diff, text_after
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import editor, jobs
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.keys import key_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, edge_title, line
from lumen_tui.tui.kit.parts import Fact, Facts, coloured
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import FILTERING, LoadedSheet, ReadingScreen, Rows, beside, chosen_row, fill
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.words import sentence


class BlockForm(FormScreen[NewBlock]):
    """Answers with the request for a block. `taken` gives the names that blocks have by then."""

    DEFAULT_CLASSES = "long"
    SEND = "make"

    def __init__(self, names_in_use: Callable[[], Collection[str]]) -> None:
        super().__init__("New memory block")
        self._taken = names_in_use

    def rows(self) -> Iterable[Widget]:
        yield row("name", TextField(placeholder="such as projects", id="name"))
        yield row("for", TextField(placeholder="what it is for, in a line", id="description"))
        yield row("limit", TextField(placeholder=f"characters; {LIMIT:,} by default", id="limit"))
        yield row("text", Prose(placeholder="may be empty; e edits it later", sends=True, id="text"))

    def read(self) -> NewBlock:
        name = self.query_one("#name", TextField).text
        try:
            check_name(name, "name")
        except BadId as error:
            raise Invalid(f"The {error}.", "name") from error
        if name in self._taken():
            raise Invalid(f"There is a block {name} already: e edits it.", "name")
        limit, text = self._limit(), self.query_one("#text", Prose).typed
        description = self.query_one("#description", TextField).text
        for field, content in (("description", ""), ("text", text)):
            try:
                check_fields(name, content, Fields(description=description, limit=limit or LIMIT))
            except BadEdit as error:
                raise Invalid(f"{sentence(str(error))}.", field) from error
        return NewBlock(name=name, description=description, limit=limit, text=text)

    def _limit(self) -> int:
        digits = self.query_one("#limit", TextField).text.replace(",", "").replace(" ", "")
        if not digits:
            return 0
        try:
            limit = int(digits)
            check_fields("", "", Fields(limit=limit))
        except BadEdit as error:
            raise Invalid(f"{sentence(str(error))}.", "limit") from error
        except ValueError as error:
            raise Invalid("A limit is a number of characters.", "limit") from error
        return limit


class BlockRow(NamedTuple):
    """A block, or with `past` one step of its history."""

    key: str
    block: Block
    past: Step | None = None


def block_rows(page: BlocksPage) -> list[BlockRow]:
    """Return the standard blocks first."""
    return [BlockRow(block.name, block) for block in page.blocks]


def step_rows(page: BlocksPage, name: str) -> list[BlockRow]:
    """Return the history of one block, newest first."""
    block = next((one for one in page.blocks if one.name == name), Block(name))
    return [BlockRow(f"{name}:{step.step}", block, step) for step in reversed(page.steps.get(name, ()))]


def state_of(block: Block) -> tuple[str, bool]:
    """Return what holds a writer up or is wrong, in a word or two, and whether it is bad news."""
    if block.problem:
        return "unreadable", True
    if block.over:
        return f"{block.over:,} over", True
    if block.doubtful:
        return block.trust, True
    return ("locked" if block.fields.locked else "read-only" if block.fields.read_only else ""), False


class BlockRows(Rows[BlockRow]):
    """Name, size of limit, state, author, age; of a step its number, how, author, age and note."""

    def key(self, row: BlockRow) -> str:
        return row.key

    def line(self, row: BlockRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        style = ink.strong if selected else ink.text
        if row.past is not None:
            return self._step(row.past, width, selected)
        block, (state, bad) = row.block, state_of(row.block)
        age = words.age(self.now - times.epoch(block.at)) if block.at else "empty"
        size = f"{words.kilo(block.chars)}/{words.kilo(block.fields.limit)}"
        return line(
            width,
            (
                Cell(block.name, style if block.text else ink.muted),
                *((Cell(state, ink.bad if bad else ink.muted, 11),) if state or width >= 44 else ()),
                *((Cell(size, ink.muted, 11, right=True),) if width >= 28 else ()),
                *((Cell(block.by, ink.muted, 10),) if width >= 50 else ()),
                *((Cell(age, ink.muted, 6, right=True),) if width >= 22 else ()),
            ),
        )

    def _step(self, step: Step, width: int, selected: bool) -> list[Segment]:
        ink = self.look.ink
        return line(
            width,
            (
                Cell(str(step.step), ink.strong if selected else ink.text, 5, right=True),
                Cell(step.how, ink.strong if selected else ink.text, 8),
                Cell(step.by, ink.text),
                *((Cell(step.trust, ink.muted, 10),) if width >= 48 else ()),
                Cell(f"{words.kilo(step.chars)}", ink.muted, 6, right=True),
                Cell(words.age(self.now - times.epoch(step.at)), ink.muted, 6, right=True),
            ),
        )

    def words(self, row: BlockRow) -> str:
        if row.past is not None:
            return f"{row.past.how} {row.past.by} {row.past.trust} {row.past.note} {row.past.source}"
        return f"{row.block.name} {row.block.text} {row.block.by}"

    def fields(self, row: BlockRow) -> dict[str, str]:
        of = row.past or row.block
        return {"by": of.by, "trust": of.trust, "how": of.how, "name": row.block.name}


def facts_of(row: BlockRow, now: float) -> list[Fact]:
    """Beside the list."""
    of = row.past or row.block
    fields = row.past.fields if row.past else row.block.fields
    facts: list[Fact] = [
        ("size", f"{of.chars:,} of {fields.limit:,} characters"),
        ("written", times.dated(times.epoch(of.at), now) if of.at else "never: e writes it"),
    ]
    facts += [
        (name, value)
        for name, value in (
            ("by", of.by),
            ("trust", of.trust if of.at else ""),
            ("source", of.source),
            ("note", of.note),
            ("step", str(of.step) if of.step else ""),
            ("locked", f"by {fields.locked}" if fields.locked else ""),
            ("agents", "may not write it" if fields.read_only else ""),
            ("problem", row.block.problem),
            ("for", description(row.block.name, fields)),
        )
        if value
    ]
    return facts


_BESIDE = 6000  # characters of a text that stand beside the list; enter shows all of it


class BlocksScreen(LoadedSheet[BlockRow, BlocksPage]):
    """The list, and beside it the selected block's text, or what the selected step changed."""

    SCOPE = "blocks"
    EMPTY = "This block has no history yet."

    def __init__(self, port: Port, snapshot: Snapshot, refusal: str = "") -> None:
        read = partial(read_blocks_page, Layout(Path(snapshot.root)), write=not refusal)
        super().__init__("Memory blocks", snapshot.taken, lambda: read(self._now))
        self._refusal = refusal
        self._layout = Layout(Path(snapshot.root))
        self.page = BlocksPage()
        self._of = ""  # the block whose history is shown
        self._port = port
        self.unsaved: dict[str, str] = {}  # texts that were refused: the next `e` goes on with them

    def rows_view(self) -> BlockRows:
        return BlockRows(appearance_of(self.app), self._now)

    def body(self) -> ComposeResult:
        yield from beside(list(super().body()))

    def keys(self) -> Keys:
        reads = self.offer("open", "blocks_history", open="read")
        writes = self.offer("blocks_edit", "blocks_lock", "blocks_restore", "blocks_new")
        return (*reads, *writes, *(self.offer("undo")), *self.offer("filter", "back"))

    def _loaded(self, page: BlocksPage) -> None:
        self.page = page
        heading = f"Memory blocks: history of {self._of}" if self._of else "Memory blocks"
        total = sum(block.chars for block in page.blocks)
        fill(
            self,
            step_rows(page, self._of) if self._of else block_rows(page),
            heading,
            f"{words.plural(len(page.blocks), 'block')} · {words.number(total)} characters",
        )
        self.on_line_list_highlighted(None)

    def on_line_list_highlighted(self, _event: LineList.Highlighted | None) -> None:
        row = self.rows.selected
        self.show_facts()
        detail = self.query_one(".detail")
        detail.border_title = edge_title((f"step {row.past.step} changed" if row.past else row.key) if row else "")
        self._show_text(safe(row.block.text[:_BESIDE]) if row and not row.past else "", diff=False)
        if row is not None and row.past is not None:
            self.run_worker(self._load_diff(row), group="diff")

    def show_facts(self) -> None:
        row = self.rows.selected
        self.query_one(Facts).show(facts_of(row, self._now) if row else ())

    def _show_text(self, text: str, *, diff: bool) -> None:
        prompt = self.query_one(".prompt", Static)
        prompt.update(coloured(text, appearance_of(self.app)) if diff else Content(text))
        prompt.display = bool(text)

    async def _load_diff(self, row: BlockRow) -> None:
        number = row.past.step if row.past else 0
        try:
            steps = self.page.steps.get(row.block.name, ())
            text = await looked(self, step_diff, self._layout, steps, number)
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
                text = await looked(self, text_after, self._layout, row.past)
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
        if self._of and not self.has_class(FILTERING):
            self.action_history()
            return
        super().action_leave()

    def action_do(self, name: str) -> None:
        """Carry out a verb on the selected block."""
        if row := chosen_row(self):
            self._begin(partial(_ON_A_BLOCK[name], self, row))

    def action_alone(self, name: str) -> None:
        """Carry out a verb that needs no block, so that it is there before the list is."""
        self._begin(partial(_ALONE[name], self))

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._refusal:
            self.say(self._refusal, bad=True)
            return
        self.say("")
        self.run_worker(work(), group="ask")

    async def submit(self, request: Request) -> bool:
        done = await jobs.submit(self, self._port, request)
        self.loader.load()
        return done is not None


async def _edit(screen: BlocksScreen, row: BlockRow) -> None:
    name = row.block.name
    if locked := row.block.fields.locked:
        unlock, edit = key_of(screen, "blocks_lock"), key_of(screen, "blocks_edit")
        screen.say(f"{name} is locked by {one_line(locked, 60)}: {unlock} unlocks it, then {edit} edits it.", bad=True)
        return
    before = screen.unsaved.get(name, row.block.text)
    try:
        text = editor.edit(screen.app, before + "\n")
    except editor.NoEditor as error:
        screen.say(str(error), bad=True)
        return
    text = before if text is None else text.removesuffix("\n")
    if text == row.block.text:
        screen.unsaved.pop(name, None)
        screen.say("Nothing was changed.")
        return
    screen.unsaved[name] = text
    if await screen.submit(RethinkBlock(name=name, text=text, base=row.block.step)):
        del screen.unsaved[name]


async def _lock(screen: BlocksScreen, row: BlockRow) -> None:
    kind = UnlockBlock if row.block.fields.locked else LockBlock
    await screen.submit(kind(name=row.block.name))


async def _restore(screen: BlocksScreen, row: BlockRow) -> None:
    if row.past is None:
        history = key_of(screen, "blocks_history")
        screen.say(f"Go to a step first: {history} shows the history of the block.", bad=True)
        return
    await screen.submit(RestoreBlock(name=row.block.name, step=row.past.step))


async def _new(screen: BlocksScreen) -> None:
    form = BlockForm(lambda: {block.name for block in screen.page.blocks})
    if request := await screen.app.push_screen_wait(form):
        await screen.submit(request)


async def _undo(screen: BlocksScreen) -> None:
    await screen.submit(Undo())


# What the keys do. Each is a job of its own, because it writes.
_ON_A_BLOCK: dict[str, Callable[[BlocksScreen, BlockRow], Awaitable[None]]] = {
    "edit": _edit,
    "lock": _lock,
    "restore": _restore,
}
_ALONE: dict[str, Callable[[BlocksScreen], Awaitable[None]]] = {"new": _new, "undo": _undo}
