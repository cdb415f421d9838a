"""The chain around one thing: causes above it, effects below, with tokens and cost; enter goes on from there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.segment import Segment

from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.lineage import Hop, Trace, TreeRow, cost, rows, words
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import words as say_words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.lines import Cell, line, spread
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, Rows, fill

_DEEPEST = 8  # levels that are indented further
_BAD = frozenset({"failed", "lost", "denied"})
_ENDS = {
    "": "It is gone.",
    "call": "A call has no page of its own: open its task.",
    "session": "A session that belongs to no task leads nowhere.",
}  # of what kind one cannot go on from, and why


Named = tuple[str, TreeRow]  # a line, and what the cursor finds it by when others come


def named(trace: Trace) -> Iterator[Named]:
    """Yield the lines by what they are about; one thing may stand there twice."""
    seen: Counter[str] = Counter()
    for row in rows(trace):
        seen[row.hop.id] += 1
        yield f"{row.hop.id} {seen[row.hop.id]}", row


class WhyRows(Rows[Named]):
    """How it is related, what it is, what it cost."""

    def key(self, row: Named) -> str:
        return row[0]

    def line(self, row: Named, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, (side, depth, hop) = self.look.ink, row[1]
        indent = "  " * (min(depth, _DEEPEST) - 1) if depth else ""
        how = f"{indent}{hop.link}" if side != "here" else "this"
        text = ink.strong if selected or side == "here" else ink.muted if hop.again or not hop.kind else ink.text
        wide = width >= 100
        cells = (
            Cell(how, ink.accent if side == "here" else ink.muted, (36 if wide else 24)),
            Cell(hop.kind or "gone", ink.bad if hop.status in _BAD else ink.accent, 10, gap=1),
            Cell(_title(hop), text, gap=1),
            Cell(cost(hop), ink.muted, 24 if wide and hop.tokens else -1, right=True),
            Cell(self._age(hop), ink.muted, 6, right=True, gap=1),
        )
        return line(width, cells)

    def _age(self, hop: Hop) -> str:
        at = times.epoch(hop.at)
        return say_words.age(self.now - at) if at else ""

    def more(self, row: Named, width: int) -> list[Segment]:
        hop = row[1].hop
        sep = f" {self.look.shapes.sep} "
        more = f"and {hop.more} more" if hop.more else ""
        again = "shown in full elsewhere here" if hop.again else ""
        parts = (ids.short(hop.id), hop.status, f"by {hop.by}" if hop.by else "", cost(hop), again, more)
        return spread(width, [(f"  {sep.join(part for part in parts if part)}", self.look.ink.muted)], [])

    def words(self, row: Named) -> str:
        return words(row[1].hop)

    def fields(self, row: Named) -> dict[str, str]:
        hop = row[1].hop
        return {"kind": hop.kind, "status": hop.status, "by": hop.by, "id": hop.id, "side": row[1].side}


def _title(hop: Hop) -> str:
    status = f"{hop.status}: " if hop.status in _BAD else ""
    return f"{status}{humanize(hop.title) or ids.short(hop.id)}"


class WhyScreen(LoadedSheet[Named, Trace]):
    """Starts at `name`; enter makes the selected thing the middle, backspace goes back to the one before."""

    SCOPE = "lineage"
    READING = "Looking through the journals …"
    TWO_LINES = True

    def __init__(self, port: Port, name: str, now: float) -> None:
        super().__init__("Why", now, lambda: port.why(self._names[-1]), self._stay)
        self._names = [name]
        self._trace: Trace | None = None
        self._shown = ""  # what the cursor was put on already

    def rows_view(self) -> WhyRows:
        return WhyRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        return self.offer("open", "lineage_back", "copy", "filter", "back", open="follow")

    def _loaded(self, trace: Trace) -> None:
        if trace == self._trace:
            return
        self._trace = trace
        lines = list(named(trace))
        tokens, usd = trace.spent
        spent = f"{tokens:,} tokens, ${usd:.3f} together" if tokens or usd else ""
        node = trace.node
        fill(self, lines, one_line(f"Trace of {node.kind} {node.title or ids.short(node.id)}", 80), spent)
        if self._shown != self._names[-1]:
            self._shown = self._names[-1]
            self.rows.select_key(next((key for key, row in lines if row.side == "here"), ""))
        if not trace.up and not trace.down:
            self.say("No cause and no effect of it are recorded yet.")

    def _stay(self) -> None:
        """Where the next one cannot be read, the one before stays the middle."""
        if len(self._names) > 1:
            self._names.pop()

    def opened(self, row: Named) -> None:
        hop = row[1].hop
        if row[1].side == "here":
            return
        if hop.kind in _ENDS:
            self.say(_ENDS[hop.kind])
            return
        self.say("")
        self._names.append(hop.id)
        self.loader.load()

    def action_back(self) -> None:
        if len(self._names) == 1:
            self.say("This is where you began.")
            return
        self._names.pop()
        self.say("")
        self.loader.load()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard("\n".join(self._text()))
        self.say("The chain is in the clipboard.")

    def _text(self) -> Iterator[str]:
        from lumen_tui.model.lineage import lines

        yield from lines(self._trace) if self._trace else ()
