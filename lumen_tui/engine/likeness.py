"""Open discoveries that resemble each other, by their titles (rapidfuzz's token set ratio)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from rapidfuzz import fuzz, process, utils

from lumen_tui.model.records import ALIKE_FROM, MOST_COMPARED, Alike, DiscoveryRow

K = TypeVar("K", int, str)
_LEAST_LINE = 12  # characters below which a line that comes again may be meant


def comparable(title: str) -> str:
    """Return a title as it is compared: small letters and digits, blanks for all else."""
    return utils.default_process(title)


def nearest_title(title: str, others: Mapping[K, str], *, at_least: float = 0.0) -> tuple[K, float] | None:
    """Return the key of the comparable title most like this one, the first of equals, and how alike in per cent.

    None where none comes as near as `at_least`, or near at all.
    """
    cutoff = max(float(ALIKE_FROM), at_least)
    best = process.extractOne(title, others, scorer=fuzz.token_set_ratio, score_cutoff=cutoff) if title else None
    return (best[2], best[1]) if best else None


def near_lines(text: str, at_least: float) -> str:
    """Return a text without lines that are nearly those above, in per cent; short ones and other figures stay."""
    kept: list[str] = []
    seen: list[str] = []
    for line in text.splitlines(keepends=True):
        plain = comparable(line)
        again = len(plain) >= _LEAST_LINE and any(
            fuzz.ratio(plain, other) >= at_least and _figures(plain) == _figures(other) for other in seen
        )
        if not again:
            kept.append(line)
            seen.append(plain)
    return "".join(kept)


def _figures(text: str) -> list[str]:
    return [word for word in text.split() if not word.isalpha()]


class Titles:
    """The titles of the open discoveries, read once for each state of memory."""

    def __init__(self) -> None:
        self._revision = -1
        self._rows: dict[str, Alike] = {}
        self._titles: dict[str, str] = {}

    def nearest(self, node_id: str, rows: Sequence[DiscoveryRow], revision: int) -> tuple[str, int] | None:
        """Return the other discovery most like `node_id` and how alike, in per cent; None if none comes near."""
        self._read(rows, revision)
        others = {other: title for other, title in self._titles.items() if other != node_id}
        best = nearest_title(self._titles.get(node_id, ""), others)
        return (best[0], round(best[1])) if best else None

    def near(self, node_id: str, rows: Sequence[DiscoveryRow], revision: int) -> list[Alike]:
        """Return the others with a similar title, most similar first."""
        return [other for other in self.alike(node_id, rows, revision)[1:] if other.score >= ALIKE_FROM]

    def alike(self, node_id: str, rows: Sequence[DiscoveryRow], revision: int) -> list[Alike]:
        """Return this discovery, then those with a similar title or the same tags and work unit, most similar first.

        Those that share no more than tags and work unit are not sure to be meant: `bug` is on most of a unit's.
        """
        self._read(rows, revision)
        own = self._rows.get(node_id)
        if own is None:
            return []
        others = {other: title for other, title in self._titles.items() if other != node_id}
        scored = process.extract(self._titles[node_id], others, scorer=fuzz.token_set_ratio, limit=None)
        judged = [_judged(self._rows[key], round(score)) for _, score, key in scored]
        near = [other for other in judged if other.score >= ALIKE_FROM or _same_work(own, other)]
        return [own, *sorted(near, key=lambda other: (not other.sure, -other.score))]

    def _read(self, rows: Sequence[DiscoveryRow], revision: int) -> None:
        if revision == self._revision:
            return
        self._rows = {row.node.id: _alike(row) for row in rows[:MOST_COMPARED]}
        self._titles = {key: comparable(row.title) for key, row in self._rows.items()}
        self._revision = revision


def _alike(row: DiscoveryRow) -> Alike:
    node = row.node
    return Alike(node.id, node.title, node.priority, node.wu_id, node.tags, row.created)


def _same_work(own: Alike, other: Alike) -> bool:
    return bool(own.tags) and set(own.tags) == set(other.tags) and own.wu_id == other.wu_id


def _judged(other: Alike, score: int) -> Alike:
    return msgspec.structs.replace(other, score=score, sure=score >= ALIKE_FROM)
