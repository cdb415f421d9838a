"""Charts in block characters: bars, lengths and intervals; of decay the score over days, and where the nodes stand."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from lumen_tui.model.decay import DecayRule, DecayView, score
from lumen_tui.model.tasks import Status
from lumen_tui.model.times import DAY
from lumen_tui.tui import words
from lumen_tui.tui.kit.lines import fit, spread, wrap
from lumen_tui.tui.theme import Appearance

Piece = tuple[str, Style]
_LABEL = 6  # cells for the labels of the upright axis
_GAP = 3  # cells between two charts
_BESIDE = 60  # cells from which the charts stand side by side
_EIGHTH = 8
_LOW = 11  # lines below which two charts are not stacked
_STACKED = 15  # lines of both charts one above the other


class Charts(NamedTuple):
    """What is drawn: nodes and rule as looked at, and the rule in force."""

    view: DecayView
    known: DecayRule

    def lines(self, width: int, look: Appearance, height: int = _STACKED) -> list[list[Segment]]:
        """Return both charts on `height` lines of `width` cells: side by side, else stacked, else the curve alone."""
        if width < _BESIDE and height < _LOW:
            return [spread(width, row, []) for row in curve(self, width, height, look)]
        if width < _BESIDE:
            upper = height // 2
            blank: list[list[Piece]] = [[]]
            rows = curve(self, width, upper, look) + blank + histogram(self.view, width, height - upper - 1, look)
            return [spread(width, row, []) for row in rows]
        left = (width - _GAP) // 2
        right = width - _GAP - left
        gap: Piece = (" " * _GAP, look.ink.muted)
        if look.spoken:
            told = curve(self, width, height, look) + histogram(self.view, width, height - 1, look)
            return [spread(width, row, []) for row in told]
        pairs = zip(curve(self, left, height, look), histogram(self.view, right, height, look), strict=True)
        return [spread(width, [*_padded(one, left, look), gap, *other], []) for one, other in pairs]


def curve(charts: Charts, width: int, height: int, look: Appearance) -> list[list[Piece]]:
    """Return the score of a node that nobody touches, over days. Dots show the rule in force where it differs."""
    rule, known = charts.view.rule, charts.known
    if look.spoken:
        days_left = f"0.5 after {rule.half_life_days:g} d, {rule.threshold:g} after {rule.life_days:.1f} d"
        return [[(f"score of a node that nobody touches: 1.0 at first, {days_left}", look.ink.text)]]
    columns, rows = max(1, width - _LABEL), max(1, height - 1)
    span = 1.2 * max(rule.life_days, known.life_days)
    days = [(column + 0.5) * span / columns for column in range(columns)]
    now = [score(day * DAY, rule) for day in days]
    other = known.half_life_days != rule.half_life_days
    dots = [_row_of(score(day * DAY, known), rows) if other else -1 for day in days]
    limit = max(1, round(rule.threshold * rows))  # lines below the threshold
    labels = {0: "1.0", rows // 2: "0.5", rows - limit: f"{rule.threshold:g}"}
    drawn = []
    for row in range(rows):
        line: list[Piece] = [_label(labels.get(row, ""), row == rows - limit, look)]
        lined = row == rows - limit - 1
        line += [_curve_cell(now[c], row, rows, dots[c] == row, lined, rule, look) for c in range(columns)]
        drawn.append(line)
    return [*drawn, _days_axis(rule, span, columns, look)]


def _row_of(value: float, rows: int) -> int:
    """Return the line, from above, in which a share of the height ends."""
    return rows - max(1, math.ceil(value * rows - 1e-9))


def _curve_cell(value: float, row: int, rows: int, dot: bool, lined: bool, rule: DecayRule, look: Appearance) -> Piece:
    ink, shapes = look.ink, look.shapes
    block = _block(value, row, rows, look)
    if block != " ":
        return block, ink.text if value >= rule.threshold else ink.accent
    if dot:
        return shapes.status[Status.QUEUED], ink.muted
    return (shapes.levels[0], ink.accent) if lined else (" ", ink.muted)  # the threshold, at the foot of this line


def _block(share: float, row: int, rows: int, look: Appearance) -> str:
    """Return what stands in a line of a bar that fills `share` of the height."""
    levels = look.shapes.levels
    fill = round(share * rows * _EIGHTH) - (rows - 1 - row) * _EIGHTH
    if fill <= 0:
        return " "
    return levels[min(len(levels) - 1, fill - 1)]


def _days_axis(rule: DecayRule, span: float, columns: int, look: Appearance) -> list[Piece]:
    """`0 d`, the day on which the threshold is reached under its place, and the last day where it fits."""
    ink = look.ink
    end, last = f"{rule.life_days:.1f} d", f"{span:.0f} d"
    place = min(round(rule.life_days / span * columns) - len(end) // 2, columns - len(end))
    pieces: list[Piece] = [(" " * _LABEL, ink.muted)]
    if place < len("0 d "):
        pieces.append((" " * max(0, place), ink.muted))
    else:
        pieces.append((f"{'0 d':<{place}}", ink.muted))
    pieces.append((end, ink.accent))
    left = columns - max(0, place) - len(end)
    return [*pieces, (f"{last if left > len(last) + 1 else '':>{max(0, left)}}", ink.muted)]


def histogram(view: DecayView, width: int, height: int, look: Appearance) -> list[list[Piece]]:
    """Return how many nodes stand at which score, from 1 on the left to the threshold and below on the right."""
    axis = ("1.0", "nodes by score", f"{view.rule.threshold:g}")
    top = words.kilo(max(*view.histogram, 1))
    return Bars(view.histogram, top, axis, loud=(len(view.histogram) - 1,)).lines(width, height, look)


def _label(text: str, loud: bool, look: Appearance) -> Piece:
    return f"{text:>{_LABEL - 1}} ", look.ink.accent if loud else look.ink.muted


def _padded(pieces: list[Piece], width: int, look: Appearance) -> list[Piece]:
    used = sum(len(text) for text, _ in pieces)
    return [*pieces, (" " * max(0, width - used), look.ink.muted)]


class Bars(NamedTuple):
    """A bar for each value; `top` is the highest in words, `axis` stands below: start, unit, end."""

    values: Sequence[float]
    top: str
    axis: tuple[str, str, str]
    bad: Container[int] = ()  # places that are drawn as gone wrong
    loud: Container[int] = ()  # places that stand out

    def lines(self, width: int, height: int, look: Appearance) -> list[list[Piece]]:
        """Return the chart on `height` lines. Values above nothing have a mark at least."""
        if look.spoken:
            return self._told(width, height, look)
        ink, columns, rows = look.ink, max(1, width - _LABEL), max(1, height - 1)
        most, size = max([*self.values, 0]) or 1, max(1, columns // max(1, len(self.values)))
        bar = max(1, size - 1)
        drawn = []
        for row in range(rows):
            line: list[Piece] = [_label(self.top if row == 0 else "", False, look)]
            for place, value in enumerate(self.values):
                share = max(value / most, 1 / rows / _EIGHTH) if value else 0.0
                style = ink.bad if place in self.bad else ink.accent if place in self.loud else ink.text
                block = _block(share, row, rows, look)
                if place in self.bad and row == max(0, rows - 1 - math.ceil(share * rows - 1e-9)):
                    block = look.shapes.failed  # on top of its bar: without colours it is seen, too
                line.append((f"{block * (1 if block == look.shapes.failed else bar):<{size}}", style))
            drawn.append(line)
        return [*drawn, self._axis(size * (len(self.values) - 1) + bar, look)]

    def _told(self, width: int, height: int, look: Appearance) -> list[list[Piece]]:
        """Return the values in per cent of the highest, from the start of the axis to its end."""
        start, middle, end = self.axis
        most = max([*self.values, 0]) or 1
        told = [
            f"{words.percent(value / most)}{' failed' if place in self.bad else ''}"
            for place, value in enumerate(self.values)
        ]
        text = f"{middle}, {start} to {end}, the highest {self.top}: {', '.join(told)}"
        return [[(part, look.ink.text)] for part in wrap(text, width)[:height]]

    def _axis(self, width: int, look: Appearance) -> list[Piece]:
        start, middle, end = self.axis
        room = max(0, width - len(start) - len(end))
        named = f"{middle if room > len(middle) + 2 else '':^{room}}"
        return [(" " * _LABEL, look.ink.muted), (start, look.ink.muted), (named, look.ink.muted), (end, look.ink.muted)]


def interval_line(bounds: tuple[float, float, float], width: int, look: Appearance) -> list[Piece]:
    """Return a share between its bounds (low, share, high) on a scale from 0 to 1."""
    if look.spoken:
        told = f"{words.percent(bounds[0])} to {words.percent(bounds[2])} likely"
        return [(fit(told, width), look.ink.muted)]
    low, share, high = (round(bound * (max(1, width) - 1)) for bound in bounds)
    dot, rule = look.shapes.status[Status.RUNNING], look.shapes.rule
    return [
        (" " * low, look.ink.muted),
        (rule * (share - low), look.ink.muted),
        (dot, look.ink.accent),
        (rule * (high - share), look.ink.muted),
        (" " * max(0, width - 1 - high), look.ink.muted),
    ]


def length_line(share: float, width: int, look: Appearance) -> list[Piece]:
    """Return a bar that fills a share of `width` cells."""
    full = round(share * max(0, width))
    return [(look.shapes.bar * full, look.ink.accent), (" " * max(0, width - full), look.ink.muted)]
