"""The near double of each open discovery that a command lists, kept in the disposable index.

A discovery is known by the offset of its line: a changed one gets another line. What was compared once is compared only
with those that came since, so that a list that did not change is shown without reading the titles of all.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import NamedTuple

from lumen_tui.model.records import MOST_COMPARED
from lumen_tui.storage import directories, files, kept
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory.node_index import NodeIndex
from lumen_tui.store.memory.node_rows import DiscoveryList

LEAST = 50  # below so many they are rather compared again than kept
_VERSION = 1  # of what is kept
_NONE = (1 << 64) - 1  # in place of the offset of a near double


class Near(NamedTuple):
    """The most similar other discovery, by the offset of its line, and the likeness of both titles in per cent."""

    place: int
    score: float


_NOBODY = Near(_NONE, 0.0)


class NearDoubles:
    """What is known of the discoveries of one moment."""

    def __init__(self, layout: Layout, index: NodeIndex, every: DiscoveryList) -> None:
        self.news = ""  # why what was kept is of no use, for a person
        self._path = layout.index / "likeness.columns"
        self._marks = {"nodes": index.kept.marks()["nodes"]}
        self._every = every
        self._places = every.places(MOST_COMPARED)
        self._rank = {place: number for number, place in enumerate(self._places)}
        self._known: dict[int, Near] = {}
        self._added = list(range(len(self._places)))  # those with which the known ones were not compared, by rank
        self._titles: dict[int, str] = {}
        if len(self._places) >= LEAST:
            self._restore(layout)

    def of(self, numbers: Sequence[int]) -> dict[str, tuple[str, int]]:
        """Return id and per cent of the near double of each of these that has one, by its id.

        `numbers` are places in the list of discoveries.
        """
        before = dict(self._known)
        nearest = {self._places[number]: self._nearest(number) for number in numbers if number < len(self._places)}
        if self._added or nearest.keys() - before.keys() or any(before[place] != nearest[place] for place in nearest):
            self._keep(nearest)
        return {
            self._name(place): (self._name(near.place), round(near.score))
            for place, near in nearest.items()
            if near != _NOBODY
        }

    def _name(self, place: int) -> str:
        return self._every[self._rank[place]].node.id

    def _nearest(self, number: int) -> Near:
        place = self._places[number]
        known = self._known.get(place)
        if known is None:
            return self._best(number, range(len(self._places)), _NOBODY)
        return self._best(number, self._added, known) if self._added else known

    def _best(self, number: int, others: Sequence[int], best: Near) -> Near:
        """Return the nearest among the `others` and the best so far; of equals the first in the list."""
        from lumen_tui.engine.likeness import nearest_title  # rapidfuzz: not where all is known

        titles = {other: self._title(other) for other in others if other != number}
        nearest = nearest_title(self._title(number), titles, at_least=best.score)
        if nearest is None or (nearest[1] == best.score and self._rank.get(best.place, number) < nearest[0]):
            return best
        return Near(self._places[nearest[0]], nearest[1])

    def _title(self, number: int) -> str:
        if number not in self._titles:
            from lumen_tui.engine.likeness import comparable

            self._titles[number] = comparable(self._every[number].node.title)
        return self._titles[number]

    def _restore(self, layout: Layout) -> None:
        """Take over what an earlier command found, as far as the journal still begins with what it read."""
        try:
            content = kept.read(self._path, _VERSION)
        except kept.NotUsable as error:
            self.news = f"index/{self._path.name} {error}: it is made again"
            return
        except (files.StoreError, OSError):
            return
        if content is None:
            return
        with closing(Follower(layout.memory)) as journal:
            if not journal.take_up(content.marks["nodes"]):
                return
        compared = set(_numbers(content.columns["compared"]))
        self._added = [number for number, place in enumerate(self._places) if place not in compared]
        self._known = {
            place: Near(near, score)
            for place, near, score in zip(
                _numbers(content.columns["of"]),
                _numbers(content.columns["near"]),
                array("d", content.columns["score"].tobytes()),
                strict=True,
            )
            if place in self._rank and (near == _NONE or near in self._rank)
        }

    def _keep(self, nearest: Mapping[int, Near]) -> None:
        """Keep what holds for the discoveries of now: what was not looked at was not compared with those added."""
        if len(self._places) < LEAST:
            return
        valid = {**({} if self._added else self._known), **nearest}
        columns: dict[str, kept.Column] = {
            "compared": array("Q", self._places),
            "of": array("Q", valid),
            "near": array("Q", [near.place for near in valid.values()]),
            "score": array("d", [near.score for near in valid.values()]),
        }
        with suppress(files.StoreError, OSError):  # a folder that takes none: all is compared the next time
            directories.make_folder(self._path.parent)
            kept.write(self._path, _VERSION, self._marks, {}, columns)


def _numbers(column: memoryview) -> array[int]:
    return array("Q", column.tobytes())
