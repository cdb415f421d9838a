"""tasks/<id>/home.json: how far an attempt on a host has come home. Its proxy writes it, the engine reads it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui.model.frames import Home
from lumen_tui.storage import files
from lumen_tui.store.tasks.task_records import read_json

_NAME = "home.json"


def read(folder: Path, attempt: int) -> Home | None:
    """Return what is known of an attempt; None where that is nothing. OSError."""
    home = read_json(folder / _NAME, Home)
    return home if home is not None and home.attempt == attempt else None


def last_seq(folder: Path, attempt: int) -> int:
    """Return the number of the last frame of an attempt that was taken in; 0 where none was, or it is not known."""
    try:
        home = read(folder, attempt)
    except OSError:
        return 0
    return home.seq if home else 0


def write(folder: Path, home: Home) -> None:
    """Record how far an attempt has come; durable is that it is over, as frames come again if need be. StoreError."""
    files.replace(folder / _NAME, msgspec.json.encode(home), durable=bool(home.over))
