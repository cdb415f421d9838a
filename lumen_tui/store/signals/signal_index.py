"""The signals journal as a list: where each line begins and whether one reader has seen it.

It takes five bytes a signal in memory; the records themselves are read when they are shown.
"""

from __future__ import annotations

import os
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model import jsontext
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.records import EVERYONE, Receipt, Signal, SignalRow, decode_receipt, decode_signal
from lumen_tui.storage import files
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import PIECE, Follower
from lumen_tui.storage.kept import KeptIndex
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.lazy_rows import LazyRows
from lumen_tui.storage.line_access import Offsets, OpenFile, split_lines
from lumen_tui.storage.stamped import stamp

if TYPE_CHECKING:
    from lumen_tui.storage.kept import Column

_VERSION = 1  # of the kept columns
_READERS = 8  # whose columns are kept
_NAME, _ENDING = "signals-", ".columns"
_SEARCH = 100_000  # lines walked back for a receipt without offset that came after its signal was read
UNREAD, READ = 0, 1
_PLAIN_WORD = lazy_re(r"[a-z0-9 _.:,;#@%+*=()-]+").fullmatch  # written in a record as in its text
_UNWRITTEN = "coordination system unknown (not readable)"  # what records may leave out and rows show


class _IndexedSignal(msgspec.Struct, gc=False):
    """The fields of a signal that the index needs."""

    id: str
    read: bool = False
    priority: str = ""


_slim = lazy_decoder(_IndexedSignal)


def kept_path(layout: Layout, reader: str) -> Path:
    """Return the file in which the columns of a reader are kept."""
    return layout.index / f"{_NAME}{zlib.crc32(reader.encode()):08x}{_ENDING}"


def _forget_readers(path: Path) -> None:
    """Remove the columns of readers that did not come for long: of those there can be any number."""
    names = [path.parent / name for name in os.listdir(path.parent) if name.startswith(_NAME)]
    if len(names) > _READERS:
        for other in sorted(names, key=lambda name: stamp(name)[2])[:-_READERS]:
            files.discard(str(other))


def _receipts_of(reader: str, data: bytes) -> list[Receipt]:
    """Return the receipts in whole lines that count for a reader."""
    receipts = [
        decode_receipt(line) for _, line in split_lines(data, 0)
    ]  # a wrong one hides nothing; `doctor` names it
    return [receipt for receipt in receipts if receipt and receipt.reader in (reader, EVERYONE)]


class SignalIndex:
    """Follows signals.jsonl and signal-receipts.jsonl for one reader, with `ends` up to these offsets alone."""

    def __init__(self, layout: Layout, reader: str, ends: Mapping[Path, int] | None = None) -> None:
        self._signals = Follower(layout.signals, ends[layout.signals] if ends else None)
        self._receipts = Follower(layout.receipts, ends[layout.receipts] if ends else None)
        self._partly = ends is not None  # what is kept is of whole journals
        self._reader = reader
        self._read_ids: set[str] = set()
        self._pending: dict[str, Receipt] = {}  # receipts whose signal was not read yet
        self._newest: dict[str, int] = {}  # ids of the last lines read
        self.damage = Damage("memory/signals.jsonl", self._signals)
        self.revision = 0
        followers = {"signals": self._signals, f"receipts of {reader}": self._receipts}
        self.kept = KeptIndex(kept_path(layout, reader), _VERSION, followers)
        self._begun = False
        self._clear()

    def _clear(self) -> None:
        self._offsets = Offsets()
        self._seen = bytearray()
        self._file: OpenFile | None = None
        self._p0 = array("Q")  # ordinals of P0 signals
        self.unread = 0

    def close(self) -> None:
        """Close the journals. Rows that were handed out can still be read."""
        self._signals.close()
        self._receipts.close()
        self._file = None

    def changed(self) -> bool:
        """Return whether a refresh would find something. Costs two `stat` calls."""
        return self._signals.pending() or self._receipts.changed()

    @property
    def share(self) -> float:
        """The share of the journal that was read, 0 to 1."""
        unread = self._signals.pending() and self._signals.size > 0
        return self._signals.offset / self._signals.size if unread else 1.0

    def refresh(self) -> bool:
        """Read the next part of what is new; return whether there is more. The first call begins with what is kept."""
        if not self._begun:
            self._restore()
        generation = self._signals.generation
        if self._receipts.changed():
            self._poll_receipts()
        before = self._signals.offset
        offset, data = self._signals.poll(PIECE)
        if self._signals.generation != generation:
            self._begin_again()
        if data:
            self._take(offset, data)
        self._settle()
        more = self._signals.offset != before and self._signals.offset < self._signals.size
        if not more and not self._pending and not self._partly and self.kept.due():
            self._keep()
        return more

    def _restore(self) -> None:
        """Take over what an earlier process kept, as far as the journals still begin with it."""
        self._begun = True
        stored = None if self._partly else self.kept.load()
        if stored is None:
            return
        self._offsets = Offsets.restored(stored.columns)
        self._seen = bytearray(stored.columns["seen"])
        self._p0.frombytes(stored.columns["p0"])
        self._read_ids.update((jsontext.decode(bytes(stored.columns["read"])) or {}).get("ids", ()))
        self.damage.restore(stored.values["damage"])
        if self._seen:
            self._file = OpenFile(self._signals.open_copy())

    def _keep(self) -> None:
        read = jsontext.dumps({"ids": list(self._read_ids)}).encode()
        own: dict[str, Column] = {"seen": self._seen, "p0": self._p0, "read": read}
        if self.kept.save({"damage": self.damage.values()}, {**self._offsets.columns(), **own}):
            _forget_readers(self.kept.path)

    def _begin_again(self) -> None:
        """Start over after a journal was rewritten: ordinals or read marks are void, every receipt is applied again."""
        self._clear()
        self._newest.clear()
        self._receipts.start_over()
        self._poll_receipts()
        self.revision += 1

    def rows(self) -> Sequence[SignalRow]:
        """Return the signals, as of the last refresh."""
        if self._file is None:
            return ()
        return SignalList(self._file, self._offsets, bytes(self._seen), self._signals.offset)

    def unread_p0(self, limit: int = 100) -> list[Signal]:
        """Return the newest unread P0 signals."""
        unread = [at for at in reversed(self._p0) if self._seen[at] == UNREAD][:limit]
        return [decode_signal(self._file.line(self._offsets[at])) for at in unread if self._file]

    def _take(self, base: int, data: bytes) -> None:
        if self._file is None:
            self._file = OpenFile(self._signals.open_copy())
        self._newest.clear()
        for offset, line in split_lines(data, base):
            try:
                slim = _slim.decode(line)
            except UNDECODABLE as error:
                if not isinstance(error, msgspec.ValidationError) or b'"id"' not in line:
                    self.damage.add(offset, str(error))
                    continue
                slim = _IndexedSignal(id="")
            self._newest[slim.id] = len(self._seen)
            if slim.priority == "P0":
                self._p0.append(len(self._seen))
            self._offsets.append(offset)
            self._seen.append(READ if slim.read or slim.id in self._read_ids else UNREAD)

    def _poll_receipts(self) -> None:
        generation = self._receipts.generation
        while self._receipts.changed() or self._receipts.offset < self._receipts.size:
            before = self._receipts.offset
            _, data = self._receipts.poll(PIECE)
            if self._receipts.generation != generation:
                generation = self._receipts.generation
                self._read_ids.clear()
                self._signals.rewind()  # what was marked by a receipt that is gone is unread again
            self._note(_receipts_of(self._reader, data))
            if self._receipts.offset == before:
                return

    def _note(self, receipts: list[Receipt]) -> None:
        for receipt in receipts:
            if receipt.upto or receipt.signal_id not in self._pending:
                self._pending[receipt.signal_id] = receipt
            if not receipt.upto:
                self._read_ids.add(receipt.signal_id)

    def _settle(self) -> None:
        """Apply the receipts whose signal is known by now, and count the unread."""
        for receipt in list(self._pending.values()):
            ordinal = self._find(receipt)
            if ordinal is not None:
                self._mark(ordinal, receipt.upto)
                del self._pending[receipt.signal_id]
        if self._pending and self._signals.offset >= self._signals.size:
            self._search()
            self._pending.clear()  # the remaining ones belong to no signal
        self.revision += 1
        self.unread = self._seen.count(UNREAD)

    def _mark(self, ordinal: int, upto: bool) -> None:
        if upto:
            self._seen[: ordinal + 1] = bytes([READ]) * (ordinal + 1)
        else:
            self._seen[ordinal] = READ

    def _find(self, receipt: Receipt) -> int | None:
        """Return the ordinal of a receipt's signal, from the newest lines or the receipt's own offset."""
        if (ordinal := self._newest.get(receipt.signal_id)) is not None:
            return ordinal
        if receipt.offset < 0 or self._file is None:
            return None
        at = bisect_left(self._offsets, receipt.offset)
        if at < len(self._offsets) and self._offsets[at] == receipt.offset and self._id(at) == receipt.signal_id:
            return at
        return None

    def _id(self, ordinal: int) -> str:
        assert self._file is not None  # noqa: S101 - there are offsets only with a file
        try:
            return _slim.decode(self._file.line(self._offsets[ordinal])).id
        except UNDECODABLE:
            return ""

    def _search(self) -> None:
        """Find the signals of receipts without a usable offset: one walk back from the newest line."""
        last = len(self._offsets)
        for ordinal in range(last - 1, max(-1, last - 1 - _SEARCH), -1):
            if not self._pending:
                return
            if receipt := self._pending.pop(self._id(ordinal), None):
                self._mark(ordinal, receipt.upto)


class _AboutUnit(msgspec.Struct, gc=False):
    wu_id: str = ""


_about_unit = lazy_decoder(_AboutUnit)


def units_of_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[str, int]]:
    """Yield (work unit, offset) of each line that can be read, without decoding the rest of it."""
    for offset, line in lines:
        try:
            yield _about_unit.decode(line).wu_id, offset
        except UNDECODABLE:
            continue


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
