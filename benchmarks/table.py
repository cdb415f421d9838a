"""The table of results, and the functions that make one figure of samples."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass

WIDTHS = (4, 60, 12, 11, 5, 44, 11)
HEADS = ("", "figure", "measured", "goal", "", "compared with, in the same run", "ours/theirs")


@dataclass(frozen=True)
class Row:
    """One figure. `goal` 0 means that none is set, `other` 0 that there is nothing to compare it with.

    With `most_ratio` the goal is the figure divided by the other one, at most.
    """

    id: str
    what: str
    value: float = 0.0
    unit: str = "ms"
    goal: float = 0.0
    more_is_better: bool = False
    other_name: str = ""
    other: float = 0.0
    skipped: str = ""  # why nothing was measured
    most_ratio: float = 0.0

    @property
    def met(self) -> bool:
        if self.most_ratio:
            return 0 < self.ratio <= self.most_ratio
        return self.value >= self.goal if self.more_is_better else self.value <= self.goal

    @property
    def ratio(self) -> float:
        """This figure divided by the other one, whichever way is better; 0 where there is no other."""
        return self.value / self.other if self.other else 0.0


def share(samples: list[float], percent: float) -> float:
    """Return the percentile of the samples; 0 where there are none."""
    if not samples:
        return 0.0
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


def number(value: float) -> str:
    """Format a number with three significant digits."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cells(row: Row) -> tuple[str, ...]:
    if row.skipped:
        return (row.id, row.what, "-", "", "", f"skipped: {row.skipped}", "")
    goal = f"{'>=' if row.more_is_better else '<='} {number(row.goal)}" if row.goal else ""
    goal = f"<= {row.most_ratio:.2f}x" if row.most_ratio else goal
    verdict = ("ok" if row.met else "MISS") if goal else ""
    other = f"{row.other_name}: {number(row.other)} {row.unit}" if row.other_name else ""
    measured = f"{number(row.value)} {row.unit}"
    return (row.id, row.what, measured, goal, verdict, other, f"{row.ratio:.2f}x" if row.ratio else "")


def line(values: tuple[str, ...]) -> str:
    return "  ".join(value.ljust(width) for value, width in zip(values, WIDTHS, strict=True)).rstrip()


def markdown_line(values: tuple[str, ...]) -> str:
    """Return a line of a table in Markdown."""
    return f"| {' | '.join(values)} |"


class Table:
    """A table that prints its rows as they come, so that a long run shows its progress."""

    def __init__(self, *, as_json: bool, as_markdown: bool) -> None:
        self.rows: list[Row] = []
        self._json, self._line = as_json, markdown_line if as_markdown else line
        rule = tuple("-" * (3 if as_markdown else width) for width in WIDTHS)
        if not as_json:
            print(self._line(HEADS), self._line(rule), sep="\n", flush=True)

    def add(self, *rows: Row) -> None:
        self.rows += rows
        for row in rows:
            if not self._json:
                print(self._line(cells(row)), flush=True)

    def finish(self) -> None:
        if self._json:
            records = [{**asdict(row), "met": row.met, "ratio": round(row.ratio, 3)} for row in self.rows]
            json.dump({"rows": records}, sys.stdout, indent=1)
            print()
            return
        with_goal = [row for row in self.rows if (row.goal or row.most_ratio) and not row.skipped]
        met = sum(row.met for row in with_goal)
        print(f"\n{met} of {len(with_goal)} goals met; {sum(bool(row.skipped) for row in self.rows)} rows skipped")
