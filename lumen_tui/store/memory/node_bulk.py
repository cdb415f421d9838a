"""Changes of many nodes at once, prepared beside the writers: the journal is locked for the append alone.

Finding, changing and encoding 45,000 nodes takes seconds, in which nobody else could append. So all of it is done on
the journal as it stood at one moment. Under the lock only what came since is looked at: where it is about none of
these nodes, the prepared lines are appended; else everything is done anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from lumen_tui.storage import directories, files
from lumen_tui.storage.journal import encode
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import nodes

if TYPE_CHECKING:
    from lumen_tui.store.memory.nodes import Edit

FEW = 100  # nodes up to which preparing takes no longer than anybody minds to wait
_ATTEMPTS = 4


class _Prepared(NamedTuple):
    """What is to be appended, and of which file up to where it holds."""

    inode: tuple[int, int]
    end: int
    lines: bytes
    actions: bytes


def change(layout: Layout, node_ids: Collection[str], edit: Edit, *, holds: Callable[[], bool] = lambda: True) -> None:
    """As `nodes.change`. `edit` may be asked again, with fresh records: its last answer counts.

    `holds` is asked under the lock: whether what `edit` went by beside the journal is still so.
    """
    wanted = set(node_ids)
    for _ in range(_ATTEMPTS if len(wanted) > FEW else 0):
        prepared = _prepare(layout, wanted, edit)
        if not prepared.lines and not prepared.actions:
            return
        if _append(layout, prepared, wanted, holds):
            directories.make_durable(layout.actions)
            return
    nodes.change(layout, wanted, edit)


def _prepare(layout: Layout, wanted: set[str], edit: Edit) -> _Prepared:
    try:
        fd = files.open_plain(layout.memory)
    except FileNotFoundError:
        return _Prepared((0, 0), 0, *_lines(edit, {}))
    try:
        there = os.fstat(fd)
        end = _last_newline(fd, there.st_size)
        found = {identifier: node for identifier, (_, node) in nodes.newest(fd, wanted).items()}
    finally:
        os.close(fd)
    return _Prepared((there.st_dev, there.st_ino), end, *_lines(edit, found))


def _lines(edit: Edit, found: dict[str, nodes.Raw]) -> tuple[bytes, bytes]:
    changed, actions = edit(found)
    return b"".join([encode(node) for node in changed]), actions


def _last_newline(fd: int, size: int) -> int:
    """Behind the last whole line; a torn tail is looked at again."""
    start = max(0, size - files.MAX_READ_LINE)
    return start + os.pread(fd, size - start, start).rfind(b"\n") + 1


def _append(layout: Layout, prepared: _Prepared, wanted: set[str], holds: Callable[[], bool]) -> bool:
    """Append what was prepared; False, with nothing written, where it is out of date."""
    with files.locked_log(layout.memory) as fd:
        there = os.fstat(fd)
        if (there.st_dev, there.st_ino) != prepared.inode or there.st_size < prepared.end:
            return False
        since = os.pread(fd, there.st_size - prepared.end, prepared.end)
        if any(one.decode(errors="replace") in wanted for one in nodes.ids_in(since)) or not holds():
            return False
        nodes.append_both(layout, fd, prepared.lines, prepared.actions, durable=False)
        return True
