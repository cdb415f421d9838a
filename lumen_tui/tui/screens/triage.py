"""Triage: the open discoveries one after the other, each on its page beside the list; a verdict shows the next one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.kinds import priority_rank
from lumen_tui.model.records import DiscoveryRow, Node
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.triage import kind_of, returned
from lumen_tui.queries import judged
from lumen_tui.queries.judged import Judged
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import words
from lumen_tui.tui.host import Host
from lumen_tui.tui.kit.jobs import Loader, looked
from lumen_tui.tui.kit.keys import KeysLine, command_of, key_of, pair_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import ScrolledLines
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.reasons import Reasons
from lumen_tui.tui.kit.screen import Keys, retitle
from lumen_tui.tui.kit.sheets import ListFilter, ListSheet, Rows
from lumen_tui.tui.panes.base import place_of
from lumen_tui.tui.panes.discoveries import DiscoveryRows, Leaving, to_merge, why_undecided
from lumen_tui.tui.panes.sorting import Sorting, SortOrder
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.screen_commands import TRIAGE
from lumen_tui.tui.screens.triage_page import NOTHING_KNOWN, DiscoveryContext, TriageChoice, item_page
from lumen_tui.tui.screens.triage_verbs import VERBS, TriageHabits, TriageVerbs
from lumen_tui.tui.theme import Appearance

_REST = 0.15  # seconds without a move, after which what belongs to an item is looked for
_FIRST = 500  # discoveries among which those that come back stand first in their priority
_QUICK = 0.2  # seconds: where reading all decisions took longer, they are read once
_KIND = 5  # cells of the column of kinds
_LOOKED_AT = 50  # rows that decide whether there is one


def _by_priority(rows: Sequence[DiscoveryRow], now: float) -> Sequence[DiscoveryRow]:
    """Return the rows as they are; in each priority what came back stands first, unless there are very many."""
    if len(rows) > _FIRST:
        return rows
    return sorted(rows, key=lambda row: (priority_rank(row.node.priority), not returned(row.node, now)))


def _nothing_open(done: int, seconds: float) -> str:
    if not done:
        return "No open discoveries. Findings of workers appear here."
    return f"All decided: {words.plural(done, 'discovery', 'discoveries')} in {times.span(seconds)}."


class TriageRows(DiscoveryRows, Rows[DiscoveryRow]):
    """The rows of the pane; their ages count by the screen."""

    def __init__(self, screen: TriageScreen, look: Appearance) -> None:
        DiscoveryRows.__init__(self, screen)
        Rows.__init__(self, look, screen.now)


class Background:
    """What is found beside the items, in threads: what is like each, and all that was decided before."""

    def __init__(self, screen: TriageScreen, host: Host) -> None:
        self._screen, self._host = screen, host
        self.record = Judged()
        self._known: dict[str, DiscoveryContext] = {}  # by id, as it was when that was looked for
        self._fresh: set[str] = set()  # ids of those that are as memory is now
        self._took = 0.0  # seconds for reading the record
        self._job: asyncio.Task[None] | None = None
        self._reader: Loader[Judged] = Loader(screen, self._read, self._recorded, lambda _: None)

    def known(self, node_id: str) -> DiscoveryContext:
        """Return what is known of an item by now."""
        return self._known.get(node_id, NOTHING_KNOWN)

    def reload(self) -> None:
        """Memory has changed: what was found may not hold any more."""
        self._fresh.clear()
        self.look()
        if self._took < _QUICK:
            self._reader.load()

    def look(self) -> None:
        """Look for what belongs to the item, once the cursor rests on it."""
        row = self._screen.rows.selected
        if self._job is not None:
            self._job.cancel()
        if row is not None and row.node.id not in self._fresh:
            self._job = asyncio.create_task(self._find(row.node))

    async def _find(self, node: Node) -> None:
        await asyncio.sleep(_REST)
        port, decisions = self._host.port, self.record.decisions

        def find() -> DiscoveryContext:
            alike = port.similar(node.id)[1:]
            return DiscoveryContext(alike, judged.decided_alike(node.title, decisions), port.provenance(node.id))

        try:
            self._known[node.id] = await looked(self._screen, find, holds_keys=False)
        except (ActionError, StoreError):
            return  # a hint less; what is wrong with the folder is shown elsewhere
        self._fresh.add(node.id)
        self._screen.tick(self._host.clock())

    def _read(self) -> Judged:
        began = time.monotonic()
        record = judged.read(Layout(Path(self._host.room.snapshot.root)), self._host.clock())
        self._took = time.monotonic() - began
        return record

    def _recorded(self, record: Judged) -> None:
        self.record = record
        self._fresh.clear()
        self.look()
        self._screen.tick(self._host.clock())


class ItemView(ScrolledLines):
    """The page of the item under the cursor."""

    def __init__(self, screen: TriageScreen) -> None:
        super().__init__(self._draw)
        self._triage = screen

    def _draw(self, width: int, height: int) -> list[list[Segment]]:
        screen = self._triage
        row = screen.rows.selected if screen.is_mounted else None
        if row is None:
            return []
        known, record = screen.background.known(row.node.id), screen.background.record
        return item_page(row, known, self._choices(row), record, screen.now, width, height, screen.look)

    def _choices(self, row: DiscoveryRow) -> list[TriageChoice]:
        """Return what can be done with the item, with the answer that each key takes unless a digit says another."""
        screen, kind = self._triage, type(self._triage)
        like = screen.like(row)
        double = f"into the {like[1]} % one, after a look at both" if like else "the marked ones, after a look at them"
        offers = {
            **dict(screen.verbs.offers(screen.rows.targets())),
            "merge": double,
            "similar": "decide for all that are alike",
        }
        able = [command for action in offers if not screen.why_not(command := command_of(kind, action))]
        choices = [
            TriageChoice(key_of(screen, command.action), command.label, offers[command.action]) for command in able
        ]
        if not able:
            return choices
        urgency, word = pair_of(screen, "less_urgent", "more_urgent", "priority")
        others = screen.offer("retype", "triage_title", triage_title="edit the title")
        return [*choices, TriageChoice(urgency, word, "   ".join(f"{key} {label}" for key, label in others))]


class TriageScreen(ListSheet[None, DiscoveryRow]):
    """Answers nothing. Below 100 columns the list is the line of the item that is shown."""

    SCOPE = "triage"
    WHY = True
    REPEATS = frozenset({"triage.promote", "triage.archive", "triage.keep", "triage.merge", "triage.edit"})
    TWO_LINES = False
    kinds = -1

    def __init__(self, host: Host, reasons: Reasons, habits: TriageHabits, at: str = "") -> None:
        super().__init__("Triage")
        self._host, self._at, self._habits = host, at, habits
        self.snapshot: Snapshot = host.room.snapshot
        self.now = self._began = host.clock()
        self._decided_before = habits.decided
        self._page = ItemView(self)
        self._lanes = {unit.id: unit.lane for unit in self.snapshot.work}
        self._sorting: Sorting[DiscoveryRow] = Sorting(
            "priority",
            SortOrder("returned", lambda row: bool(returned(row.node, self.now))),
            SortOrder("age", lambda row: row.created, falling=False),
            SortOrder("type", lambda row: kind_of(row.node), falling=False),
        )
        self._shown: object = None
        self.background = Background(self, host)
        self.leaving: Leaving
        self.verbs: TriageVerbs
        self._reasons = reasons

    def rows_view(self) -> TriageRows:
        return TriageRows(self, self.look)

    @property
    def look(self) -> Appearance:
        """Colours and shapes to draw with."""
        return self._host.look

    def again(self, request: Request) -> None:
        self.verbs.again(request, self.rows.targets())
        self._caption()

    def body(self) -> ComposeResult:
        rows = LineList(self.rows_view(), empty=lambda: _nothing_open(_done(self), self.now - self._began), id="list")
        yield ListFilter(rows)
        with Horizontal(classes="mail"):
            with Vertical(classes="index"):
                yield rows
            yield self._page
        yield StatusLine()

    def keys(self) -> Keys:
        self._refusal = self._host.room.refusal
        if not self.is_mounted or self.rows.selected is None:
            return self.offer("undo", "back")
        return self.offer(*TRIAGE[:5], "mark", "undo", "triage_title", "filter", "sort", "why", "back")

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        if why := super().why_not(command):
            return why
        if command.action in TRIAGE and self.is_mounted:
            why = why_undecided(self)
            return why or ("" if command.action != "merge" or len(to_merge(self)) > 1 else "no duplicate is known")
        return ""

    def on_mount(self) -> None:
        self.leaving = Leaving(self.rows)
        self.verbs = TriageVerbs(self, self._host, self._reasons, self._habits, self)
        super().on_mount()
        self.show(self.snapshot)
        if self._at:
            self.rows.select_key(self._at)
        self.background.reload()

    # Facts down.

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot."""
        self.snapshot, self.now = snapshot, self._host.clock()
        revision = (snapshot.revisions.nodes, snapshot.revisions.problems)
        if revision == self._shown:
            return
        self._shown = revision
        self._lanes = {unit.id: unit.lane for unit in snapshot.work}
        self._fill()
        self.background.reload()

    def _fill(self) -> None:
        rows = self.snapshot.discoveries
        near = (rows[place].node for place in range(min(_LOOKED_AT, len(rows))))
        self.kinds = _KIND if any(kind_of(node) != node.type for node in near) else -1
        self.rows.set_rows(self._sorting.apply(rows) if self._sorting.name else _by_priority(rows, self.now))

    def tick(self, now: float) -> None:
        """Bring ages up to date."""
        self.now = now
        super().tick(now)
        self._page.redraw()
        self._caption()

    @on(LineList.Highlighted)
    def moved(self, event: LineList.Highlighted) -> None:
        """Follow the cursor: show the item."""
        event.stop()
        self._page.top = 0
        self._page.redraw()
        self._caption()
        self.background.look()

    def _caption(self) -> None:
        shapes, done = self.look.shapes, _done(self)
        count = len(self.snapshot.discoveries) - len(self.leaving.keys)
        parts = (
            f"{words.number(max(0, count))} open",
            f"{words.number(done)} done",
            times.span(self.now - self._began) if done else "",
        )
        heading = f" {shapes.sep} ".join(("Triage", *filter(None, parts)))
        order = f"by {self._sorting.name}" if self._sorting.name else ""
        aside = f" {shapes.sep} ".join(part for part in (place_of(self.rows, "open"), order) if part)
        retitle(self, heading, aside)
        self.query_one(KeysLine).show(self.keys())

    def lane(self, node: Node) -> str:
        """Return the lane of the work unit that a discovery was noticed on; empty where there is none."""
        return self._lanes.get(node.wu_id, "")

    def like(self, row: DiscoveryRow) -> tuple[str, int] | None:
        """Return the near double of a row (id and likeness in per cent), as far as one is known."""
        alike = self.background.known(row.node.id).alike
        near = next((other for other in alike if other.sure and other.node_id not in self.leaving.keys), None)
        return row.like or ((near.node_id, near.score) if near else None)

    # Requests up.

    def action_judge(self, verb: str) -> None:
        """Carry out a verdict on the marked discoveries, or on the one that is shown."""
        command = command_of(type(self), "triage_title" if verb == "rename" else verb)
        if why := self.why_not(command):
            self.say(f"{command.label}: {why}", bad=True)
            return
        VERBS[verb](self.verbs, self.rows.targets())
        self._caption()

    def action_undo(self) -> None:
        """Take the last decision back, and go to it."""
        if refusal := self._host.room.refusal:
            self.say(f"undo: {refusal}", bad=True)
            return
        moves = self.rows.moves

        def undone(done: Done) -> None:
            node_ids = self._habits.made.pop(done.target, ())
            self._habits.decided = max(self._decided_before, self._habits.decided - len(node_ids))
            self.say(done.summary)
            self.rows.awaited.expect(next(iter(node_ids), done.target), moves)

        self._host.submit(Undo(), undone, lambda why: self.say(why, bad=True))

    def action_sort(self) -> None:
        self.say(f"Sorted by {self._sorting.next()}.")
        self._fill()
        self._caption()

    def action_other_half(self) -> None:
        (self._page if self.rows.has_focus else self.rows).focus()


def _done(screen: TriageScreen) -> int:
    """Return how many discoveries were decided on this screen."""
    return screen._habits.decided - screen._decided_before
