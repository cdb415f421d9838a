"""Moments as people write them, and how two moments differ."""

from __future__ import annotations

import pytest

from lumen_tui.model import past, times
from lumen_tui.model.past import Past, PastPane, PastRow

NOW = times.parse_iso("2026-11-21T12:30:00Z")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("03:12", "2026-11-21T03:12:00Z"),
        ("3:12:44", "2026-11-21T03:12:44Z"),
        ("18:00", "2026-11-20T18:00:00Z"),  # it is not yet that late today
        ("today 03:12", "2026-11-21T03:12:00Z"),
        ("Yesterday  18:00", "2026-11-20T18:00:00Z"),
        ("20 m ago", "2026-11-21T12:10:00Z"),
        ("20m", "2026-11-21T12:10:00Z"),
        ("90 minutes ago", "2026-11-21T11:00:00Z"),
        ("2 hours ago", "2026-11-21T10:30:00Z"),
        ("1 day ago", "2026-11-20T12:30:00Z"),
        ("2026-11-19T04:00:00Z", "2026-11-19T04:00:00Z"),
        ("2026-11-19", "2026-11-19T00:00:00Z"),
    ],
)
def test_a_moment_is_read_as_it_is_written(text: str, moment: str) -> None:
    assert past.parse_past(text, NOW) == times.parse_iso(moment)


@pytest.mark.parametrize("text", ["", "soon", "today 23:00", "24:00", "12:60", "-2h", "2027-01-01", "ago"])
def test_what_is_ahead_or_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no moment|is ahead"):
        past.parse_past(text, NOW)


def pane(*rows: tuple[str, str]) -> Past:
    return Past(times.iso(NOW), (PastPane("signals", tuple(PastRow(*row) for row in rows)),))


def test_a_difference_names_what_appeared_changed_and_went() -> None:
    found = past.changes(pane(("sig-a", "unread  x"), ("sig-b", "y")), pane(("sig-a", "read  x"), ("sig-c", "z")))
    assert [(change.how, change.key) for change in found] == [
        ("changed", "sig-a"), ("appeared", "sig-c"), ("gone", "sig-b"),
    ]  # fmt: skip
    assert "was: unread  x" in past.changes_text(found)
    assert past.changes_text(past.changes(pane(), pane())) == "nothing differs"
