"""Text that the program wrote, for a person: ids short, paths of task folders by their end, dates to the minute.

Records keep whole ids and exact dates, since programs go by them. What a person or a tool wrote is shown as it is and
never comes through here.
"""

from __future__ import annotations

import re

from lumen_tui.model import ids, times

_FULL = f"(?:{'|'.join(ids.KINDS)})-[{ids.ALPHABET}]{{{ids.CHARS}}}"
_ID = re.compile(rf"(?P<folder>(?:[\w.~-]*/)*)\b(?P<id>{_FULL})\b(?P<below>/?)")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?")


def humanize(text: str) -> str:
    """`tsk-7f2k9c0w4h1zt is lost` -> `7f2k is lost`; a date with a `T` as `times.stamp` writes it.

    A path through a folder named by an id becomes `…/7f2k/result.md`: the beginning of a real path is not made up.
    """
    if "-" not in text:
        return text
    return _DATE.sub(_stamped, _ID.sub(_shortened, text))


def _shortened(match: re.Match[str]) -> str:
    folder = "…/" if match["folder"] and match["below"] else match["folder"]
    return f"{folder}{ids.short(match['id'])}{match['below']}"


def _stamped(match: re.Match[str]) -> str:
    seconds = times.epoch(match[0])
    return times.stamp(seconds) if seconds else match[0]
