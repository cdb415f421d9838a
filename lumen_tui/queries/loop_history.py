"""What past loops left, as lists and pages show it: their packets, which may be any number, and their capsules."""

from __future__ import annotations

from collections.abc import Iterator

from lumen_tui.model.capsule import Capsule
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import Packet
from lumen_tui.storage import files
from lumen_tui.storage.journal import PIECE, Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.lazy_rows import LazyRows
from lumen_tui.storage.line_access import Offsets, OpenFile
from lumen_tui.store.memory.loop_records import capsule_path, packet_in

_MOST = 1024 * 1024  # bytes of a capsule that are read
_DAMAGED = "this line of loops/packets.jsonl cannot be read"


def read_capsule(layout: Layout, loop: int) -> Capsule | None:
    """Return the capsule that a loop woke with, safe to show; None where there is none that can be read."""
    try:
        data = files.read(capsule_path(layout, loop), _MOST)
        return None if data is None else decode_safe(data, Capsule)
    except (*UNDECODABLE, files.StoreError, OSError):
        return None


class PacketRows(LazyRows[Packet]):
    """The packets of one moment, newest first."""

    def __init__(self, file: OpenFile | None, offsets: Offsets, count: int) -> None:
        self._file = file
        self._offsets = offsets
        self._count = count

    def __len__(self) -> int:
        return self._count

    def at(self, place: int) -> Packet:
        """Return one packet; for a line that cannot be read, a packet that says so."""
        line = self._file.line(self._offsets[self._count - 1 - place]) if self._file else b""
        return packet_in(line) or Packet(f"line-{self._count - place}", 0, "", "", failed=_DAMAGED)


class PacketIndex:
    """Follows the journal. Not safe for use by two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self._follower = Follower(layout.packets)
        self._generation = 0
        self._offsets = Offsets()

    def refresh(self) -> PacketRows:
        """Read what is new and return all packets."""
        while True:
            offset, data = self._follower.poll(PIECE)
            if self._follower.generation != self._generation:
                self._generation = self._follower.generation
                self._offsets = Offsets()
            if not data:
                break
            at = 0
            while (end := data.find(b"\n", at)) >= 0:
                if end > at:
                    self._offsets.append(offset + at)
                at = end + 1
        return self.rows()

    def rows(self) -> PacketRows:
        """Return all packets, as of the last refresh."""
        file = OpenFile(self._follower.open_copy()) if len(self._offsets) else None
        return PacketRows(file, self._offsets, len(self._offsets))

    def of_loop(self, loop: int) -> Packet | None:
        """Return the packet of one loop; None where there is none."""
        return next((packet for packet in _near(self.rows(), loop) if packet.loop == loop), None)


def _near(rows: PacketRows, loop: int) -> Iterator[Packet]:
    """Yield the packets, those near this loop's likely place first: numbers grow by about one from line to line."""
    if not rows:
        return
    guess = max(0, min(len(rows) - 1, rows[0].loop - loop))
    yield from (rows.at(place) for place in range(max(0, guess - 8), min(len(rows), guess + 9)))
    yield from (rows.at(place) for place in range(len(rows)))
