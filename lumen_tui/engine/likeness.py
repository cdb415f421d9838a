"""Open discoveries that resemble each other, by their titles (rapidfuzz's token set ratio)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rapidfuzz import fuzz, process, utils

from lumen_tui.model.listings import Alike
from lumen_tui.model.snapshot import DiscoveryRow

CUTOFF = 80  # per cent below which two titles are not called alike
_MOST = 5000  # discoveries compared; the most urgent ones


class Titles:
    """The titles of the open discoveries, read once for each state of memory."""

    def __init__(self) -> None:
        self._revision = -1
        self._rows: dict[str, Alike] = {}
        self._titles: dict[str, str] = {}

    def nearest(self, node_id: str, rows: Sequence[DiscoveryRow], revision: int) -> tuple[str, int] | None:
        """The other discovery most like `node_id` and how much, in per cent; None where none comes near."""
        self._read(rows, revision)
        mine = self._titles.get(node_id)
        if not mine:
            return None
        others = {other: title for other, title in self._titles.items() if other != node_id}
        best = process.extractOne(mine, others, scorer=fuzz.token_set_ratio, score_cutoff=CUTOFF)
        return (best[2], round(best[1])) if best else None

    def near(self, node_id: str, rows: Sequence[DiscoveryRow], revision: int) -> list[Alike]:
        """The others with a title like its own, likest first."""
        return [other for other in self.alike(node_id, rows, revision)[1:] if other.score >= CUTOFF]

    def alike(self, node_id: str, rows: Sequence[DiscoveryRow], revision: int) -> list[Alike]:
        """This discovery, then those with a title like its own or with the same tags and work unit, likest first.

        Those without a work unit that share no more than their tags are not sure to be meant.
        """
        self._read(rows, revision)
        mine = self._rows.get(node_id)
        if mine is None:
            return []
        others = {other: title for other, title in self._titles.items() if other != node_id}
        scored = process.extract(self._titles[node_id], others, scorer=fuzz.token_set_ratio, limit=None)
        found = [_judged(mine, self._rows[key], round(score)) for _, score, key in scored]
        near = [one for one in found if one.score >= CUTOFF or _same_work(mine, one)]
        return [mine, *sorted(near, key=lambda one: (not one.sure, -one.score))]

    def _read(self, rows: Sequence[DiscoveryRow], revision: int) -> None:
        if revision == self._revision:
            return
        self._rows = {row.node.id: _alike(row) for row in rows[:_MOST]}
        self._titles = {key: utils.default_process(row.title) for key, row in self._rows.items()}
        self._revision = revision


def _alike(row: DiscoveryRow) -> Alike:
    node = row.node
    return Alike(node.id, node.title, node.priority, node.wu_id, node.tags, row.created)


def _same_work(mine: Alike, other: Alike) -> bool:
    return bool(mine.tags) and set(mine.tags) == set(other.tags) and mine.wu_id == other.wu_id


def _judged(mine: Alike, other: Alike, score: int) -> Alike:
    sure = score >= CUTOFF or (bool(mine.wu_id) and _same_work(mine, other))
    return msgspec.structs.replace(other, score=score, sure=sure)
