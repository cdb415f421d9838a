"""Relays: one more text in a relay of 10,000."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Row
from lumen_tui.model.relay import Submission, SubmissionStatus, content_hash
from lumen_tui.storage import directories, files
from lumen_tui.storage.journal import encode
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import relays

ENTRIES, RUNS = 10_000, 15


def measure(folder: Path) -> Iterator[Row]:
    """Time a durable submission on the newest position."""
    layout = Layout(folder / "relay-state")
    layout.create()
    directories.make_folder(relays.folder(layout))
    lines = []
    for number in range(1, ENTRIES + 1):
        text = f"Entry {number} of the outbox, with some words of its own, as they are written every day."
        lines.append(encode(Submission(
            f"rly-{number:013d}", "2026-11-21T10:00:00.000Z", "agent", text, content_hash(text), number - 1,
            SubmissionStatus.SENT, number,
        )))  # fmt: skip
    files.append(relays.path_of(layout, "outbox"), b"".join(lines))
    took = []
    for number in range(RUNS):
        began = time.perf_counter()
        relays.submit(layout, "outbox", f"One more, number {number}", by="agent", base=ENTRIES + number, now=1.0)
        took.append(time.perf_counter() - began)
    yield Row("L4", f"a text submitted to a relay of {ENTRIES:,}", 1000 * sorted(took)[RUNS // 2], goal=100)
