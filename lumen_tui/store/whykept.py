"""What `why` knows of notes of the archive and of texts in relays: which is meant, what it is, what it came from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lumen_tui.model.archive import WITHDRAWN, Passage
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.relay import Status, Submission
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.whytrace import Hop
from lumen_tui.store import archive, nodes, relay
from lumen_tui.store.layout import Layout
from lumen_tui.store.provenance import Link

KINDS = ("arc-", "rly-")
_TITLE = 120
_BY_TASK = re.compile(r"([a-z0-9][a-z0-9-]*):[0-9a-f]{32}")  # the key of what a worker submits


def resolve(layout: Layout, text: str) -> str:
    """The id that `text` begins. LookupError where there is none, Ambiguous for several."""
    if text.startswith("arc-"):
        return archive.resolve(layout, text)
    found = sorted({one.id for _, one in relay.everything(layout) if one.id.startswith(text)})
    if text in found:
        return text
    if not found or len(text) <= len("rly-"):
        raise LookupError(text)
    if len(found) > 1:
        raise nodes.Ambiguous(tuple(found[:10]))
    return found[0]


def hop(layout: Layout, name: str) -> Hop | None:
    """The thing itself; None where there is none."""
    if name.startswith("arc-"):
        try:
            note = archive.find(layout, [name]).get(name)
        except UNDECODABLE:
            return None
        return _note(note) if note else None
    return next((_text(where, one) for where, one in relay.everything(layout) if one.id == name), None)


def _note(note: Passage) -> Hop:
    source = f" (from {note.source})" if note.source else ""
    title = one_line(f"{note.content.partition(chr(10))[0]}{source}", _TITLE)
    status = WITHDRAWN if note.status == WITHDRAWN else safe(note.kind)
    return Hop(safe(note.id), "archival", title, status, safe(note.created_at), one_line(note.created_by, 60))


def _text(where: str, one: Submission) -> Hop:
    place = f"{where} {one.position}: " if one.position else f"{where}: "
    title = one_line(place + one.title, _TITLE)
    return Hop(safe(one.id), "relay", title, str(one.status), safe(one.at), one_line(one.by, 60))


def links(layout: Layout) -> Iterator[Link]:
    """To the work unit of a note, to the task that put a text in, and to the text that it was put in again for."""
    for note in archive.passages(layout):
        if note.wu_id:
            yield Link(note.id, note.wu_id, "kept for", "kept in the archive")
    for _, one in relay.everything(layout):
        if keyed := _BY_TASK.fullmatch(one.key):
            yield Link(one.id, keyed.group(1), "put in by task", "put in")
        if one.status is Status.REPLACED and one.note.startswith("as rly-"):
            yield Link(one.note.removeprefix("as "), one.id, "put in again for", "put in again as")
