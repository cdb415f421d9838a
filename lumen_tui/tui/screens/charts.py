"""Charts over a chosen span: loops, spend, tokens, what expires, how roles do, how long tasks have waited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult

from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.queries.chart_data import SPANS, ChartData, read_charts
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.kit.keys import KeysLine
from lumen_tui.tui.kit.lines import ScrolledLines, fit, spread
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.screen import DetailScreen, Keys, retitle
from lumen_tui.tui.panes.charts import Bars, Piece, interval_line, length_line
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.theme import Appearance

_BESIDE = 100  # cells from which two charts stand side by side
_GAP = 3
_LOWEST, _HIGHEST = 7, 14  # lines of one chart, with its two lines of words
_AGAIN = 15.0  # seconds after which what changed is read again
_NAME = 18  # cells of a role's name, and of a task's age


class Chart(NamedTuple):
    """One chart: what it shows, what it amounts to, from where, and how it is drawn on so many cells and lines."""

    title: str
    sum: str
    says: str
    draw: Callable[[int, int, Appearance], list[list[Piece]]]
    empty: str = ""  # the sentence in its place where there is nothing to draw


def charts_of(data: ChartData) -> Iterator[Chart]:
    """Yield all charts of a span: what was, what will expire, and what is now."""
    yield from _past_charts(data)
    yield _decay_chart(data)
    yield from _current_charts(data)


def _past_charts(data: ChartData) -> Iterator[Chart]:
    span, loops = data.span, data.loops
    ago, each = (f"{span.name} ago", span.bin_name, "now"), f"each {span.bin_name}"
    failed = f", {loops.failures} failed" if loops.failures else ""
    count = f"{words.plural(loops.count, 'loop')}{failed}, median {times.span(loops.typical)}"
    yield Chart(
        "Loops",
        f"more than {count}" if loops.cut else count,
        f"median duration {each} · loops/packets.jsonl",
        Bars(loops.seconds, times.span(max(loops.seconds)), ago, loops.failed).lines,
        "" if loops.count else "No loop ended in this span.",
    )
    usd, tokens = sum(data.usd), sum(data.tokens)
    yield Chart(
        "Spend",
        words.money(usd),
        f"dollars, {each} · spend.jsonl",
        Bars(data.usd, words.money(max(data.usd)), ago).lines,
        "" if usd else "No money was spent in this span.",
    )
    yield Chart(
        "Tokens",
        words.kilo(int(tokens)),
        f"tokens as caps count them, {each} · spend.jsonl",
        Bars(data.tokens, words.kilo(int(max(data.tokens))), ago).lines,
        "" if tokens else "No tokens were used in this span.",
    )


def _decay_chart(data: ChartData) -> Chart:
    span, count = data.span, sum(data.expiring)
    return Chart(
        "Decay",
        words.plural(count, "memory expires", "memories expire"),
        f"memories that expire each {span.bin_name} · memory.jsonl",
        Bars(data.expiring, words.kilo(max(data.expiring)), ("now", span.bin_name, f"in {span.name}")).lines,
        "" if count else "Nothing expires in this span.",
    )


def _current_charts(data: ChartData) -> Iterator[Chart]:
    yield Chart(
        "Roles",
        words.plural(len(data.roles), "role"),
        "share done with its 95 % interval · tasks/archive",
        lambda width, height, look: _roles(data, width, height, look),
        "" if data.roles else "No task has ended yet.",
    )
    longest = f", the longest {times.span(data.queue[0].seconds)}" if data.queue else ""
    yield Chart(
        "Queue",
        f"{data.queued} queued{longest}",
        "how long each queued task has waited · tasks/",
        lambda width, height, look: _queue(data, width, height, look),
        "" if data.queue else "No task is queued.",
    )


def _roles(data: ChartData, width: int, height: int, look: Appearance) -> list[list[Piece]]:
    ink = look.ink
    lines: list[list[Piece]] = []
    for stats in data.roles[: height - 1]:
        tried = stats.done + stats.failed
        tail = f" {round(100 * (stats.rate or 0.0)):>3} %{f' of {tried}':<7}"
        lines.append(
            [
                (f"{fit(stats.name, _NAME)} ", ink.text),
                *interval_line((stats.low, stats.rate or 0.0, stats.high), width - _NAME - 1 - len(tail), look),
                (tail, ink.text),
            ]
        )
    scale = max(0, width - _NAME - 1 - 13)
    axis = f"{'0 %':<{scale // 2}}{'50 %':<{max(0, scale - scale // 2 - 5)}}100 %"
    return [*lines, [(" " * (_NAME + 1), ink.muted), (axis if scale > 16 else "", ink.muted)]]


def _queue(data: ChartData, width: int, height: int, look: Appearance) -> list[list[Piece]]:
    ink, most = look.ink, data.queue[0].seconds or 1.0
    room = max(1, (width - _NAME) // 2)
    lines: list[list[Piece]] = []
    for task in data.queue[:height]:
        bar = length_line(task.seconds / most, width - room - 9, look)
        lines.append(
            [(f"{fit(task.title, room)} ", ink.text), *bar, (f" {fit(times.span(task.seconds), 7)}", ink.muted)]
        )
    return lines


def drawn(data: ChartData, width: int, height: int, look: Appearance) -> list[list[Segment]]:
    """Return all charts, two side by side where there is room, the first ones in sight in `height` lines."""
    beside = width >= _BESIDE
    size = max(_LOWEST, min(_HIGHEST, height // (3 if beside else 2)))
    own = (width - _GAP) // 2 if beside else width
    blocks = [_block(chart, own, size, look) for chart in charts_of(data)]
    if not beside:
        return [line for block in blocks for line in block]
    gap = Segment(" " * _GAP, look.ink.muted)
    pairs = zip(blocks[::2], blocks[1::2], strict=True)
    blank = [Segment(" " * (width - 2 * own - _GAP), look.ink.muted)] if width - 2 * own - _GAP else []
    return [[*left, gap, *right, *blank] for pair in pairs for left, right in zip(*pair, strict=True)]


def _block(chart: Chart, width: int, size: int, look: Appearance) -> list[list[Segment]]:
    """Return a chart on exactly `size` lines: its words, the drawing, a blank line."""
    ink = look.ink
    head = spread(width, [(chart.title, ink.heading), (f"  {chart.sum}", ink.text)], [])
    caption = spread(width, [(fit(chart.says.replace("·", look.shapes.sep), width), ink.muted)], [])
    body = [[(chart.empty, ink.muted)]] if chart.empty else chart.draw(width, size - 3, look)
    lines = [head, caption, *(spread(width, list(pieces), []) for pieces in body)][: size - 1]
    blank = spread(width, [("", ink.muted)], [])
    return [*lines, *[blank] * (size - len(lines))]


class ChartsScreen(DetailScreen[None]):
    """Reads in a job what a span needs; another span is read when it is chosen."""

    SCOPE = "charts"

    def __init__(self, port: Port, snapshot: Snapshot) -> None:
        super().__init__("Charts")
        self._port, self._snapshot, self._now = port, snapshot, snapshot.taken
        self._read_at = 0.0
        self._place = 0
        self._data: ChartData | None = None
        self._loader: Loader[ChartData] = Loader(self, self._read, self._loaded)

    def body(self) -> ComposeResult:
        yield ScrolledLines(self._lines, id="charts")
        yield StatusLine()

    def keys(self) -> Keys:
        return self.offer("span_shorter", "span_longer", "down", "back", down="scroll")

    def on_mount(self) -> None:
        self.query_one(ScrolledLines).focus()
        self._load()

    def why_not(self, command: RoomCommand) -> str:
        ends = {"span_shorter": 0, "span_longer": len(SPANS) - 1}
        if ends.get(command.action) == self._place:
            return "there is no other span"
        return super().why_not(command)

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot, self._now = snapshot, snapshot.taken
        if abs(self._now - self._read_at) >= _AGAIN:
            self._load()

    def tick(self, now: float) -> None:
        self._now = now

    def _load(self) -> None:
        self._read_at = self._now
        self._loader.load()

    def _read(self) -> ChartData:
        """In a thread: all journals that the charts are about."""
        port, rule = self._port, self._snapshot.decay.rule
        span, tasks, roles = SPANS[self._place], self._snapshot.tasks, port.role_book().roles
        layout = Layout(port.root)
        return read_charts(layout, span, self._now, tasks, roles, lambda at: port.decay_at(rule, at)[0].due)

    def _loaded(self, data: ChartData) -> None:
        self._data = data
        spans = " · ".join(f"[{span.name}]" if span == data.span else span.name for span in SPANS)
        retitle(self, f"Charts, {data.span.name}", spans)
        self.query_one(KeysLine).show(self.keys())
        self.query_one(ScrolledLines).redraw()

    def _lines(self, width: int, height: int) -> list[list[Segment]]:
        look = appearance_of(self.app)
        if self._data is None:
            return [spread(width, [("Reading the journals …", look.ink.muted)], [])]
        return drawn(self._data, width, height, look)

    def action_span(self, step: int) -> None:
        """Look at a shorter or a longer span."""
        self._place = max(0, min(len(SPANS) - 1, self._place + step))
        self._load()
