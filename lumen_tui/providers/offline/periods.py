"""Periods of time in an objective: `yesterday`, `in the last 7 days`, `on 21 November`, `not touched for 90 days`."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

from msgspec import Struct

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_UNIT_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 31.0, "year": 366.0}
_SHORT = {"min": "minute", "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "w": "week"}
_COUNTS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d|{_DAY}(?: of)? {_MONTH}(?:,? \d{{4}})?|{_MONTH} {_DAY}(?:,? \d{{4}})?"
    rf"|\d{{1,2}}\.\d{{1,2}}\.(?:\d{{4}})?|yesterday|today|(?:last )?(?:{'|'.join(_WEEKDAYS)}))"
)
_CLOCK = r"(?:\d{1,2}:\d\d|\d{1,2} ?[ap]m|noon|midnight)"
_AMOUNT = rf"(?:\d+|{'|'.join(_COUNTS)}|a|an)?[ -]?(?:minutes?|mins?|hours?|hrs?|h|days?|d|weeks?|w|months?|years?)\b"
_CHANGED = r"(?:been )?(?:touched|changed|modified|updated|written(?: to)?|edited|used)"
_FOR_LONG = (
    r"(?:for|in|within|since) (?:more than |over |at least |longer than )?(?:the )?(?:last |past )?"
    rf"(?P<amount>{_AMOUNT})"
)
_DURING = r"(?:(?:in|within|during|over|for|from|of|since) )?"


class Period(Struct, frozen=True):
    """Local times as `2026-11-21` or `2026-11-21T14:00`, `until` excluded; or an age in days; empty is unbounded."""

    since: str = ""
    until: str = ""
    newer: float = 0.0  # days
    older: float = 0.0  # days
    text: str = ""  # as it was asked for


def take_period(text: str, now: float) -> tuple[str, tuple[Period, ...]]:
    """Take periods out of `text`; `now` is in seconds since 1970. Dates that don't exist remain where they are."""
    today = dt.datetime.fromtimestamp(now)
    periods: list[Period] = []
    for pattern, read in _READERS:
        while match := pattern.search(text.lower()):
            period = read(match, today)
            if period is None:
                break
            periods.append(Period(period.since, period.until, period.newer, period.older, match.group().strip()))
            text = text[: match.start()] + " " + text[match.end() :]
    return text, _joined(periods)


def _joined(periods: list[Period]) -> tuple[Period, ...]:
    """Join a day with a time of the day: `yesterday` and `between 2:00 and 4:00`."""
    clocks = [period for period in periods if period.since.startswith("T")]
    days = [period for period in periods if len(period.since) == 10 and period.until == _next(period.since)]
    if len(clocks) == 1 and len(days) == 1 and len(periods) == 2:
        day, clock = days[0], clocks[0]
        end = f"{day.until}T00:00" if clock.until == "T24:00" else day.since + clock.until
        return (Period(day.since + clock.since, end, text=f"{clock.text} {day.text}"),)
    return tuple(periods)


def _next(day: str) -> str:
    return (dt.date.fromisoformat(day) + dt.timedelta(days=1)).isoformat()


def _day(text: str, today: dt.datetime) -> str:
    """Return the day that is meant, as ISO, or empty where there is no such day; without a year it's in the past."""
    text = text.removeprefix("last ")
    if text in ("today", "yesterday"):
        return (today - dt.timedelta(days=text == "yesterday")).date().isoformat()
    if text in _WEEKDAYS:
        back = (today.weekday() - _WEEKDAYS.index(text)) % 7 or 7
        return (today - dt.timedelta(days=back)).date().isoformat()
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return dt.date.fromisoformat(text).isoformat()
        day, month, year = _parts(text)
        if year:
            return dt.date(year, month, day).isoformat()
        this = dt.date(today.year, month, day)
        return (this if this <= today.date() else dt.date(today.year - 1, month, day)).isoformat()
    except ValueError:
        return ""


def _parts(text: str) -> tuple[int, int, int]:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if name := re.search(r"[a-z]{3,}", re.sub(r"(?<=\d)(?:st|nd|rd|th)|\bof\b", "", text)):
        month = _MONTHS.index(name.group()[:3]) + 1
        return numbers[0], month, (numbers[1] if len(numbers) > 1 else 0)
    return numbers[0], numbers[1], (numbers[2] if len(numbers) > 2 else 0)


def _clock(text: str) -> str:
    if text in ("noon", "midnight"):
        return "T12:00" if text == "noon" else "T00:00"
    hour, _, minute = re.sub(r"[^\d:]", "", text).partition(":")
    late = 12 if text.endswith("pm") and int(hour) < 12 else -12 if text.endswith("am") and int(hour) == 12 else 0
    return f"T{int(hour) + late:02}:{minute or '00'}"


def amount_days(text: str) -> float:
    """Return `3 days`, `24h`, `two weeks` or `week` in days."""
    match = re.fullmatch(r"([a-z]+|\d+)??[ -]?([a-z]+?)s?", text.strip())
    if match is None:
        return 0.0
    count, unit = match.groups()
    unit = _SHORT.get(unit, unit)
    number = int(count) if count and count.isdigit() else _COUNTS.index(count) + 1 if count in _COUNTS else 1
    return number * _UNIT_DAYS.get(unit, 0.0)


def _whole_day(match: re.Match[str], today: dt.datetime) -> Period | None:
    day = _day(match["date"], today)
    return Period(day, _next(day)) if day else None


def _since(match: re.Match[str], today: dt.datetime) -> Period | None:
    day = _day(match["date"], today)
    return Period(since=_next(day) if match["how"] == "after" else day) if day else None


def _until(match: re.Match[str], today: dt.datetime) -> Period | None:
    day = _day(match["date"], today)
    return Period(until=day) if day else None


def _days_between(match: re.Match[str], today: dt.datetime) -> Period | None:
    first, last = _day(match["date"], today), _day(match["last"], today)
    return Period(first, _next(last)) if first and last and first <= last else None


def _clocks_between(match: re.Match[str], today: dt.datetime) -> Period | None:
    first, last = _clock(match["first"]), _clock(match["last"])
    last = "T24:00" if last == "T00:00" else last
    return Period(first, last) if first < last <= "T24:00" else None


def _newer(match: re.Match[str], today: dt.datetime) -> Period | None:
    days = amount_days(match["amount"])
    return Period(newer=days) if days else None


def _older(match: re.Match[str], today: dt.datetime) -> Period | None:
    days = amount_days(match["amount"])
    return Period(older=days) if days else None


def _this(match: re.Match[str], today: dt.datetime) -> Period | None:
    return Period(newer=_UNIT_DAYS[match["unit"]])


_Reader = Callable[[re.Match[str], dt.datetime], Period | None]
_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (rf"\b(?:between|from) (?P<first>{_CLOCK}) (?:and|to|until|till) (?P<last>{_CLOCK})(?!\w)", _clocks_between),
        (rf"\b(?:between|from) (?P<date>{_DATE}) (?:and|to|until|till) (?P<last>{_DATE})(?!\w)", _days_between),
        (rf"\b(?P<how>since|after|newer than|starting) (?P<date>{_DATE})(?!\w)", _since),
        (rf"\b(?:before|older than|up to|until) (?P<date>{_DATE})(?!\w)", _until),
        (rf"\b(?:not|never) {_CHANGED} {_FOR_LONG}", _older),
        (rf"\b(?:has|have|had|was|were|did)n['’]?t (?:be |been )?(?:{_CHANGED} )?{_FOR_LONG}", _older),
        (rf"\b(?:untouched|unchanged|unmodified) {_FOR_LONG}", _older),
        (rf"\bolder than (?P<amount>{_AMOUNT})", _older),
        (rf"\bmore than (?P<amount>{_AMOUNT}) (?:old|ago)\b", _older),
        (rf"\b(?:newer|younger) than (?P<amount>{_AMOUNT})", _newer),
        (rf"\bless than (?P<amount>{_AMOUNT}) (?:old|ago)\b", _newer),
        (rf"\b{_DURING}(?:the |these )?(?:last|past|previous) (?P<amount>{_AMOUNT})", _newer),
        (r"\b(?:(?:in|within|during|from|of|since) )?this (?P<unit>week|month|year)\b", _this),
        (rf"\b(?:(?:on|from|of|dated|for) (?:the )?)?(?P<date>{_DATE})(?:['’]s)?(?!\w)", _whole_day),
    )
)
