"""All nodes read in one pass, and changes of many at once, prepared without the lock.

Finding, changing and encoding 45,000 nodes takes seconds, in which nobody else could append. So all of it is done on
the journal as of one moment. Under the lock only what was appended since is read: where it concerns none of these
nodes, the prepared lines are appended; otherwise everything is done again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lumen_tui.model.decoding import UNDECODABLE, decoded
from lumen_tui.storage import backwards, directories, files
from lumen_tui.storage.journal import encode, whole_lines
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.nodes import Raw

if TYPE_CHECKING:
    from lumen_tui.store.memory.nodes import Edit

FEW = 100  # nodes up to which the work is quick enough to do under the lock
_ATTEMPTS = 4
_record = msgspec.json.Decoder(dict[str, object]).decode


class _Prepared(NamedTuple):
    """What is to be appended, and for which file, up to which offset, it is valid."""

    inode: tuple[int, int]
    end: int
    lines: bytes
    actions: bytes


def change(layout: Layout, node_ids: Collection[str], edit: Edit, *, holds: Callable[[], bool] = lambda: True) -> None:
    """Change nodes as `nodes.change` does. `edit` may be called again, with fresh records: its last result counts.

    `holds` is called under the lock: whether what `edit` relied on beside the journal still holds.
    """
    identifiers = set(node_ids)
    for _ in range(_ATTEMPTS if len(identifiers) > FEW else 0):
        prepared = _prepare(layout, identifiers, edit)
        if not prepared.lines and not prepared.actions:
            return
        if _append(layout, prepared, identifiers, holds):
            directories.make_durable(layout.actions)
            return
    nodes.change(layout, identifiers, edit)


def _prepare(layout: Layout, identifiers: set[str], edit: Edit) -> _Prepared:
    try:
        fd = files.open_plain(layout.memory)
    except FileNotFoundError:
        return _Prepared((0, 0), 0, *_lines(edit, {}))
    try:
        stat = os.fstat(fd)
        end = backwards.line_start(fd, stat.st_size)  # a torn tail is read again later
        records = {identifier: node for identifier, (_, node) in nodes.newest(fd, identifiers).items()}
    finally:
        os.close(fd)
    return _Prepared((stat.st_dev, stat.st_ino), end, *_lines(edit, records))


def _lines(edit: Edit, records: dict[str, nodes.Raw]) -> tuple[bytes, bytes]:
    changed, actions = edit(records)
    return b"".join([encode(node) for node in changed]), actions


def _append(layout: Layout, prepared: _Prepared, identifiers: set[str], holds: Callable[[], bool]) -> bool:
    """Append what was prepared; return False, with nothing written, where it is out of date."""
    with files.locked_log(layout.memory) as fd:
        stat = os.fstat(fd)
        if (stat.st_dev, stat.st_ino) != prepared.inode or stat.st_size < prepared.end:
            return False
        since = os.pread(fd, stat.st_size - prepared.end, prepared.end)
        if any(identifier.decode(errors="replace") in identifiers for identifier in nodes.ids_in(since)) or not holds():
            return False
        nodes.append_both(layout, fd, prepared.lines, prepared.actions, durable=False)
        return True


def newest_nodes(layout: Layout, mention: str = "") -> Iterator[Raw]:
    """Yield the newest record of each node, oldest node first; only where its line contains `mention`."""
    newest: dict[str, bytes] = {}
    for identifier, line in _identified_lines(layout):
        newest[identifier] = line
    mention_bytes = mention.encode()
    for line in newest.values():
        if mention_bytes in line:
            yield decoded(line)


def _identified_lines(layout: Layout) -> Iterator[tuple[str, bytes]]:
    """Yield (id, line) of each record; a line that cannot be decoded hides no earlier line of its node."""
    try:
        fd = files.open_plain(layout.memory)
    except FileNotFoundError:
        return
    try:
        for line in whole_lines(fd):
            try:
                identifier = _record(line).get("id")
            except UNDECODABLE:
                continue
            if isinstance(identifier, str):
                yield identifier, line
    finally:
        os.close(fd)
