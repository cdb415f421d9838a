"""What the agent will forget: the scores at a glance, what fades next, and a look ahead under this or another rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.model.decay import PROTECTIONS, DecayForecast, DecayRule, DecayView, score
from lumen_tui.model.snapshot import Revisions
from lumen_tui.model.times import DAY, iso
from lumen_tui.tui import words
from lumen_tui.tui.commands import BY_ACTION, shown_key
from lumen_tui.tui.kit.keys import bindings
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, Lines, line, spread, wrap
from lumen_tui.tui.panes.base import Detail, Heads, Pane, in_order, place_of, sorted_by
from lumen_tui.tui.panes.charts import Charts
from lumen_tui.tui.panes.sorting import Sorting, SortOrder
from lumen_tui.tui.room_command import DECAY
from lumen_tui.tui.theme import Appearance

HALF_LIVES = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 14.0, 21.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 365.0)
THRESHOLDS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
_FURTHEST = 3650  # days


class Travel(NamedTuple):
    """Where the pane looks from. A number of 0 means: as it is now, as it is in force."""

    days: int = 0
    half_life: float = 0.0
    threshold: float = 0.0

    @property
    def moving(self) -> bool:
        """Whether anything is other than it is."""
        return self != Travel()

    @property
    def other_rule(self) -> bool:
        """Whether another rule than the one in force is tried."""
        return bool(self.half_life or self.threshold)

    def rule(self, known: DecayRule) -> DecayRule:
        """Return the rule that is looked at, `known` being the one in force."""
        return DecayRule(self.half_life or known.half_life_days, self.threshold or known.threshold)

    def by_days(self, days: int) -> Travel:
        """Return the clock moved; it does not go behind the present."""
        return self._replace(days=max(0, min(_FURTHEST, self.days + days)))

    def half_life_stepped(self, by: int, known: DecayRule) -> Travel:
        """Return the next longer (1) or shorter (-1) half-life."""
        here = known.half_life_days
        value = _stepped(HALF_LIVES, self.half_life or here, here, by)
        return self._replace(half_life=0.0 if value == here else value)

    def threshold_stepped(self, by: int, known: DecayRule) -> Travel:
        """Return the next higher (1) or lower (-1) threshold."""
        here = known.threshold
        value = _stepped(THRESHOLDS, self.threshold or here, here, by)
        return self._replace(threshold=0.0 if value == here else value)

    def words(self, known: DecayRule) -> list[str]:
        """Return what is other than it is, with the value in force behind it: `as in 12 d`, `half-life 14 d (30)`."""
        said = [f"as in {self.days} d"] if self.days else []
        if self.half_life:
            said.append(f"half-life {self.half_life:g} d ({known.half_life_days:g})")
        if self.threshold:
            said.append(f"threshold {self.threshold:g} ({known.threshold:g})")
        return said


def _stepped(steps: Sequence[float], value: float, known: float, by: int) -> float:
    """Return the next of the steps, among which the value in force always is; the value itself at either end."""
    ladder = sorted({*steps, known})
    further = [step for step in ladder if (step > value if by > 0 else step < value)]
    return (further[0] if by > 0 else further[-1]) if further else value


class Foresight(NamedTuple):
    """What memory would look like there. `at` is in seconds since 1970."""

    travel: Travel
    at: float
    view: DecayView
    rows: Sequence[DecayForecast]


_STALE = 60.0  # seconds after which time alone has changed what is foreseen
_AROUND_LIST, _SEEN = 4, 5  # lines of the curve and the counts; nodes that should be seen with them
_CHART = 6  # lines from which the head holds the two charts
_TOGETHER = "\ue000"  # in place of a blank at which no line is broken
_MANY = {"summary": "summaries", "open discovery": "open discoveries", "active session": "active sessions"}


_SCORE, _KIND, _UNIT, _TOUCHED, _ARCHIVED, _IN = 5, 10, 7, 10, 10, 9  # cells of the columns
_UNIT_FROM, _ARCHIVED_FROM = 72, 90  # cells of a row


class _DecayTexts(NamedTuple):
    """What stands in each column, of a row or of the headings."""

    score: str
    title: str
    left: str
    kind: str  # from here on: of a zoomed list alone
    unit: str
    touched: str
    archived: str


def _cells(texts: _DecayTexts, width: int, side: Style, text: Style, near: Style, *, zoomed: bool) -> list[Cell]:
    """Return the columns that a row of `width` cells has room for; `near` is the style of the time that is left."""
    cells = [Cell(texts.score, side, _SCORE), Cell(texts.title, text)]
    if zoomed:
        cells.append(Cell(texts.kind, side, _KIND))
    if zoomed and width >= _UNIT_FROM:
        cells.append(Cell(texts.unit, side, _UNIT, gap=1))
    if zoomed:
        cells.append(Cell(texts.touched, side, _TOUCHED, right=True, gap=1))
    if zoomed and width >= _ARCHIVED_FROM:
        cells.append(Cell(texts.archived, side, _ARCHIVED, gap=1))
    return [*cells, Cell(texts.left, near, _IN, right=True, gap=1)]


def _kept(view: DecayView) -> list[tuple[str, int]]:
    return [(name, count) for name, count in zip(PROTECTIONS, view.kept, strict=True) if count]


class FadingRows:
    """How a fading node is drawn in the list."""

    def __init__(self, pane: DecayPane) -> None:
        self._pane = pane

    def key(self, row: DecayForecast) -> str:
        return row.node_id

    def line(self, row: DecayForecast, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, pane = self._pane.look.ink, self._pane
        gone = pane.travel.moving and row.fades_at < pane.at  # archived by then
        left = row.fades_at - pane.now
        dash = pane.look.shapes.dash
        texts = _DecayTexts(
            f"{score(pane.at - row.touched, pane.view.rule):.3f}",
            row.title,
            words.until(left) if left > 0 else "due",
            row.kind,
            row.wu_id or dash,
            words.ago(pane.now - row.touched),
            iso(row.fades_at)[:10],
        )
        side = ink.accent if gone else ink.muted
        text = ink.strong if selected else ink.muted if gone else ink.text
        return line(width, _cells(texts, width, side, text, ink.accent if left < DAY else side, zoomed=pane.zoomed))

    def more(self, row: DecayForecast, width: int) -> list[Segment]:
        return line(width, [Cell(row.node_id, self._pane.look.ink.muted)])

    def words(self, row: DecayForecast) -> str:
        return f"{row.title} {row.node_id}"

    def fields(self, row: DecayForecast) -> Mapping[str, str]:
        return {"id": row.node_id, "age": f"{self._pane.now - row.touched:.0f}"}


def histogram(view: DecayView, width: int, look: Appearance) -> list[tuple[str, bool]]:
    """Bars for the bins from 1 down to the threshold, each `width // bins` cells wide; True for those near the end."""
    levels, most = look.shapes.levels, max(*view.histogram, 1)
    bins = len(view.histogram)
    bars = []
    for index, count in enumerate(view.histogram):
        size = width * (index + 1) // bins - width * index // bins
        level = levels[min(len(levels) - 1, count * len(levels) // (most + 1))] if count else " "
        bars.append((level * size, index >= bins - 1))
    return bars


class DecayPane(Pane):
    """Pane 6. It looks at the present, or at where the operator has travelled (see `Travel`)."""

    scope, number, name_shown = DECAY, 6, "Decay"
    nothing_now = "No decaying memories yet."
    filter_hint = "filter: words, !without, id:mem-, age:>30d since the last touch"
    BINDINGS: ClassVar[list[BindingType]] = bindings(DECAY, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._head = Lines(self._head_lines, id="decay-head")
        self._list: LineList[DecayForecast] = LineList(FadingRows(self), empty=self.nothing_shown)
        self.sorting = Sorting(
            "time left",
            SortOrder("type", lambda row: row.kind, falling=False),
            SortOrder("work unit", lambda row: row.wu_id),
            SortOrder("title", lambda row: row.title.casefold(), falling=False),
        )
        self._foot = Lines(self._foot_lines, id="decay-foot")
        self.travel = Travel()
        self.outdated: Callable[[], None] | None = None  # called when the foresight must be asked for again
        self._foresight: Foresight | None = None

    def compose(self) -> ComposeResult:
        yield self._head
        yield Heads(self)
        yield self._list
        yield self._foot

    @property
    def view(self) -> DecayView:
        """The counts at the moment and under the rule that is looked at, as far as they are known."""
        return self._foresight.view if self._foresight else self.snapshot.decay

    @property
    def at(self) -> float:
        """The moment that is looked at, in seconds since 1970."""
        return self.now + self.travel.days * DAY if self._foresight else self.now

    def rows_wanted(self) -> int:
        """Return the rows of the curve, of some nodes and of the counts; none while nothing decays."""
        return (
            _AROUND_LIST + min(len(self._list.model.rows), _SEEN) if self._list.model.rows or self.travel.moving else 0
        )

    def revision(self, revisions: Revisions) -> object:
        return revisions.nodes, revisions.problems  # the latter moves with the configuration: the rule

    def fill(self) -> None:
        if self.travel.moving and self.outdated is not None:
            self.outdated()
        else:
            self._list.set_rows(in_order(self, self.snapshot.fading))

    def heads(self, width: int) -> list[Segment]:
        """Return the headings."""
        muted = self.look.ink.muted
        texts = _DecayTexts("score", "title", "left", "type", "unit", "last use", "archived")
        return line(width, _cells(texts, width, muted, muted, muted, zoomed=True))

    def go(self, travel: Travel) -> None:
        """Look from somewhere else. The frame says so at once; `foresee` brings what is seen there."""
        self.travel = travel
        self.set_class(travel.moving, "-travelling")
        if not travel.moving:
            self._foresight = None
            self._list.set_rows(in_order(self, self.snapshot.fading))
        self.tick(self.now)

    def foresee(self, foresight: Foresight) -> None:
        """Show what memory would look like; an answer that came too late is passed over."""
        if foresight.travel != self.travel or not self.travel.moving:
            return
        self._foresight = foresight
        self._list.set_rows(in_order(self, foresight.rows))
        self.tick(self.now)
        self.tell()

    def tick(self, now: float) -> None:
        super().tick(now)
        self._head.redraw()
        self._foot.redraw()
        if self._foresight is not None and self.outdated is not None and self.at - self._foresight.at > _STALE:
            self.outdated()

    @on(LineList.Highlighted)
    def moved(self, event: LineList.Highlighted) -> None:
        """Follow the cursor."""
        self.recaption()
        self.tell(event)

    def title_words(self) -> str:
        parts = [super().title_words(), *self.travel.words(self.snapshot.decay.rule)]
        while len(parts) > 2 and len(" · ".join(parts)) > self.content_size.width - 4:
            parts.pop()
        return " · ".join(parts)

    def subtitle_words(self) -> str:
        rows, view = self._list, self.view
        if rows.marks.keys or rows.filter_text:
            return place_of(rows, "fading")
        if not view.active:
            return ""
        if self._foresight is not None:
            return f"{words.number(view.due)} archived by then · +{words.number(view.within_week)} in 7 d"
        due = f"{words.number(view.due)} due · " if view.due else ""
        week = f"{due}{words.number(view.within_week)} {'decays' if view.within_week == 1 else 'decay'} within 7 days"
        return " · ".join(part for part in (week, sorted_by(self)) if part)

    def short(self) -> tuple[str, bool]:
        said = " · ".join((*self.travel.words(self.snapshot.decay.rule), self.subtitle_words()))
        return said.strip(" ·") or "nothing decays", self.travel.moving

    def detail(self) -> Detail | None:
        row, view = self._list.selected, self.view
        kept = tuple(
            (name.split()[-1], f"{words.number(count)} {name.split()[0] if ' ' in name else 'kept'}")
            for name, count in _kept(view)
        )
        drawing = None if self.zoomed else Charts(view, self.snapshot.decay.rule)  # zoomed, its head has them
        if row is None:
            return Detail("Decay", kept, "", drawing) if view.active else None
        facts = (
            ("score", f"{score(self.at - row.touched, view.rule):.3f}"),
            ("touched", iso(row.touched)[:16]),
            ("decays", iso(row.fades_at)[:16]),
            ("half-life", f"{view.rule.half_life_days:g} d"),
            ("threshold", f"{view.rule.threshold:g}"),
        )
        return Detail(row.node_id, (*facts, *kept), row.title, drawing)

    def _head_lines(self, width: int, height: int) -> list[list[Segment]]:
        if height >= _CHART:
            drawn = Charts(self.view, self.snapshot.decay.rule).lines(width, self.look, height - 2)
            return [*drawn, spread(width, [("", self.look.ink.muted)], []), self._rule_line(width)]
        view, ink = self.view, self.look.ink
        low = f" {view.rule.threshold:g}"
        if self.look.spoken:
            return [self._rule_line(width)]
        bars = histogram(view, max(0, width - 4 - len(low)), self.look)
        curve = [(text, ink.accent if near else ink.text) for text, near in bars]
        return [
            spread(width, [("1.0 ", ink.muted), *curve, (low, ink.muted)], []),
            self._rule_line(width),
            spread(width, [("", ink.muted)], []),
        ][: max(1, height)]

    def _rule_line(self, width: int) -> list[Segment]:
        ink, known, travel = self.look.ink, self.snapshot.decay.rule, self.travel
        rule, sep = travel.rule(known), f" {self.look.shapes.sep} "
        first = f"half-life {rule.half_life_days:g} d" + (f" ({known.half_life_days:g})" if travel.half_life else "")
        second = f"{rule.threshold:g}" + (f" ({known.threshold:g})" if travel.threshold else "")
        name = "threshold" if len(first) + len(second) + len(" · threshold ") <= width else "below"
        pieces = [
            (first, ink.accent if travel.half_life else ink.muted),
            (sep, ink.muted),
            (f"{name} {second}", ink.accent if travel.threshold else ink.muted),
        ]
        return spread(width, pieces, [])

    def _foot_lines(self, width: int, height: int) -> list[list[Segment]]:
        view, ink, sep = self.view, self.look.ink, f" {self.look.shapes.sep} "
        counts = ((view.pinned, "pinned"), (view.protected, "protected"), (view.archived, "archived"))
        lines = [sep.join(f"{words.number(count)} {word}" for count, word in counts)]
        if height > 1:
            kept = [words.plural(count, name, _MANY.get(name, name)) for name, count in _kept(view)] or ["none"]
            counted = [f"protected: {kept[0]}", *kept[1:], f"{words.number(view.archived)} archived"]
            whole = sep.join(part.replace(" ", _TOGETHER) for part in counted)
            lines = [said.replace(_TOGETHER, " ") for said in wrap(whole, width)[:2]]
        if self.travel.moving:
            back = f"{shown_key(BY_ACTION['present'], self.snapshot.config.keys)} goes back to today"
            lines = [back] if height == 1 else [*lines, back]
        return [spread(width, [(said, ink.muted)], []) for said in lines]
