"""The page of one discovery: what was seen, where, what is like it, what was decided before, what can be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lumen_tui.model import analytics, times
from lumen_tui.model.records import Alike, DiscoveryRow
from lumen_tui.model.text import humanize, one_line
from lumen_tui.model.triage import kind_words, returned
from lumen_tui.queries.judged import Judged, PastDecision
from lumen_tui.tui import words
from lumen_tui.tui.kit.lines import Cell, line, wrap
from lumen_tui.tui.kit.paper import Line, blank, heading, quote
from lumen_tui.tui.theme import Appearance

_MOST_ALIKE = 5
_ALIKE_FROM = 50  # per cent: below it two discoveries share a work unit and tags, and no more
_MOST_AUTHORS = 3
_MOST_LINES = 6  # of where it comes from
_KEY, _NAME = 5, 9  # cells


class DiscoveryContext(NamedTuple):
    """What was found about one discovery beside itself."""

    alike: Sequence[Alike] = ()
    decided: Sequence[PastDecision] = ()
    chain: Sequence[str] = ()


NOTHING_KNOWN = DiscoveryContext()


class TriageChoice(NamedTuple):
    """What can be done: a key, its word, and what it would do now."""

    key: str
    name: str
    help: str


def item_page(
    row: DiscoveryRow,
    known: DiscoveryContext,
    choices: Sequence[TriageChoice],
    record: Judged,
    now: float,
    width: int,
    height: int,
    look: Appearance,
) -> list[Line]:
    """Return all of it on `width` cells; where it is longer than `height`, what can be done stands above the rest."""
    empty = blank(width, look)
    top = [line(width, (Cell(part, look.ink.strong),)) for part in wrap(one_line(row.node.title), width)]
    top += [*_about(row, now, width, look), empty]
    if body := row.node.content.partition("\n")[2].strip():
        top += [heading("What it saw", width, look), *quote(body, width, look), empty]
    sections = {
        "Evidence": _chain(known.chain, width, look),
        "Alike": _alike(known.alike, now, width, look),
        "Was decided before": _decided(known.decided, now, width, look),
        "Track record": _shares(record, width, look),
    }
    drawn = [heading("What do you do with it?", width, look), *_choices(choices, width, look), empty]
    more: list[Line] = []
    for title, section in sections.items():
        if lines := list(section):
            more += [heading(title, width, look), *lines, empty]
    fits = len(top) + len(more) + len(drawn) <= height
    return [*top, *more, *drawn] if fits else [*top, *drawn, *more]


def _about(row: DiscoveryRow, now: float, width: int, look: Appearance) -> Iterator[Line]:
    node, sep = row.node, f" {look.shapes.sep} "
    source = node.metadata.get("task_id")
    parts = (
        node.priority or "no priority",
        *kind_words(node),
        f"from {node.created_by}" if node.created_by else "",
        f"task {source}" if isinstance(source, str) else "",
        node.wu_id,
        times.ago(now - row.created) if row.created else "",
    )
    back = returned(node, now)
    for part in wrap(one_line(sep.join(part for part in parts if part)), width):
        yield line(width, (Cell(part, look.ink.muted),))
    if back:
        yield line(width, (Cell(back, look.ink.accent),))


def _chain(chain: Sequence[str], width: int, look: Appearance) -> Iterator[Line]:
    for text in chain[:_MOST_LINES]:
        yield line(width, (Cell(f"  {humanize(text)}", look.ink.muted),))


def _alike(every: Sequence[Alike], now: float, width: int, look: Appearance) -> Iterator[Line]:
    alike = [other for other in every if other.score >= _ALIKE_FROM]
    for other in alike[:_MOST_ALIKE]:
        yield line(
            width,
            (
                Cell(f"{other.score} %", look.ink.accent if other.sure else look.ink.muted, 7, right=True),
                Cell(other.priority or look.shapes.dash, look.ink.muted, 2),
                Cell(other.title, look.ink.text, gap=1),
                Cell(words.age(now - other.created) if other.created else "", look.ink.muted, 6, right=True),
            ),
        )
    if len(alike) > _MOST_ALIKE:
        yield line(width, (Cell(f"         and {len(alike) - _MOST_ALIKE} more", look.ink.muted),))


def _decided(decided: Sequence[PastDecision], now: float, width: int, look: Appearance) -> Iterator[Line]:
    for past in decided:
        reason = f": {past.reason}" if past.reason else ""
        outcome = f"{past.verdict} by {past.by or 'somebody'}{reason}"
        yield line(
            width,
            (
                Cell(f"{past.score} %", look.ink.muted, 7, right=True),
                Cell(f"“{past.title}”", look.ink.text, gap=1),
                Cell(words.age(now - past.at) if past.at else "", look.ink.muted, 6, right=True),
            ),
        )
        for part in wrap(outcome, max(1, width - 8)):
            yield line(width, (Cell("", look.ink.muted, 7), Cell(part, look.ink.muted, gap=1)))


def _choices(choices: Sequence[TriageChoice], width: int, look: Appearance) -> Iterator[Line]:
    for choice in choices:
        cells = (
            Cell(choice.key, look.ink.accent, _KEY, right=True),
            Cell(choice.name, look.ink.text, _NAME, gap=1),
            Cell(choice.help, look.ink.muted),
        )
        yield line(width, cells)


def _shares(record: Judged, width: int, look: Appearance) -> Iterator[Line]:
    """Yield a line for each author: the share that was promoted, by week, and that of the priorities that stood."""
    priorities = {stats.name: stats for stats in record.priorities}
    for stats in sorted(record.authors, key=lambda stats: -stats.tasks)[:_MOST_AUTHORS]:
        if stats.rate is None:
            continue
        kind, _, author = stats.name.partition(" of ")
        promoted = f"{stats.done} of {stats.done + stats.failed} promoted, {analytics.percent(stats.rate)} %"
        cells = [
            Cell(stats.name, look.ink.text, min(28, width // 3)),
            Cell(promoted, look.ink.muted),
            Cell(analytics.spark(stats.weeks, look.shapes.levels), look.ink.accent, analytics.WEEKS),
        ]
        yield line(width, cells)
        own = priorities.get(author)
        if own is not None and own.rate is not None and kind == "discoveries":
            stood = f"{own.done} of {own.done + own.failed} priorities kept"
            yield line(width, (Cell("", look.ink.text, min(28, width // 3)), Cell(stood, look.ink.muted)))
