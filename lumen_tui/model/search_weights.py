"""What a search weighs its hits by. A version of the evolved edits may have other values."""

from __future__ import annotations

from msgspec import Struct


class SearchWeights(Struct, frozen=True):
    """Shares of a score, and what hits give to what stands beside them; docs/memory.md has the figures."""

    importance: float = 0.15  # share of a score; relevance has what this and recency leave
    recency: float = 0.15
    half_life: float = 30.0  # days after which recency counts half
    beside: float = 0.4  # of its bm25, for what is one turn away in a session; two and three: half of that
    session: float = 0.3  # of the best bm25, for the session with the most of it; others by their share
    linked: float = 0.55  # of the score of the hit that it is linked to

    @property
    def relevance(self) -> float:
        """Its share of a score."""
        return 1.0 - self.importance - self.recency


WEIGHT_BOUNDS = {  # by name: what an edit may set
    "importance": (0.0, 0.4),
    "recency": (0.0, 0.4),
    "half_life": (1.0, 3650.0),
    "beside": (0.0, 1.0),
    "session": (0.0, 1.0),
    "linked": (0.0, 1.0),
}
SHIPPED = SearchWeights()
