"""Reads an objective: takes its parameters out and leaves the words."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.offline.periods import Period, take_period

_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_LANGUAGES = {
    "python": "py", "markdown": "md", "json": "json", "text": "txt", "log": "log", "javascript": "js",
    "typescript": "ts", "rust": "rs", "yaml": "yaml", "csv": "csv", "pdf": "pdf", "toml": "toml", "html": "html",
    "css": "css", "java": "java", "sql": "sql", "xml": "xml", "iso": "iso", "zip": "zip", "perl": "pl", "ruby": "rb",
    "go": "go", "php": "php", "shell": "sh", "jpeg": "jpeg", "jpg": "jpg", "png": "png", "gz": "gz", "jsonl": "jsonl",
    "tar": "tar", "conf": "conf", "ini": "ini", "md": "md", "txt": "txt", "py": "py", "js": "js", "yml": "yml",
}  # fmt: skip
_PLURAL_KINDS = {"jpgs": "jpg", "jpegs": "jpeg", "pngs": "png", "pdfs": "pdf", "csvs": "csv", "zips": "zip"}
_SUFFIX = (
    r"(?:log|jsonl?|toml|csv|tsv|ya?ml|ini|conf|cfg|env|lock|txt|md|rst|py|js|ts|tsx|jsx|css|html?|xml|sql|sh|rs|go|c|h"
    r"|cpp|java|rb|pl|php|gz|zip|tar|tgz|bz2|xz|pdf|png|jpe?g|gif|svg|iso|bin|db|sqlite|out|err|service|bak|old)"
)
_QUOTED = lazy_re(r"\"([^\"]+)\"|`([^`]+)`|“([^”]+)”|‘([^’]+)’|«([^»]+)»|(?<![\w])'([^']+)'(?![\w])")
_SLASHED = lazy_re(r"(?<![\w/])/((?:[^/\s]|\\/| (?!in /))*?[\\*+?\[\](){}|^$=][^/\n]*?)/(?=[\s?.,;]|$)")
_PATH = lazy_re(r"(?<![\w:/.~*-])(?:~(?:/[^\s\"'`,;?!]*)?|/[^\s\"'`,;?!]*)")
_RELATIVE = lazy_re(r"(?<![\w/.~*$@=:-])(?:\.{1,2}/)?[\w@+-][\w.@+-]*(?:/[\w.@+-]+)+/?(?![\w/*])")
_NAMED = lazy_re(rf"(?<![\w/.~*$@=:-])[\w@+-][\w.@+-]*\.{_SUFFIX}(?:\.\d+|\.gz)?(?![\w/*(.]\w|\w)")
_BARE = lazy_re(r"(?<![\w/.~*$@=:-])[\w@+-][\w.@+-]*/?(?![\w/*])")
_HOME = lazy_re(r"\b(?:my|the|your) home(?: (?:folder|directory|dir))?\b", re.IGNORECASE)
_HERE = lazy_re(
    r"\b(?:in|under|of|inside|within|below) (?:this|the current) (?:folder|directory|dir|repo|repository|project)\b"
    r"|\bhere\b",
    re.IGNORECASE,
)
_EXTENSION = lazy_re(r"(?<![\w/])\*?\.([a-z0-9]{1,8})(?=\s|$|[?!,;])", re.IGNORECASE)
_CONTRACTED = lazy_re(r"\b(what|where|who|how|which|when|that|there|it)['’]s\b", re.IGNORECASE)
_UNCOMMITTED = lazy_re(r"\b(?:but )?(?:not|n['’]t|never) (?:yet )?(?:been )?committed(?: yet)?", re.IGNORECASE)
_HOW_MUCH = lazy_re(r"\bhow (?:big|large|much space|much disk)", re.IGNORECASE)
_TOKEN = lazy_re(r"[^\s,;:?!()\"`]+")
_BEFORE_FOLDER = {"in", "under", "below", "inside", "within", "of", "from", "at", "across", "on"}
_FOLDER_WORDS = {"folder", "directory", "dir", "folders"}
_UNITS = {"": 1, "b": 1, "byte": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kilobyte": 10**3,
          "megabyte": 10**6, "gigabyte": 10**9, "meg": 10**6, "gig": 10**9, "k": 2**10, "m": 2**20, "g": 2**30,
          "kib": 2**10, "mib": 2**20, "gib": 2**30}  # fmt: skip
_SIZE = lazy_re(
    r"(?P<how>\b(?:larger|bigger|greater|heavier|more|over|above|exceed(?:s|ing)?|at least|smaller|less|under|below"
    r"|at most)"
    r"(?: than| in size than)?|[<>]=?) ?(?P<count>\d+(?:[.,]\d+)?) ?"
    r"(?P<unit>bytes?|[kmgt]i?b|b|[kmg]|kilobytes?|megabytes?|gigabytes?|megs?|gigs?)\b",
    re.IGNORECASE,
)


class SearchRoot(Struct, frozen=True):
    """Where relative names count from, and what is there. Without a folder there are only absolute paths."""

    folder: str = ""
    names: tuple[str, ...] = ()
    below: tuple[tuple[str, str], ...] = ()  # names of files that are somewhere below, and where


NOWHERE = SearchRoot()


class ParsedObjective(Struct, frozen=True):
    """An objective taken apart. `words` are lower case, without the parameters."""

    words: tuple[str, ...]
    paths: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    extensions: tuple[str, ...] = ()
    periods: tuple[Period, ...] = ()
    slashed: tuple[str, ...] = ()  # regular expressions between slashes
    least: int = 0  # bytes
    most: int = 0
    text: str = ""  # what `words` were made of, case kept
    raw: str = ""  # the same before numbers, sizes and periods were taken out
    slips: tuple[tuple[str, str], ...] = ()  # words as they were typed, and as they were read

    def has(self, *candidates: str) -> bool:
        """Return whether one of the words is there."""
        return any(word in self.words for word in candidates)


def bare_names(objective: str) -> tuple[str, ...]:
    """Return what looks like the names of files without their folders."""
    text = _PATH.sub(" ", _QUOTED.sub(" ", objective))
    return tuple(dict.fromkeys(match.group().rstrip(".") for match in _NAMED.finditer(_RELATIVE.sub(" ", text))))


def parse(objective: str, place: SearchRoot = NOWHERE, now: float = 0.0) -> ParsedObjective:
    """Take paths, quoted texts, numbers, file kinds, sizes and periods of time out of `objective`."""
    text = _CONTRACTED.sub(r"\1 is", " ".join(objective.split()))
    text = _UNCOMMITTED.sub("uncommitted", text)
    text, quoted, paths = _take_quoted(text)
    text, slashed = _take(text, _SLASHED)
    text, matches = _take(text, _PATH)
    paths += [path.rstrip(".:)]}") or "/" for path in matches]
    text, homes = _take(text, _HOME)
    paths += ["~"] * len(homes)
    text, _ = _take(text, _HERE)
    text, relative = _take_relative(text, place)
    return parameters(
        ParsedObjective(
            words=(),
            paths=tuple(_joined(paths, relative, place)),
            quoted=tuple(quoted),
            slashed=tuple(match[1:-1] for match in slashed),
            raw=text,
        ),
        now,
    )


def parameters(ask: ParsedObjective, now: float) -> ParsedObjective:
    """Take numbers, file kinds, sizes and periods out of `ask.raw`; what is left are the words."""
    text, least, most = _take_sizes(ask.raw)
    text, periods = take_period(text, now)
    text, extensions = _take(text, _EXTENSION)
    text, numbers = _take_numbers(text)
    words, kinds = _take_languages(tokens(text))
    return msgspec.structs.replace(
        ask,
        words=tuple(word for word in words if word.strip("-–—/&+=<>'")),
        numbers=tuple(numbers),
        extensions=(*(extension.lstrip("*.").lower() for extension in extensions), *kinds),
        periods=periods,
        least=least,
        most=most,
        text=text,
    )


def tokens(text: str) -> list[str]:
    """Return the words of a text, lower case."""
    return [word.lower().strip(".'") for word in _TOKEN.findall(text)]


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


def _take_relative(text: str, place: SearchRoot) -> tuple[str, list[str]]:
    """Take out what names a file or folder below the place: with a slash, with a suffix, or one of its own names."""
    if not place.folder:
        return text, []
    taken: list[str] = []

    def keep(fits: Callable[[re.Match[str]], bool]) -> Callable[[re.Match[str]], str]:
        def replaced(match: re.Match[str]) -> str:
            if not fits(match):
                return match.group()
            taken.append(match.group().rstrip("."))
            return " "

        return replaced

    def with_slash(match: re.Match[str]) -> bool:
        first, last = match.group().split("/")[0], match.group().rstrip("/").rsplit("/", 1)[-1]
        return first in (".", "..", *place.names) or bool(re.fullmatch(rf".+\.{_SUFFIX}", last))

    def bare(match: re.Match[str]) -> bool:
        if match.group().rstrip("/.") not in place.names:
            return False
        before = [word.lower() for word in text[: match.start()].split()[-2:]]
        after = text[match.end() :].split()[:1]
        led = before[-1:] and (
            before[-1] in _BEFORE_FOLDER or (before[-1] in ("the", "our") and before[0] in _BEFORE_FOLDER)
        )
        sized = before[-1:] and before[-1] in ("is", "are", "do", "does") and _HOW_MUCH.search(text)
        joined = before[-1:] in (["and"], ["with"], ["vs"], ["or"]) and bool(taken)
        return bool(
            led
            or sized
            or joined
            or (after and after[0].lower().strip("?.,") in _FOLDER_WORDS)
            or match.group().endswith("/")
        )

    text = _RELATIVE.sub(keep(with_slash), text)
    text = _NAMED.sub(keep(lambda match: True), text)
    return _BARE.sub(keep(bare), text), taken


def _joined(paths: list[str], relative: list[str], place: SearchRoot) -> list[str]:
    """Return absolute paths; the place itself says nothing where names below it are there, too."""
    if relative and len(paths) <= 1 and all(path.rstrip("/") == place.folder.rstrip("/") for path in paths):
        paths = []
    where = dict(place.below)
    below = [posixpath.normpath(posixpath.join(place.folder, where.get(name, name))) for name in relative]
    return list(dict.fromkeys([*paths, *below]))


def _take_sizes(text: str) -> tuple[str, int, int]:
    least = most = 0
    while match := _SIZE.search(text):
        unit = match["unit"].lower()
        count = float(match["count"].replace(",", "."))
        bytes_ = int(count * _UNITS[unit if unit in _UNITS else unit.rstrip("s")])
        how = match["how"].lower()
        if how.startswith(("smaller", "less", "under", "below", "at most", "<")):
            most = bytes_ - (not how.startswith("at most") and how != "<=")
        else:
            least = bytes_ + (not how.startswith("at least") and how != ">=")
        text = text[: match.start()] + " " + text[match.end() :]
    return text, least, most


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
    of_program = "version" in words or "versions" in words  # `version of python` is about a program
    for index, word in enumerate(words):
        after = words[index + 1] if index + 1 < len(words) else ""
        before = words[index - 1] if index else ""
        if word in _LANGUAGES and (
            after in ("file", "files", "code", "source", "sources") or (before == "of" and not of_program)
        ):
            kinds.append(_LANGUAGES[word])
        elif word in _PLURAL_KINDS:
            kinds.append(_PLURAL_KINDS[word])
            remaining.append("files")
        else:
            remaining.append(word)
    return remaining, kinds
