"""What the page of the budget says of a pause is what the engine goes by."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumen_tui.model.loop import Pause
from lumen_tui.model.times import iso
from lumen_tui.queries.queue_conditions import spend_report
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import pauses

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("until", "said"),
    [("", "paused by ann: a drill"), (iso(NOW - 60), ""), (iso(NOW + 60), "paused by ann until 2027-01-15 08:01 UTC")],
)
def test_a_pause_counts_until_its_time_is_over(tmp_path: Path, until: str, said: str) -> None:
    layout = Layout(tmp_path)
    layout.create()
    pauses.pause_all(layout, Pause(at=iso(NOW - 600), by="ann", reason="a drill", until=until))
    assert spend_report(layout, NOW).paused.startswith(said) and bool(spend_report(layout, NOW).paused) == bool(said)


def test_a_pause_that_cannot_be_read_is_one(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create()
    layout.pause.write_text("not json")
    assert "cannot be read" in spend_report(layout, NOW).paused
