"""Periods in an objective, seen from Monday, 23 November 2026, at noon."""

from __future__ import annotations

import datetime as dt

from lumen_rows import each_row

from lumen_tui.providers.offline.periods import take_period

NOON = dt.datetime(2026, 11, 23, 12).timestamp()


@each_row(
    ("text", "since", "until"),
    [
        ("errors yesterday", "2026-11-22", "2026-11-23"),
        ("yesterday's errors", "2026-11-22", "2026-11-23"),
        ("errors on 21 November", "2026-11-21", "2026-11-22"),
        ("errors on the 21st of November", "2026-11-21", "2026-11-22"),
        ("errors on Nov 21", "2026-11-21", "2026-11-22"),
        ("errors on 24 November", "2025-11-24", "2025-11-25"),
        ("errors on 2026-11-21", "2026-11-21", "2026-11-22"),
        ("errors on friday", "2026-11-20", "2026-11-21"),
        ("errors since 20 November", "2026-11-20", ""),
        ("files older than 2026-11-01", "", "2026-11-01"),
        ("from 3 November to 5 November", "2026-11-03", "2026-11-06"),
        ("between 10:00 and 12:30 yesterday", "2026-11-22T10:00", "2026-11-22T12:30"),
    ],
)
def test_days_and_times_are_read(text, since, until):
    _, (period,) = take_period(text, NOON)
    assert (period.since, period.until) == (since, until)


@each_row(
    ("text", "newer", "older"),
    [
        ("changed in the last 7 days", 7.0, 0.0),
        ("within the last week", 7.0, 0.0),
        ("in the past 24h", 1.0, 0.0),
        ("newer than 3 days", 3.0, 0.0),
        ("older than two weeks", 0.0, 14.0),
        ("not touched for more than 90 days", 0.0, 90.0),
        ("hasn't been modified in over 200 days", 0.0, 200.0),
        ("untouched for a month", 0.0, 31.0),
    ],
)
def test_ages_are_read_in_days(text, newer, older):
    _, (period,) = take_period(text, NOON)
    assert (period.newer, period.older) == (newer, older)


@each_row("text", ["on 31 November", "on 30 February", "on 2026-02-30", "tomorrow", "next week"])
def test_what_is_no_day_of_the_past_stays_among_the_words(text):
    assert take_period(text, NOON) == (text, ())
