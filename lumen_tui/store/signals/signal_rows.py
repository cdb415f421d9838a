"""The rows of the signal index as the room shows them: each signal is read from disk when it is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumen_tui.model.records import SignalRow, decode_signal
from lumen_tui.storage.lazy_rows import LazyRows
from lumen_tui.storage.line_access import Offsets, OpenFile

UNREAD, READ = 0, 1
_PLAIN_WORD = re.compile(r"[a-z0-9 _.:,;#@%+*=()-]+").fullmatch  # written in a record as in its text
_UNWRITTEN = "coordination system unknown (not readable)"  # what records may leave out and rows show


class SignalList(LazyRows[SignalRow]):
    """Signals of one moment, newest first; each is read from disk when it is shown."""

    def __init__(self, file: OpenFile, offsets: Offsets, seen: bytes, end: int) -> None:
        self._file = file
        self._offsets = offsets
        self._seen = seen
        self._end = end  # offset after the last of them
        self._size = len(seen)

    def __len__(self) -> int:
        return self._size

    def having(self, words: Sequence[str], start: int, stop: int) -> list[int]:
        """Return the places whose records may hold all of these words (in lower case): too many rather than too few."""
        needles = [word.encode() for word in words if _PLAIN_WORD(word) and word not in _UNWRITTEN]
        first, last = self._size - stop, self._size - start  # ordinals, from and to below
        if not needles or first >= last:
            return list(range(start, stop))
        offsets = self._offsets
        begin = offsets[first]
        data = self._file.part(begin, offsets[last] if last < self._size else self._end).lower()
        places = []
        for ordinal in range(last - 1, first - 1, -1):
            at = offsets[ordinal] - begin
            end = offsets[ordinal + 1] - begin if ordinal + 1 < last else len(data)
            if all(data.find(word, at, end) >= 0 for word in needles):
                places.append(self._size - 1 - ordinal)
        return places

    def at(self, place: int) -> SignalRow:
        ordinal = self._size - 1 - place
        signal = decode_signal(self._file.line(self._offsets[ordinal]))
        return SignalRow(signal=signal, unread=self._seen[ordinal] == UNREAD)
