"""The tables of faults (R1 to R15) and threats (S1 to S15): what was tried, how often, and what got through.

A test takes part by a mark: `@pytest.mark.threat("S5", "ids that lead out of the folder", attempts=len(IDS))`, or
`fault` with a row R. Its attempts are those of the mark, else the points of its sweep, else one for each test. What is
skipped counts as nothing tried and is named with its reason. LUMEN_ROWS takes single rows, LUMEN_PROOF names the rows
and the document into which their table goes (`S:docs/security.md`), and LUMEN_MUST_RUN a file with the rows of which
some line must be tried.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import lumen_sweeps
import pytest

KINDS = ("fault", "threat")
_PROVES = "proves"  # the property of a test's report: row, what is tried, attempts
_HEAD = ("row", "tried", "points", "violations", "skipped", "measured")
_LINE = re.compile(r"^\| ([RS]\d+) \| (.+?) \|")


@dataclass
class Tally:
    """What became of one line of the table."""

    points: int = 0
    violations: int = 0
    skipped: Counter[str] = field(default_factory=Counter)  # tests by reason

    @property
    def left_out(self) -> bool:
        """Whether nothing of it was tried."""
        return not self.points and not self.violations


Line = tuple[str, str]  # row, what is tried
Tallies = dict[Line, Tally]


def note(item: pytest.Item) -> None:
    """Let the reports of this test say what it proves."""
    for kind in KINDS:
        for mark in item.iter_markers(kind):
            row, tried = mark.args
            item.user_properties.append((_PROVES, (row, tried, mark.kwargs.get("attempts", 0))))


def chosen(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the tests of the rows in LUMEN_ROWS, and the others; without it all."""
    rows = set(os.environ.get("LUMEN_ROWS", "").replace(",", " ").split())
    if not rows:
        return items, []
    taken = {id(item) for item in items if rows & {row for row, _, _ in _claims(item.user_properties)}}
    return [item for item in items if id(item) in taken], [item for item in items if id(item) not in taken]


def _claims(properties: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str, int]]:
    for name, value in properties:
        if name == _PROVES and isinstance(value, (list, tuple)):
            row, tried, attempts = value
            yield row, tried, attempts


def tally(reports: Iterable[tuple[str, pytest.TestReport | pytest.CollectReport]]) -> Tallies:
    """Return each line with its counts, from the reports by outcome (`passed`, `failed`, `error`, `skipped`).

    A file that could not be collected, or was skipped as a whole, names no line.
    """
    lines: Tallies = {}
    for outcome, report in reports:
        if isinstance(report, pytest.CollectReport):
            continue
        swept = dict(report.user_properties).get(lumen_sweeps.TAKEN)
        for row, tried, attempts in _claims(report.user_properties):
            line = lines.setdefault((row, tried), Tally())
            if outcome == "skipped":
                line.skipped[_reason(report)] += 1
                continue
            line.points += attempts or (int(str(swept).split()[0]) if swept else 1)
            line.violations += outcome != "passed"
    return dict(sorted(lines.items(), key=lambda entry: (_order(entry[0][0]), entry[0][1])))


def _reason(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ").replace("|", "/").replace("\n", " ")


def _order(row: str) -> tuple[str, int]:
    return row[0], int(row[1:])


def _cells(line: Line, counts: Tally, where: str) -> str:
    skipped = "; ".join(f"{number}: {reason}" for reason, number in sorted(counts.skipped.items()))
    tried = ["–", "–"] if counts.left_out else [f"{counts.points:,}", f"{counts.violations:,}"]
    return f"| {' | '.join([*line, *tried, skipped or '0', where])} |"


def table(lines: Tallies) -> list[str]:
    """Return the lines of the table of this run."""
    where = f"{time.strftime('%-d %B %Y')}, {_machine()}"
    return [_cells(line, counts, where) for line, counts in lines.items()]


def publish(lines: Tallies, where: str) -> list[str]:
    """Put the rows of one letter into a document, as in LUMEN_PROOF; return their table."""
    letter, _, document = where.partition(":")
    rows = table({line: counts for line, counts in lines.items() if line[0].startswith(letter)})
    write(Path(document), rows)
    return rows


def _machine() -> str:
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} processors, Linux {kernel}, Python {platform.python_version()}"


def _parts(document: Path) -> tuple[str, str, str]:
    """Return the document before its table, the table, and what stands behind it."""
    before, begin, text = document.read_text().partition("<!-- measured -->\n")
    old, end, after = text.partition("<!-- /measured -->")
    if not (begin and end):
        raise ValueError(f"{document} has no <!-- measured --> and <!-- /measured -->")
    return before + begin, old, end + after


def _by_line(rows: Iterable[str]) -> dict[Line, str]:
    return {(match[1], match[2]): row for row in rows if (match := _LINE.match(row))}


def write(document: Path, rows: list[str]) -> None:
    """Put the lines of this run into the table of a document, in place of what was measured of the same before."""
    before, old, after = _parts(document)
    lines = _by_line([*old.splitlines(), *rows])
    ordered = [lines[line] for line in sorted(lines, key=lambda line: (_order(line[0]), line[1]))]
    head = [f"| {' | '.join(_HEAD)} |", f"|{'---|' * len(_HEAD)}"]
    document.write_text("\n".join([before, *head, *ordered, "", after]))


def documented(document: Path) -> set[Line]:
    """Return the lines of the table of a document."""
    return set(_by_line(_parts(document)[1].splitlines()))


def missing(lines: Tallies, required: Path) -> list[str]:
    """Return a sentence for each row of the file that was skipped whole, or of which there is no test."""
    rows = [row for row in required.read_text().split("\n") if row and not row.startswith("#")]
    there, ran = {row for row, _ in lines}, {row for (row, _), counts in lines.items() if not counts.left_out}
    return [f"{row} was {'skipped' if row in there else 'not run at all'}" for row in rows if row not in ran]


def left_out(lines: Tallies) -> str:
    """Return one sentence on how many lines were left out."""
    names = [f"{row} ({tried})" for (row, tried), counts in lines.items() if counts.left_out]
    return f"rows of the proof that were skipped: {len(names)} of {len(lines)}" + "".join(f"\n  {one}" for one in names)
