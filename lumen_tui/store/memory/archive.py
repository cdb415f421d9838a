"""memory/archival.jsonl: notes kept for good. Appended, never changed; the last line of an id is the valid one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

import msgspec

from lumen_tui.model.archive import WITHDRAWN, Passage
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import nodes

decode = msgspec.json.Decoder(Passage).decode


def append(layout: Layout, passages: Sequence[Passage], actions: bytes = b"") -> list[Passage]:
    """Record notes durably, with the action lines that tell of them; returns those that were not there yet.

    A note whose id stands there already is left out, so that an import that was cut off can be done again; one that
    was withdrawn since comes back. Nothing is written where nothing is new. Raises files.StoreError.
    """
    lines = [encode(one) for one in passages]  # too long a line is found before anything is written
    with files.locked_log(layout.archival) as fd:
        newest = _as_passages(nodes.newest(fd, [one.id for one in passages]))
        there = {one.id for one in newest.values() if one.status != WITHDRAWN}
        new = {one.id: (one, line) for one, line in zip(passages, lines, strict=True) if one.id not in there}
        if new:
            nodes.append_both(layout, fd, b"".join([line for _, line in new.values()]), actions)
    return [one for one, _ in new.values()]


def read(line: bytes) -> Passage | None:
    """The note on a line; None where it is damaged."""
    try:
        return decode(line)
    except UNDECODABLE:
        return None


def passages(layout: Layout) -> Iterator[Passage]:
    """Every valid note, in the order in which they were first inserted. Damaged lines are passed over."""
    found: dict[str, Passage] = {}
    for line in Journal(layout.archival).lines():
        if one := read(line):
            found[one.id] = one
    return (one for one in found.values() if one.status != WITHDRAWN)


def find(layout: Layout, wanted: Sequence[str]) -> dict[str, Passage]:
    """The newest line of each wanted id, withdrawn or not; a line of wrong types is passed over."""
    return _as_passages(nodes.find(layout.archival, wanted))


def _as_passages(found: dict[str, tuple[int, nodes.Raw]]) -> dict[str, Passage]:
    notes = {}
    for one, (_, record) in found.items():
        with contextlib.suppress(*UNDECODABLE):
            notes[one] = msgspec.convert(record, Passage)
    return notes


def resolve(layout: Layout, text: str) -> str:
    """The id that `text` begins, with or without `arc-`. LookupError where there is none, ids.Ambiguous for several."""
    return nodes.resolve(layout.archival, text, "arc")


def set_status(layout: Layout, passage_id: str, status: str, actions: bytes = b"") -> None:
    """Withdraw a note, or bring it back with the empty status. LookupError where there is none."""
    with files.locked_log(layout.archival) as fd:
        found = nodes.newest(fd, [passage_id])
        if passage_id not in found:
            raise LookupError(passage_id)
        record = found[passage_id][1]
        record["status"] = status
        nodes.append_both(layout, fd, encode(record), actions)


def size(layout: Layout) -> int:
    """Bytes in the archive; 0 where there is none."""
    try:
        return os.stat(layout.archival).st_size
    except FileNotFoundError:
        return 0
