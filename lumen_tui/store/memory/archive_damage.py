"""Damaged lines of the archive, for the list of what is wrong. The notes themselves are not kept in memory."""

from __future__ import annotations

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import PIECE, Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.memory import archive


class ArchiveDamage:
    """Looks through memory/archival.jsonl, each byte once."""

    def __init__(self, layout: Layout) -> None:
        self._follower = Follower(layout.archival)
        self.damage = Damage("memory/archival.jsonl", self._follower)
        self.revision = 0

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def refresh(self) -> bool:
        """Check the next part of what is new; return whether there is more."""
        if not self._follower.pending():
            return False
        offset, data = self._follower.poll(PIECE)  # an archive may be large: a snapshot waits for one piece only
        for at, line in split_lines(data, offset):
            try:
                archive.decode(line)
            except UNDECODABLE as error:
                self.damage.add(at, line, str(error))
        self.revision += 1
        return self._follower.offset < self._follower.size and bool(data)
