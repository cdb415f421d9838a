"""Text for people: made safe, cut to what a line or a room takes, ids and dates short.

Text from files, models and workers is hostile until it went through `safe`. What may never reach a terminal or a
widget: C0 controls but newline and tab, DEL, C1 controls, the bidirectional overrides (CVE-2021-42574), zero-width,
filling and tag characters, selectors of variants but those that emoji use, lone surrogates. Each becomes something
visible, so that a reader sees that it was there.

Records keep whole ids and exact dates, since programs go by them: `humanize` shortens only what the program wrote. What
a person or a tool wrote is shown as it is.
"""

from __future__ import annotations

import re
from itertools import groupby

from lumen_tui.model import ids, times
from lumen_tui.model.patterns import lazy_re

_HOSTILE = lazy_re(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
_INK = lazy_re(r"\S")
# What a terminal takes as a command: CSI, OSC and the other strings up to their end, two-character escapes.
_ESCAPES = lazy_re("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[ -/]*[0-~]?")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures: ESC is shown as ␛
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else "\u00b7"


def safe(text: str) -> str:
    """Return `text` with every character that could act on a terminal made visible. Newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _HOSTILE.sub(_visible, text.replace("\r\n", "\n"))


def inert_json(line: bytes) -> bytes:
    """Return the same JSON for a file that somebody may print: what acts on a terminal is written as its escape.

    For records whose words must stay as they are; others are made safe.
    """
    return line if line.isascii() else _HOSTILE.sub(_json_escape, line.decode()).encode()


def _json_escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def safe_all(value: object) -> object:
    """Return a decoded JSON value with every text in it made safe, its lists as tuples."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {safe(str(key)): safe_all(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple([safe_all(inner) for inner in value])
    return value


def plain(text: str) -> str:
    """Return typed or pasted `text` without escape sequences and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return _HOSTILE.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str, limit: int = 400) -> str:
    """Return `text` made safe, on one line, cut to `limit` characters with an ellipsis."""
    flat = " ".join(safe(text[: 4 * limit]).split())
    more = len(text) > 4 * limit and _INK.search(text, 4 * limit) is not None  # also far behind many blanks
    return f"{flat[: limit - 1]}…" if more or len(flat) > limit else flat


def is_safe(text: str) -> bool:
    """Return whether `safe` would leave `text` as it is (the second line of defence asks this)."""
    return _HOSTILE.search(text) is None


_FULL = f"(?:{'|'.join(ids.KINDS)})-[{ids.ALPHABET}]{{{ids.CHARS}}}"
_ID = lazy_re(rf"(?P<folder>(?:[\w.~-]*/)*)\b(?P<id>{_FULL})\b(?P<below>/?)")
_DATE = lazy_re(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?")


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


_EMPTY_LINES = 3  # from which a run of them is folded
_BLANKS = lazy_re(r"[^\S\n]{40,}")  # a gap that no aligned code has
_TAIL = 3  # one in so many characters of what is kept shows the end


def fold(text: str) -> str:
    """Return `text` made safe, with `… 399 empty lines …` and `… 3 000 blanks …` in place of long blank runs."""
    lines: list[str] = []
    for empty, run in groupby(safe(text).expandtabs(4).split("\n"), key=lambda part: not part.strip()):
        parts = list(run)
        folded = empty and len(parts) >= _EMPTY_LINES
        lines += [f"… {len(parts):,} empty lines …"] if folded else [_BLANKS.sub(_gap, part) for part in parts]
    return "\n".join(lines)


def _gap(run: re.Match[str]) -> str:
    return f" … {len(run[0]):,} blanks … "


def brief(text: str, limit: int) -> str:
    """`text` folded, on one line, at most `limit` characters: its beginning and its end, and how much is between."""
    flat = " ".join(fold(text).split())
    if len(flat) <= limit:
        return flat
    between = f" … {len(flat) - limit:,} more characters … "
    room = max(0, limit - len(between))
    tail = room // _TAIL
    return f"{flat[: room - tail]}{between}{flat[len(flat) - tail :]}"


def line_count(text: str) -> int:
    """Return how many lines `text` has, an ending line break apart."""
    return len(text.removesuffix("\n").split("\n"))
