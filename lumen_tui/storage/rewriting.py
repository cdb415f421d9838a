"""Rewriting a journal while others append, who wait only while what came in the meantime is copied."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from lumen_tui.storage import files
from lumen_tui.storage.line_access import whole_blocks

if TYPE_CHECKING:
    from lumen_tui.storage.seals import NewContent

_ATTEMPTS = 5
_SYNC = 32 * 1024 * 1024  # bytes between syncs: one long sync at the end would hold up every appender

Blocks = Iterator[bytes]
Change = Callable[[Blocks], Iterable[bytes]]
Watch = Callable[[float], None]  # gets the share of a long job that is done, 0 to 1


def unwatched(_: float) -> None:
    """Ignore the progress."""


class JournalReplaced(Exception):
    """The journal was rewritten by somebody else meanwhile: nothing was done."""


def beside(path: files.StrPath, change: Change, last: Callable[[], None] = lambda: None, *, of: int = -1) -> None:
    """Replace the content by `change(blocks)`, called twice: for what is there, and for what came since.

    Blocks are whole lines. `last` is called under the lock, before the new file takes its place. Raise JournalReplaced
    where the file was replaced meanwhile, or is not the open file `of`, where one is given.
    """
    from lumen_tui.storage.seals import NewContent  # its hashes are for who rewrites alone

    fd = files.open_plain(path)
    try:
        if of >= 0:
            _must_be_same(fd, of)
        end = 0

        def copy(out: int) -> None:
            nonlocal end
            end = _copy(fd, change, out)

        temporary = files.write_sibling(path, copy)
        try:
            _swap(path, fd, end, temporary, change, last, NewContent(temporary, path))
        except BaseException:
            files.discard(temporary)
            raise
    finally:
        os.close(fd)


def _copy(fd: int, change: Change, out: int) -> int:
    end = 0

    def blocks() -> Blocks:
        nonlocal end
        for offset, block in whole_blocks(fd):
            end = offset + len(block)
            yield block

    unsynced = 0
    for data in change(blocks()):
        files.write_all(out, data)
        unsynced += len(data)
        if unsynced >= _SYNC:
            os.fdatasync(out)
            unsynced = 0
    return end


def _swap(
    path: files.StrPath, fd: int, end: int, temporary: str, change: Change, last: Callable[[], None], new: NewContent
) -> None:
    with files.locked_log(path) as locked:
        _must_be_same(locked, fd)
        size = os.fstat(locked).st_size
        if size > end:
            since = os.pread(locked, size - end, end)
            closed = since if since.endswith(b"\n") else since + b"\n"
            files.append(temporary, b"".join(change(iter([closed]))))
        last()
        new.take_place()


def _must_be_same(fd: int, other: int) -> None:
    if not os.path.sameopenfile(fd, other):
        raise JournalReplaced


def lines(path: files.StrPath, change: Callable[[Iterator[bytes]], Iterable[bytes]]) -> int:
    """Rewrite as `beside`, line by line, retried after a concurrent rewrite. Return how many lines were removed."""
    removed = 0

    def by_line(blocks: Blocks) -> Iterator[bytes]:
        nonlocal removed
        for block in blocks:
            remaining = [line + b"\n" for line in change(iter(block.split(b"\n")[:-1]))]
            removed += block.count(b"\n") - len(remaining)
            yield b"".join(remaining)

    for _ in range(_ATTEMPTS):
        removed = 0
        try:
            beside(path, by_line)
        except JournalReplaced:
            continue
        return removed
    raise files.NotWritten(f"{path} is being rewritten again and again; nothing was written: try again")
