"""The archive, memory/archival.jsonl: notes kept for good. Append-only; the last line of an id is the valid one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import msgspec

from lumen_tui.model.archive import WITHDRAWN, Passage
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.storage import files
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import PIECE, Follower, Journal, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.memory import nodes

_decoder = lazy_decoder(Passage)


def append(layout: Layout, passages: Sequence[Passage], actions: bytes = b"") -> list[Passage]:
    """Record notes durably, with the action lines that report them; return those that were not there yet.

    A note whose id is already there is left out, so that an import that was cut off can be run again; one that was
    withdrawn since comes back. Nothing is written where nothing is new. Raises files.StoreError.
    """
    lines = [encode(passage) for passage in passages]  # a line that is too long fails before anything is written
    with files.locked_log(layout.archival) as fd:
        newest = _as_passages(nodes.newest(fd, [passage.id for passage in passages]))
        present = {passage.id for passage in newest.values() if passage.status != WITHDRAWN}
        new = {
            passage.id: (passage, line)
            for passage, line in zip(passages, lines, strict=True)
            if passage.id not in present
        }
        if new:
            nodes.append_both(layout, fd, b"".join([line for _, line in new.values()]), actions)
    return [passage for passage, _ in new.values()]


def read(line: bytes) -> Passage | None:
    """Return the note on a line; None where it is damaged."""
    try:
        return _decoder.decode(line)
    except UNDECODABLE:
        return None


def passages(layout: Layout) -> Iterator[Passage]:
    """Return every valid note, in the order of first insertion. Damaged lines are skipped."""
    newest: dict[str, Passage] = {}
    for line in Journal(layout.archival).lines():
        if passage := read(line):
            newest[passage.id] = passage
    return (passage for passage in newest.values() if passage.status != WITHDRAWN)


def find(layout: Layout, passage_ids: Sequence[str]) -> dict[str, Passage]:
    """Return the newest note of each id, withdrawn or not; a line with wrong types is skipped."""
    return _as_passages(nodes.find(layout.archival, passage_ids))


def _as_passages(records: dict[str, tuple[int, nodes.Raw]]) -> dict[str, Passage]:
    notes = {}
    for passage_id, (_, record) in records.items():
        with contextlib.suppress(*UNDECODABLE):
            notes[passage_id] = msgspec.convert(record, Passage)
    return notes


def resolve(layout: Layout, text: str) -> str:
    """Return the id that begins with `text`, with or without `arc-`. Raises LookupError or ids.Ambiguous."""
    return nodes.resolve(layout.archival, text, "arc")


def set_status(layout: Layout, passage_id: str, status: str, actions: bytes = b"") -> None:
    """Withdraw a note, or restore it with the empty status. LookupError where there is none."""
    with files.locked_log(layout.archival) as fd:
        records = nodes.newest(fd, [passage_id])
        if passage_id not in records:
            raise LookupError(passage_id)
        record = records[passage_id][1]
        record["status"] = status
        nodes.append_both(layout, fd, encode(record), actions)


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
                _decoder.decode(line)
            except UNDECODABLE as error:
                self.damage.add(at, str(error))
        self.revision += 1
        return self._follower.offset < self._follower.size and bool(data)
