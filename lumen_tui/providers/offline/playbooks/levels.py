"""The level of a line of a log: what stands as its level in one of the usual formats, not a word in its text."""

from __future__ import annotations

import re

LEVELS: dict[str, tuple[str, ...]] = {
    "emergency": ("emerg", "emergency", "panic"),
    "alert": ("alert",),
    "critical": ("critical", "crit"),
    "fatal": ("fatal",),
    "error": ("error", "err", "severe"),
    "warning": ("warning", "warn"),
    "notice": ("notice",),
    "info": ("info", "information"),
    "debug": ("debug",),
    "trace": ("trace",),
}
WORDS = {
    "error": "error", "errors": "error", "err": "error", "errs": "error", "warning": "warning", "warnings": "warning",
    "warn": "warning", "warns": "warning", "critical": "critical", "criticals": "critical", "crit": "critical",
    "fatal": "fatal", "fatals": "fatal", "info": "info", "infos": "info", "debug": "debug", "notice": "notice",
    "notices": "notice", "trace": "trace", "alert": "alert", "alerts": "alert", "emerg": "emergency",
}  # fmt: skip
SEVERE = ("emergency", "alert", "critical", "fatal")
_GLOG = {"error": "E", "warning": "W", "info": "I", "fatal": "F"}
_BEGINS = r"A-Z\[\](<\"'ls"  # characters with which a level, or the name of its field, may begin within a line


def _at_start(names: tuple[str, ...], levels: tuple[str, ...]) -> str:
    """Return the expression of a level that begins a line: `error: …`, or a letter and a date as glog has them."""
    anyhow = "|".join(f"(?i:{name})" for name in names)
    glog = "".join(_GLOG[level] for level in levels if level in _GLOG)
    return rf"(?:{anyhow})(?::|\s*\[)" + (rf"|[{glog}]\d{{4}} \d\d:\d\d:\d\d" if glog else "")


def _within(names: tuple[str, ...]) -> str:
    """Return the expression of a level within a line.

    A bare word in capitals; in brackets; the value of a field called level or severity; before a colon after the
    program's name, as in syslog.
    """
    upper = "|".join(name.upper() for name in names)
    anyhow = "|".join(f"(?i:{name})" for name in names)
    return "|".join(
        (
            rf"(?<![\w/.=-])(?<!\b[0Nn] )(?<![Nn][Oo] )(?:{upper})(?![\w/.=-])",
            rf"[\[(<](?:[\w.-]+:)?(?:{anyhow})[\])>]",
            rf"""["']?\b(?:level|severity|levelname|lvl|loglevel|log\.level)["']?\s*[=:]\s*["']?(?:{anyhow})\b""",
            rf"\]: (?:[\w.-]+: )?(?:{anyhow}):",
        )
    )


def _names(levels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for level in levels for name in LEVELS[level])


_ALL = _names(tuple(LEVELS))
_ANY_START, _ANY_WITHIN = _at_start(_ALL, tuple(LEVELS)), _within(_ALL)
# Without a way back, as lines are many: looked for ahead, then taken as found (as in tools/html.py).
_UP_TO_LEVEL = rf"(?!{_ANY_START})(?=(?P<before>(?:[^{_BEGINS}]++|(?!{_ANY_WITHIN})[{_BEGINS}])*))(?P=before)"


def pattern(levels: tuple[str, ...]) -> str:
    """Return the expression of lines whose level, the first one in them, is one of these."""
    names = _names(levels)
    return rf"^(?:{_at_start(names, levels)}|{_UP_TO_LEVEL}(?:{_within(names)}))"


ANY_LEVEL = pattern(tuple(LEVELS))
_PATTERNS = {level: re.compile(pattern((level,))) for level in LEVELS}


def level_of(line: str) -> str:
    """Return the level of a line, empty where it has none."""
    return next((level for level, expression in _PATTERNS.items() if expression.match(line)), "")
