"""Text files that evolution reads and writes, byte for byte."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.storage import files

_MOST_FILE = 4 * 1024 * 1024


def read_text(path: Path) -> str | None:
    """Return a text file of evolution, byte for byte; None where there is none."""
    data = files.read(path, _MOST_FILE)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Return the bytes of what `read_text` returned."""
    return text.encode("utf-8", "surrogateescape")
