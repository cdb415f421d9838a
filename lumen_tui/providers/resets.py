"""When a vendor says that a used-up limit ends: from the headers of a refusal, or from the time in its words.

Whatever cannot be meant (a time that has passed, one in more than a month, no number) counts as not said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from lumen_tui.model import times
from lumen_tui.model.patterns import lazy_re

LONGEST = 32 * times.DAY  # seconds: limits of a month are the longest that vendors have
_MILLISECONDS = 1e11  # larger than this, a moment is given in milliseconds
UNIFIED = "anthropic-ratelimit-unified"
_WINDOWS = ("", "-5h", "-7d", "-7d_opus", "-7d_sonnet", "-overage")
_PARTS = ("requests", "tokens", "input-tokens", "output-tokens")
_SPAN = lazy_re(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_EPOCH = lazy_re(r"\|(\d{10,13})\b")  # Claude Code: `usage limit reached|1762952400`
_DATE = lazy_re(r"\b(\d{4}-\d\d-\d\d) at (\d\d:\d\d) UTC")  # Anthropic, of a limit of spending
_OF_DAY = lazy_re(  # Claude Code: `resets 1:30am (Asia/Dhaka)`, `resets Oct 9, 5pm (Europe/Warsaw)`
    r"\bresets? (?:at )?(?:([A-Z][a-z]{2}) (\d{1,2})(?:,| at) )?"
    r"(\d{1,2})(?::(\d\d))? ?([ap]m) \(([A-Za-z_]+(?:/[\w+-]+)*)\)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def reset_time(headers: Mapping[str, str], words: str, now: float) -> float:
    """Return when the limit ends, in seconds since 1970; 0 where nothing is said that can be meant.

    Of several limits that are used up the last one counts: all of them hold.
    """
    for source in (_unified, _separate):
        if moments := [at for at in source(headers, now) if now < at <= now + LONGEST]:
            return max(moments)
    return next((at for read in (_epoch, _date, _of_day) if now < (at := read(words, now)) <= now + LONGEST), 0.0)


def moment(value: object) -> float:
    """Return a moment in seconds since 1970, given as such or in milliseconds; 0 for anything else."""
    try:
        at = float(str(value))
    except ValueError:
        return 0.0
    if not math.isfinite(at) or at <= 0:
        return 0.0
    return at / 1000 if at > _MILLISECONDS else at


def _unified(headers: Mapping[str, str], now: float) -> Iterator[float]:
    """Yield the ends of the windows of a subscription that are used up."""
    for window in _WINDOWS:
        if headers.get(f"{UNIFIED}{window}-status") == "rejected":
            yield moment(headers.get(f"{UNIFIED}{window}-reset"))


def _separate(headers: Mapping[str, str], now: float) -> Iterator[float]:
    """Yield the ends of the limits of requests and tokens of which nothing remains."""
    for part in _PARTS:
        if headers.get(f"anthropic-ratelimit-{part}-remaining") == "0":
            yield times.epoch(headers.get(f"anthropic-ratelimit-{part}-reset") or "", 0.0)
        if headers.get(f"x-ratelimit-remaining-{part}") == "0":
            yield now + _span(headers.get(f"x-ratelimit-reset-{part}") or "")


def _span(text: str) -> float:
    """Return the seconds of `6m0s`; 0 for anything else."""
    parts = _SPAN.findall(text) if _SPAN.sub("", text) == "" else []
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _epoch(words: str, now: float) -> float:
    match = _EPOCH.search(words)
    return moment(match[1]) if match else 0.0


def _date(words: str, now: float) -> float:
    match = _DATE.search(words)
    return times.epoch(f"{match[1]}T{match[2]}:00Z", 0.0) if match else 0.0


def _of_day(words: str, now: float) -> float:
    """Return the next such time of day in the zone that is named."""
    if not (match := _OF_DAY.search(words)):
        return 0.0
    month, day, hour, minute, half, zone = match.groups()
    from zoneinfo import ZoneInfo  # 4 ms, where a provider names a zone

    try:
        today = datetime.fromtimestamp(now, ZoneInfo(zone))
        at = today.replace(hour=int(hour) % 12 + 12 * (half == "pm"), minute=int(minute or 0), second=0, microsecond=0)
        if month:
            at = at.replace(month=_MONTHS.index(month) + 1, day=int(day))
            return (at.replace(year=at.year + 1) if at < today - timedelta(days=180) else at).timestamp()
    except (ValueError, KeyError, OSError, OverflowError):  # no such zone, month or day
        return 0.0
    return (at if at > today else at + timedelta(days=1)).astimezone(UTC).timestamp()
