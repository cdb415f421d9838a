"""Near duplicates among open discoveries, by their titles (rapidfuzz's token set ratio)."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import fuzz, process, utils

from lumen_tui.model.snapshot import DiscoveryRow

CUTOFF = 80  # per cent below which two titles are not called alike
_MOST = 5000  # discoveries compared; the most urgent ones


class Titles:
    """The titles of the open discoveries, read once for each state of memory."""

    def __init__(self) -> None:
        self._revision = -1
        self._titles: dict[str, str] = {}

    def nearest(self, node_id: str, rows: Sequence[DiscoveryRow], revision: int) -> tuple[str, int] | None:
        """The other discovery most like `node_id` and how much, in per cent; None where none comes near."""
        if revision != self._revision:
            self._revision = revision
            self._titles = {row.node.id: utils.default_process(row.node.title) for row in rows[:_MOST]}
        mine = self._titles.get(node_id)
        if not mine:
            return None
        others = {other: title for other, title in self._titles.items() if other != node_id}
        best = process.extractOne(mine, others, scorer=fuzz.token_set_ratio, score_cutoff=CUTOFF)
        return (best[2], round(best[1])) if best else None
