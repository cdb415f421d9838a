"""Undo for lines appended to a journal in which no line replaces another: undo removes them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Change
from lumen_tui.storage import rewriting
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store

Raw = dict[str, Any]
READ_KIND = "read"  # of a change: receipts of one reader
_EACH = 200  # lines in one change, which must fit into one line of the journal of actions
_decode = msgspec.json.Decoder(Raw).decode


def changes_of(kind: str, lines: Sequence[Raw]) -> list[Change]:
    """Return the changes that append these lines, none for no lines."""
    parts = [lines[at : at + _EACH] for at in range(0, len(lines), _EACH)]
    return [Change(kind, _key(part), before={"lines": []}, after={"lines": list(part)}) for part in parts]


def _key(part: Sequence[Raw]) -> str:
    first = part[0]
    return " ".join(str(first.get(name)) for name in ("signal_id", "node_id", "reader", "by") if name in first)


def sides(path: Callable[[Store], Path]) -> tuple[Callable[[Store, Change], Raw], Callable[[Store, Change], None]]:
    """Return the two undo functions for lines of the journal at `path(store)`: read which are present, and set them."""

    def now(store: Store, change: Change) -> Raw:
        present = {_identity(line) for line in Journal(path(store)).records(Raw)}
        return {"lines": [line for line in _lines_of(change) if _identity(line) in present]}

    def put(store: Store, change: Change) -> None:
        remaining = {_identity(line) for line in (change.after or {})["lines"]}
        leaving = {_identity(line) for line in _lines_of(change)} - remaining

        def without(lines: Iterator[bytes]) -> Iterator[bytes]:
            return (line for line in lines if _identity_of(line) not in leaving)

        if leaving:
            rewriting.lines(path(store), without)
        else:
            Journal(path(store)).append_all((change.after or {})["lines"])

    return now, put


def _lines_of(change: Change) -> list[Raw]:
    return list((change.after or {})["lines"] or (change.before or {})["lines"])


def _identity(line: Raw) -> tuple[object, ...]:
    """Return what identifies a line: the offset of its signal moves when signals are cleaned up."""
    return tuple(str(line.get(name)) for name in ("signal_id", "node_id", "reader", "by", "read_at", "at", "upto"))


def _identity_of(line: bytes) -> tuple[object, ...] | None:
    try:
        return _identity(_decode(line))
    except UNDECODABLE:
        return None
