"""Paths of session files, and their lines from any offset, with at most one long line in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout, from_home

if TYPE_CHECKING:
    from lumen_tui.model.config import EvolutionConfig

MOST_LINE = 16 * 1024 * 1024  # bytes; an image is one line in a session file
_CHUNK = 1024 * 1024
_TAIL = 256


def own_sessions(layout: Layout) -> list[Path]:
    """Return the transcripts of the agent and its workers."""
    return sorted(_named(layout.transcripts.glob("*.jsonl")))


def foreign_sessions(config: EvolutionConfig) -> Iterator[Path]:
    """Yield the session files below the folders of [evolution] sessions."""
    for name in config.sessions:
        yield from sorted(_named(from_home(name).glob("**/*.jsonl")))


def _named(paths: Iterator[Path]) -> Iterator[Path]:
    """Return the paths without those whose name is not text: no index and no record can name them."""
    return (path for path in paths if not any("\ud800" <= letter <= "\udfff" for letter in str(path)))


def head_hash(fd: int) -> str:
    """Return a short hash of the first line, or of its first 64 KiB: it tells two sessions of the same id apart."""
    data = os.pread(fd, 64 * 1024, 0)
    return hashlib.sha256(data.partition(b"\n")[0]).hexdigest()[:16]


def tail_hash(fd: int, offset: int) -> str:
    """Return a short hash of the bytes right before `offset`."""
    start = max(0, offset - _TAIL)
    return hashlib.sha256(os.pread(fd, offset - start, start)).hexdigest()[:16]


def lines_from(fd: int, offset: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield whole lines from `offset` on, each with the offset after it; None for one beyond MOST_LINE.

    A torn last line is left for the next time.
    """
    parts: list[bytes] = []
    held = 0
    while chunk := os.pread(fd, _CHUNK, offset):
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            piece = chunk[begin:end]
            too_long = held + len(piece) > MOST_LINE
            yield offset + end + 1, None if too_long else b"".join([*parts, piece])
            parts = []
            held = 0
            begin = end + 1
        tail = chunk[begin:]
        held += len(tail)
        parts = [*parts, tail] if held <= MOST_LINE else []
        offset += len(chunk)


def open_session(path: files.StrPath) -> int:
    """Open a session file for reading. FileNotFoundError; Refused for links, devices and files of other users."""
    if os.path.islink(path):
        raise files.Refused(f"it is a link; read {os.path.realpath(path)} instead")
    return files.open_plain(path)
