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
_HEAD = 400  # characters of a line in which its level is


def _token(names: tuple[str, ...], levels: tuple[str, ...]) -> str:
    """Return the expression of a level in any place where formats put it.

    A bare word in capitals; in brackets; the value of a field called level or severity; before a colon after the
    program's name, as in syslog.
    """
    upper = "|".join(name.upper() for name in names)
    anyhow = "|".join(f"(?i:{name})" for name in names)
    glog = "".join(_GLOG[level] for level in levels if level in _GLOG)
    parts = [
        rf"(?<![\w/.=-])(?<!\b[0Nn] )(?<![Nn][Oo] )(?:{upper})(?![\w/.=-])",
        rf"[\[(<](?:[\w.-]+:)?(?:{anyhow})[\])>]",
        rf"""["']?\b(?:level|severity|levelname|lvl|loglevel|log\.level)["']?\s*[=:]\s*["']?(?:{anyhow})\b""",
        rf"\]: (?:[\w.-]+: )?(?:{anyhow}):",
        rf"^(?:{anyhow})(?::|\s*\[)",
    ]
    if glog:
        parts.append(rf"^[{glog}]\d{{4}} \d\d:\d\d:\d\d")
    return "|".join(parts)


def _names(levels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for level in levels for name in LEVELS[level])


_ANY = _token(_names(tuple(LEVELS)), tuple(LEVELS))


def pattern(levels: tuple[str, ...]) -> str:
    """Return the expression of lines whose level, the first one in them, is one of these."""
    wanted = _token(_names(levels), levels)
    return rf"^(?:(?!{_ANY}).){{0,{_HEAD}}}?(?:{wanted})"


ANY_LEVEL = _ANY
_FIRST = {level: re.compile(_token(_names((level,)), (level,))) for level in LEVELS}
_ANYWHERE = re.compile(_ANY)


def level_of(line: str) -> str:
    """Return the level of a line, empty where it has none."""
    match = _ANYWHERE.search(line[:_HEAD])
    if match is None:
        return ""
    return next((level for level, token in _FIRST.items() if token.match(line, match.start())), "")
