"""The lines that an import appended to a journal, found again and taken out, as long as nothing builds on them."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lumen_tui.store import files, rewriting
from lumen_tui.store.memory import nodes

_FIRST = 300  # bytes of the first line by which a stretch is found where the journal was rewritten


class Stretch(msgspec.Struct):
    """Lines that stand one behind the other in a journal: where they began, and what they are."""

    at: int
    size: int
    sha256: str
    first: str


def stretch(path: Path, at: int, size: int) -> Stretch:
    """The lines that stand there now."""
    fd = files.open_plain(path)
    try:
        data = os.pread(fd, size, at)
    finally:
        os.close(fd)
    return Stretch(at, size, hashlib.sha256(data).hexdigest(), data[:_FIRST].decode(errors="replace"))


def find(path: Path, wanted: Stretch) -> int:
    """Where the lines stand now; -1 where they do not stand together any more."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return -1
    try:
        if not os.fstat(fd).st_size:
            return -1
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as data:
            return _find(data, wanted)
    finally:
        os.close(fd)


def _find(data: mmap.mmap, wanted: Stretch) -> int:
    at, first = wanted.at, wanted.first.encode()
    while at >= 0:
        if hashlib.sha256(data[at : at + wanted.size]).hexdigest() == wanted.sha256:
            return at
        at = data.find(first, 0 if at == wanted.at else at + 1)
        if at == wanted.at:
            at = data.find(first, at + 1)
    return -1


def built_upon(path: Path, at: int, size: int) -> str:
    """The id of a record in the stretch of which a later line says something else; nothing where there is none."""
    fd = files.open_plain(path)
    try:
        mine = nodes.ids_in(os.pread(fd, size, at))
        later = nodes.ids_in(os.pread(fd, os.fstat(fd).st_size - at - size, at + size))
    finally:
        os.close(fd)
    return next((one.decode(errors="replace") for one in sorted(mine & later)), "")


def cut(path: Path, at: int, size: int) -> None:
    """Take the stretch out. rewriting.Moved where the journal is another meanwhile."""
    position = 0

    def without(blocks: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal position
        for block in blocks:
            begin, end = max(0, at - position), max(0, at + size - position)
            position += len(block)
            yield block[:begin] + block[end:]

    rewriting.beside(path, without)
