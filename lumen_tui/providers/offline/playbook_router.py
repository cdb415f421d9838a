"""Which playbook answers an objective: one that understands every word of it, or none.

A playbook names the words it needs and the words it knows. A single word that it does not know (delete, not,
except, newest, why) means that the objective asks for something else, and then it does not answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from lumen_tui.providers.offline.objective_parser import ParsedObjective, parse


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON = _words(
    "a an and any are as at be below by can could currently descending directory disk find folder for from full get "
    "give have i in inside into is it its like list located me my need now of on our output overall please present "
    "print recursively report right show table tell that the their them there these they this to under us want "
    "was we were what which with within would you your all sorted order together including "
    "subfolders subdirectories know see look at here's do does how"
)
_HOW_TO = re.compile(
    r"\bhow (?:do|can|could|would|should|to|might)\b|\b(?:script|function|program|code) (?:to|that|which)\b"
)
_SUPERLATIVE = ("largest", "biggest", "heaviest", "most")
_DEFAULT_TOP = 10


class PlaybookPlan(Struct, frozen=True):
    """A playbook and its parameters."""

    playbook: str
    path: str
    number: int = _DEFAULT_TOP
    pattern: str = ""
    name: str = ""  # pattern for file names
    days: float = 0.0
    subject: str = ""
    ignore_case: bool = False


class NoMatch(Struct, frozen=True):
    """No playbook can answer; `why` is a clause that completes `the offline provider …`."""

    reason: str


class _Kind(Struct, frozen=True):
    name: str
    needs: tuple[tuple[str, ...], ...]  # one word of each group must be there
    knows: frozenset[str]
    fits: Callable[[ParsedObjective], bool]


_ERRORS = ("error", "errors", "warnings", "exceptions", "failures", "problems", "warning", "exception")
_VOLUME = ("usage", "space", "big", "size", "storage", "folders", "directories", "subfolders", "subdirectories")
_KINDS = (
    _Kind(
        "log-errors", (_ERRORS,),
        _words("log logs logfile file files error errors warning warnings exception exceptions failures problems "
               "many number count summarise summarize summary digest most common frequent analyse analyze happened "
               "occurred occur top which were logged recorded scan check extract"),
        lambda ask: not ask.quoted,
    ),
    _Kind(
        "git-log", (("git", "commit", "commits", "repository", "repo"),),
        _words("git log logs history commit commits repository repo summarise summarize summary digest changes changed "
               "happened recent recently latest last who activity work overview short brief done made been has "
               "contributors authors committed describe since most new messages"),
        lambda ask: not ask.quoted and not ask.extensions,
    ),
    _Kind(
        "count", (("count", "many", "number"), ("file", "files", "line", "lines", "folders", "directories")),
        _words("count many number file files line lines folders directories code total source exist contained "
               "contains contain text amount"),
        lambda ask: not ask.quoted,
    ),
    _Kind(
        "search-text",
        (("search", "grep", "containing", "contain", "contains", "occurrences", "occurrence", "occur", "occurs",
          "mention", "mentions", "mentioning", "look", "references", "line", "lines", "text", "word", "string",
          "phrase", "used", "appear", "appears"),),
        _words("search grep containing contain contains occurrences occurrence occur occurs mention mentions "
               "mentioning every each text word string phrase term pattern file files line lines case insensitive "
               "insensitively case-insensitive case-insensitively ignoring ignore regardless where appear appears used "
               "references many often times number count show places"),
        lambda ask: len(ask.quoted) == 1,
    ),
    _Kind(
        "largest-files", (_SUPERLATIVE, ("file", "files")),
        _words("largest biggest heaviest most file files top space size sizes taking take takes up using use uses "
               "single human readable human-readable occupy occupying consume consuming bytes ranked names paths path"),
        lambda ask: not ask.quoted,
    ),
    _Kind(
        "disk-usage",
        (("usage", "space", "big", "large", "size", "storage", *_SUPERLATIVE),),
        _words("usage space big large size sizes storage largest biggest heaviest most folders directories files file "
               "subfolders subdirectories top taking take takes taken up using use uses used much total "
               "consume consuming consumes occupied occupy occupying summarise summarize summary breakdown human "
               "readable human-readable measure check analyse analyze where goes going went broken down"),
        lambda ask: not ask.quoted and (ask.has(*_VOLUME) or (ask.has("large") and ask.has("how"))),
    ),
)  # fmt: skip
_BARE_TERM = re.compile(
    r"\b(?:for|of|grep|contain(?:s|ing)?|mention(?:s|ing)?)\s+(?:(?:the|a)\s+)?"
    r"(?:(?:word|string|text|phrase|term|pattern)\s+)?(?P<term>[\w@#$%^&*+=.:-]{2,80})(?=\s+(?:in|under|within|inside|below)\b)",
    re.IGNORECASE,
)
CAN_ANSWER = (
    "the largest files in a folder",
    "the disk usage of a folder",
    "searching text in files",
    "counting files or lines",
    "a digest of a git log",
    "the errors in a log",
)


def choose(objective: str, constraints: tuple[str, ...] = ()) -> PlaybookPlan | NoMatch:
    """Return the plan for an objective, or why there is none. It never guesses."""
    ask = parse(objective)
    kind = _kind_of(ask)
    if kind is None:
        ask, kind = _with_bare_term(ask)
    if kind is None or _HOW_TO.search(objective.lower()):
        return NoMatch("has no playbook that understands every word of this objective" + _strange(ask))
    return _plan(kind, ask, _constraint_number(constraints))


def _strange(ask: ParsedObjective) -> str:
    """Return the first words that no playbook knows, to say what stands in the way."""
    known = COMMON.union(*(kind.knows for kind in _KINDS))
    words = [f"{word[:40]!r}" for word in dict.fromkeys(ask.words) if word not in known]
    return f" (none knows {', '.join(words[:3])})" if words else ""


def _kind_of(ask: ParsedObjective) -> _Kind | None:
    words = set(ask.words)
    for kind in _KINDS:
        if all(words.intersection(group) for group in kind.needs) and words <= kind.knows | COMMON and kind.fits(ask):
            return kind
    return None


def _with_bare_term(ask: ParsedObjective) -> tuple[ParsedObjective, _Kind | None]:
    """Accept one unquoted word as the text to look for: `search for TODO in /src`."""
    text = ask.text + (" in " if not re.search(r"\bin\b", ask.text) else "")
    match = _BARE_TERM.search(text)
    if not match or ask.quoted or match.group("term").lower() in COMMON | _words("files file text lines"):
        return ask, None
    remaining = parse(text[: match.start("term")] + " " + text[match.end("term") :])
    changed = ParsedObjective(
        words=remaining.words,
        paths=ask.paths,
        quoted=(match.group("term"),),
        numbers=ask.numbers,
        extensions=ask.extensions,
        days=ask.days,
    )
    kind = _kind_of(changed)
    return changed, kind if kind and kind.name == "search-text" else None


def _constraint_number(constraints: tuple[str, ...]) -> int:
    for text in constraints:
        if match := re.search(r"\b(?:top|at most|no more than|first) (\d{1,4})\b(?! (?:step|call|tool))", text, re.I):
            return int(match.group(1))
    return 0


def _plan(kind: _Kind, ask: ParsedObjective, limit: int) -> PlaybookPlan | NoMatch:
    if not ask.paths:
        return NoMatch("needs to know where: name a folder or file with its whole path, such as /var/log")
    if len(ask.paths) > 1:
        return NoMatch(f"takes one folder at a time, and this names {len(ask.paths)}: {', '.join(ask.paths)}")
    if len(ask.numbers) > 1 or len(ask.extensions) > 1 or (ask.days and kind.name != "git-log"):
        return NoMatch("cannot tell what all the numbers, kinds of file or dates in this objective are for")
    number = ask.numbers[0] if ask.numbers else limit or _default_number(kind.name, ask)
    if not 1 <= number <= 1000:
        return NoMatch(f"reports between 1 and 1000 entries, not {number}")
    return PlaybookPlan(
        playbook=kind.name,
        path=ask.paths[0],
        number=min(number, limit or number),
        days=ask.days,
        pattern=ask.quoted[0] if ask.quoted else "",
        name=f"*.{ask.extensions[0]}" if ask.extensions else "",
        subject=_subject(kind.name, ask),
        ignore_case=ask.has(
            "insensitive",
            "insensitively",
            "case-insensitive",
            "case-insensitively",
            "ignoring",
            "ignore",
            "regardless",
        ),
    )


def _default_number(kind: str, ask: ParsedObjective) -> int:
    if kind == "git-log":
        return 1 if ask.has("commit") and ask.has("last", "latest") and not ask.days else 200
    if kind == "search-text":
        return 50
    return 1 if kind == "largest-files" and ask.has("file") and not ask.has("files") else _DEFAULT_TOP


def _subject(kind: str, ask: ParsedObjective) -> str:
    """Return what is meant: for `count` lines, folders or files; for `log-errors` errors, warnings or both."""
    if kind == "count":
        return "lines" if ask.has("line", "lines") else "files" if ask.has("file", "files") else "folders"
    if kind != "log-errors":
        return ""
    warnings = ask.has("warning", "warnings")
    others = ask.has("error", "errors", "exception", "exceptions", "failures")
    return (
        "errors and warnings" if ask.has("problems") or (warnings and others) else "warnings" if warnings else "errors"
    )
