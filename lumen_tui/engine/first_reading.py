"""The first reading of large journals, made by a child process of the engine for the index that it leaves behind."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.files import StoreError

LEAST = 32 * 1024 * 1024  # bytes of journals that are worth a process of their own


def main(root: Path, operator: str) -> int:
    """Read all that an engine reads, so that each index keeps what it made of it; return the exit code."""
    try:
        with closing(SnapshotReader(root, operator, queue_only=True)) as reader:
            reader.load(time.time())
    except (StoreError, OSError):
        return 1  # the engine meets the same, and says so
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2]))
