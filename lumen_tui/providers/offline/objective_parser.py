"""Reads an objective: takes its parameters out and leaves the words."""

from __future__ import annotations

import re

from msgspec import Struct

_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_LANGUAGES = {
    "python": "py", "markdown": "md", "json": "json", "text": "txt", "log": "log", "javascript": "js",
    "typescript": "ts", "rust": "rs", "yaml": "yaml", "csv": "csv", "pdf": "pdf", "toml": "toml", "html": "html",
    "css": "css", "java": "java", "sql": "sql", "xml": "xml", "iso": "iso", "zip": "zip", "perl": "pl", "ruby": "rb",
}  # fmt: skip
_QUOTED = re.compile(r"\"([^\"]+)\"|`([^`]+)`|“([^”]+)”|‘([^’]+)’|«([^»]+)»|(?<![\w])'([^']+)'(?![\w])")
_PATH = re.compile(r"(?<![\w:/.~*-])(?:~(?:/[^\s\"'`,;?!]*)?|/[^\s\"'`,;?!]*)")
_HOME = re.compile(r"\b(?:my|the|your) home(?: (?:folder|directory|dir))?\b", re.IGNORECASE)
_EXTENSION = re.compile(r"(?<![\w/])\*?\.([a-z0-9]{1,8})(?=\s|$|[?!,;])", re.IGNORECASE)
_SPAN = r"\b(?:in|within|during|over|for|from)? ?(?:the )?(?:last|past) "
_DAYS = (
    (re.compile(_SPAN + r"(\d+|\w+)[ -](hour|day|week|month)s?\b"), 0.0),
    (re.compile(_SPAN + r"(hour|day|week|month|year)\b"), 0.0),
    (re.compile(r"\bsince yesterday\b"), 1.0),
    (re.compile(r"\b(?:from |of )?today\b"), 1.0),
    (re.compile(r"\b(?:in |from |of )?this week\b"), 7.0),
    (re.compile(r"\b(?:in |from |of )?this month\b"), 31.0),
)
_UNIT_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 31.0, "year": 366.0}
_TOKEN = re.compile(r"[^\s,;:?!()\"`]+")


class ParsedObjective(Struct, frozen=True):
    """An objective taken apart. `words` are lower case, without the parameters."""

    words: tuple[str, ...]
    paths: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    extensions: tuple[str, ...] = ()
    days: float = 0.0
    text: str = ""  # what `words` were made of, case kept

    def has(self, *candidates: str) -> bool:
        """Return whether one of the words is there."""
        return any(word in self.words for word in candidates)


def parse(objective: str) -> ParsedObjective:
    """Take paths, quoted texts, numbers, file kinds and spans of time out of `objective`."""
    text = " ".join(objective.split())
    text, quoted, paths = _take_quoted(text)
    text, matches = _take(text, _PATH)
    paths += [path.rstrip(".:)]}") or "/" for path in matches]
    text, homes = _take(text, _HOME)
    paths += ["~"] * len(homes)
    text, days = _take_days(text)
    text, extensions = _take(text, _EXTENSION)
    text, numbers = _take_numbers(text)
    words, kinds = _take_languages([word.lower().strip(".'") for word in _TOKEN.findall(text)])
    return ParsedObjective(
        words=tuple(word for word in words if word),
        paths=tuple(paths),
        quoted=tuple(quoted),
        numbers=tuple(numbers),
        extensions=(*(extension.lstrip("*.").lower() for extension in extensions), *kinds),
        days=days,
        text=text,
    )


def _take(text: str, pattern: re.Pattern[str]) -> tuple[str, list[str]]:
    matches = [match.group() for match in pattern.finditer(text)]
    return pattern.sub(" ", text), matches


def _take_quoted(text: str) -> tuple[str, list[str], list[str]]:
    """Take out quoted texts: paths are paths, patterns for names stay in the text, all others are texts to look for."""
    quoted: list[str] = []
    paths: list[str] = []

    def keep(match: re.Match[str]) -> str:
        inner = next(group for group in match.groups() if group)
        if inner == "~" or inner.startswith(("/", "~/")):
            paths.append(inner)
            return " "
        if re.fullmatch(r"\*\.\w{1,8}", inner):
            return f" {inner} "
        quoted.append(inner)
        return " "

    return _QUOTED.sub(keep, text), quoted, paths


def _take_days(text: str) -> tuple[str, float]:
    for pattern, days in _DAYS:
        match = pattern.search(text.lower())
        if not match:
            continue
        amount = days or _amount(match)
        if amount > 0:
            return text[: match.start()] + " " + text[match.end() :], amount
    return text, 0.0


def _amount(match: re.Match[str]) -> float:
    *count, unit = match.groups()
    return (_number(count[0]) if count else 1) * _UNIT_DAYS[unit]


def _number(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    return _NUMBERS.index(text.lower()) if text.lower() in _NUMBERS else 0


def _take_numbers(text: str) -> tuple[str, list[int]]:
    numbers: list[int] = []

    def keep(match: re.Match[str]) -> str:
        numbers.append(_number(match.group()))
        return " "

    text = re.sub(r"\btop-?(?=\d)", "top ", text, flags=re.IGNORECASE)
    words = "|".join(_NUMBERS[2:])
    return re.sub(rf"(?<![\w.])(?:\d{{1,6}}|{words})(?![\w.%-]\w|[\w%])", keep, text, flags=re.IGNORECASE), numbers


def _take_languages(words: list[str]) -> tuple[list[str], list[str]]:
    """Turn a kind of file into an extension: `python files`, `lines of python code`, `log files`."""
    kinds: list[str] = []
    remaining: list[str] = []
    for index, word in enumerate(words):
        after = words[index + 1] if index + 1 < len(words) else ""
        before = words[index - 1] if index else ""
        if word in _LANGUAGES and (after in ("file", "files", "code", "source") or before == "of"):
            kinds.append(_LANGUAGES[word])
        else:
            remaining.append(word)
    return remaining, kinds
