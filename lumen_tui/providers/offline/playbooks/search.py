"""search-text: lines, files and places with a text or a regular expression; todo: notes left in code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.base import JsonObject, Reply, Step
from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    many,
    skipped_notes,
    table,
)
from lumen_tui.providers.offline.vocabulary import words

_LISTED = 50
_MOST = 5000
_SHOWN = 400  # characters of a line that the search hands on
REGEX_ONLY = lazy_re(
    r"\.[*+?]|\\[dwsbDWSB.]|\[[^\]\s]+-[^\]\s]*\]|\[\^[^\]]+\]|\{\d+,?\d*\}|\([^()]*\|[^()]*\)|^\^|\$$|\w\|\w"
)
_METACHARACTER = lazy_re(r"[.^$*+?{}\[\]|()\\]")
_CASE = words("insensitive insensitively case-insensitive case-insensitively ignoring ignore regardless whatever")
_NOT = lazy_re(r"\b(?:no|do(?:es)?n['’]?t|do(?:es)? not|not|without|lacking|missing)\b", re.IGNORECASE)
_SAYING = words(
    "search grep containing contain contains occurrences occurrence occur occurs mention mentions mentioning look "
    "references line lines text word string phrase used use uses appear appears match matches matching regex "
    "regexp mentioned call calls called reference referenced defined imported both includes include including say "
    "says saying hold holds having with have"
)
_DEFINITION = (
    r"^\s*(?:export )?(?:default )?(?:pub )?(?:async )?"
    r"(?:def|class|function|fn|func|const|let|var|type|interface|struct|enum|sub|trait)\s+{0}\b"
    r"|^\s*(?:export )?{0}\s*(?:=(?!=)|\(\)\s*\{{|:\s*[\w\[\]]+\s*=)"
)
_IMPORT = (
    r"^\s*(?:import|from)\s+(?:[\w., ]+,\s*)?{0}\b|^\s*(?:import|from)\b.*['\"]{0}['\"]"
    r"|\brequire\(['\"]{0}['\"]\)|^\s*use\s+{0}\b"
)


def _fields(ask: Asked) -> Fields | None:
    patterns = (*ask.quoted, *ask.slashed)
    both = ask.has("both")
    if ask.has("file", "files", "where") and not ask.has(*_SAYING):
        return None
    if not patterns or len(patterns) > 1 + both or (len(patterns) == 1 and both):
        return None
    if ask.has("defined", "imported"):
        return {"view": "defined" if ask.has("defined") else "imported", "pattern": patterns[0], "regex": "yes"}
    regex = (
        "yes"
        if ask.slashed
        or (ask.has("regex", "regexp", "regular", "matching", "match", "matches") and REGEX_ONLY.search(patterns[0]))
        or ask.has("regex", "regexp", "regular")
        else ""
    )
    if ask.has("exact", "literal", "literally", "verbatim", "fixed") or re.search(
        r"\b(?:no|not a) reg", ask.text, re.IGNORECASE
    ):
        regex = "no"
    return {
        "pattern": patterns[0],
        "patterns": patterns if both else (),
        "regex": regex,
        "invert": bool(_NOT.search(re.sub(r"\b(?:no|not a) reg\w*", "", ask.text))),
        "ignore_case": bool(set(ask.words) & _CASE),
        "view": "files"
        if ask.has("files", "file") and not ask.has("lines", "line", "times", "often", "occurrences")
        else "times"
        if ask.has("often", "times", "occurrences", "occurrence")
        else "lines",
    }


def search_text(plan: PlaybookPlan) -> Play:
    """Report the lines that hold a text."""
    if plan.view in ("defined", "imported"):
        return (yield from _declared(plan))
    if plan.patterns:
        return (yield from _both(plan))
    pattern, how = yield from _as_meant(plan)
    if plan.invert:
        return (yield from _inverted(plan, pattern))
    data = yield from found_lines(plan, pattern, ignore_case=plan.ignore_case)
    head, hits, total = _found(plan, data, pattern), data["hits"], data["matches"]
    if not plan.ignore_case and not plan.regex and re.search(r"[a-zA-Z]", plan.pattern):
        loose = yield from found_lines(plan, pattern, ignore_case=True)
        if loose["matches"] > total:
            head += f" Whatever the case: {many(loose['matches'], 'line')} in {many(loose['files_with'], 'file')}."
            hits, total = (loose["hits"], loose["matches"]) if not total or plan.view == "files" else (hits, total)
    notes = [*([how] if how else []), *skipped_notes(data)]
    return _listed(plan, head, hits, total, notes)


def _as_meant(plan: PlaybookPlan) -> Generator[Step, Reply | None, tuple[str, str]]:
    """Return the expression to search for, and how the pattern was taken. PlaybookFailed where it may be either."""
    if plan.regex == "no" or (not plan.regex and not _METACHARACTER.search(plan.pattern)):
        return re.escape(plan.pattern), ""
    if plan.regex == "yes":
        return plan.pattern, "Taken as a regular expression."
    if not REGEX_ONLY.search(plan.pattern):
        return (yield from _as_text(plan))
    as_text = yield from found_lines(plan, re.escape(plan.pattern), ignore_case=plan.ignore_case)
    if not as_text["matches"]:
        return plan.pattern, "Taken as a regular expression; as plain text no line has it."
    as_regex = yield from found_lines(plan, plan.pattern, ignore_case=plan.ignore_case)
    if as_regex["matches"] == as_text["matches"]:
        return plan.pattern, ""
    raise PlaybookFailed(
        f"{line(plan.pattern)} is in {as_text['matches']:,} lines as it is and matches {as_regex['matches']:,} as a "
        "regular expression: say which is meant, `the exact text` or `the regex`"
    )


def _as_text(plan: PlaybookPlan) -> Generator[Step, Reply | None, tuple[str, str]]:
    """Take a pattern as text that may be one, unless only the other reading finds lines."""
    text = re.escape(plan.pattern)
    if (yield from found_lines(plan, text, ignore_case=True))["matches"]:
        return text, ""
    try:
        re.compile(plan.pattern)
    except re.error:
        return text, ""
    count = (yield from found_lines(plan, plan.pattern, ignore_case=plan.ignore_case))["matches"]
    if count:
        raise PlaybookFailed(
            f"no line has {line(plan.pattern)} as it is, and as a regular expression it matches {count:,}: say "
            "which is meant, `the exact text` or `the regex`"
        )
    return text, ""


def found_lines(plan: PlaybookPlan, pattern: str, *, ignore_case: bool) -> Generator[Step, Reply | None, JsonObject]:
    reply = yield from call(
        "grep", path=plan.path, pattern=pattern, glob=plan.name, limit=_MOST, ignore_case=ignore_case
    )
    return _without_repository(reply.data)


def _without_repository(data: JsonObject) -> JsonObject:
    """Leave out what is inside `.git`, the repository's own files."""
    inside = {path: count for path, count in data["counts"].items() if "/.git/" in path}
    if not inside or "/.git/" in data["path"] + "/":
        return data
    return {
        **data,
        "hits": [hit for hit in data["hits"] if "/.git/" not in hit["path"]],
        "counts": {path: count for path, count in data["counts"].items() if path not in inside},
        "matches": data["matches"] - sum(inside.values()),
        "files_with": data["files_with"] - len(inside),
    }


def _found(plan: PlaybookPlan, data: JsonObject, pattern: str) -> str:
    where = f"{data['files_with']:,} of {many(data['files'], 'text file')}"
    if plan.view == "files":
        return f"{many(data['files_with'], 'file')} of {data['files']:,} with {many(data['matches'], 'such line')}."
    if (
        plan.view == "times"
        and data["matches"] <= len(data["hits"])
        and all(len(hit["text"]) < _SHOWN for hit in data["hits"])
    ):
        expression = re.compile(pattern, re.IGNORECASE if plan.ignore_case else 0)
        times = sum(len(expression.findall(hit["text"])) for hit in data["hits"])
        return f"{many(times, 'time')}, on {many(data['matches'], 'line')} in {where}."
    return f"{many(data['matches'], 'line')} in {where}."


def _listed(plan: PlaybookPlan, head: str, hits: list[JsonObject], total: int, notes: list[str]) -> PlaybookReport:
    most = plan.number
    if plan.view == "files":
        counts = Counter(hit["path"] for hit in hits)
        rows = [[code(path), f"{count:,}"] for path, count in counts.most_common(most)]
        body = table(("file", "lines"), rows, right=(1,))
    else:
        rows = [[code(hit["path"]), f"{hit['line']:,}", code(hit["text"].strip())] for hit in hits[:most]]
        body = table(("file", "line", "text"), rows, right=(1,))
        if total > len(rows):
            notes = [f"The first {len(rows):,} of {total:,} are shown.", *notes]
    title = f"{' and '.join(code(text) for text in plan.patterns or (plan.pattern,))} in {line(plan.path)}"
    return PlaybookReport(title, f"{head}\n\n{body}" if rows else head, tuple(notes))


def _inverted(plan: PlaybookPlan, pattern: str) -> Play:
    """Report how many lines don't hold the text, or which files."""
    data = yield from found_lines(plan, pattern, ignore_case=plan.ignore_case)
    title = f"Without {code(plan.pattern)} in {line(plan.path)}"
    if plan.view == "files":
        everything = (yield from call("grep", path=plan.path, pattern="^", glob=plan.name, limit=1)).data
        if everything["files_with"] > len(everything["counts"]):
            raise PlaybookFailed("there are more than 1,000 files: ask for a smaller folder")
        unmatched = sorted(path for path in everything["counts"] if path not in data["counts"] and "/.git/" not in path)
        rows = [[code(path)] for path in unmatched[: max(plan.number, 200)]]
        return PlaybookReport(
            title, f"**{many(len(unmatched), 'file')}** of {data['files']:,}.\n\n{table(('file',), rows)}"
        )
    if data["files"] != 1:
        raise PlaybookFailed("lines without a text are counted in one file: name it")
    rest_count = data["lines"] - data["matches"]
    body = (
        f"**{many(rest_count, 'line')}** of {data['lines']:,} without it; {data['matches']:,} with it (case as typed)."
    )
    return PlaybookReport(title, body)


def _both(plan: PlaybookPlan) -> Play:
    """Report the lines that hold all of the texts."""
    pattern = "^" + "".join(f"(?=.*{re.escape(text)})" for text in plan.patterns)
    exact = yield from found_lines(plan, pattern, ignore_case=False)
    data = yield from found_lines(plan, pattern, ignore_case=True)
    texts = " and ".join(code(text) for text in plan.patterns)
    head = f"{many(data['matches'], 'line')} with {texts}, whatever the case"
    head += f"; {exact['matches']:,} with this case." if exact["matches"] != data["matches"] else "."
    return _listed(plan, head, data["hits"], data["matches"], skipped_notes(data))


def _declared(plan: PlaybookPlan) -> Play:
    """Report where a name is defined or imported, as far as the usual ways of writing it tell."""
    shape = _DEFINITION if plan.view == "defined" else _IMPORT
    data = yield from found_lines(plan, shape.format(re.escape(plan.pattern)), ignore_case=False)
    verb = plan.view
    title = f"Where {code(plan.pattern)} is {verb} in {line(plan.path)}"
    if not data["matches"]:
        return PlaybookReport(
            title,
            f"No line looks as if it {'defined' if verb == 'defined' else 'imported'} it.",
            tuple(skipped_notes(data)),
        )
    rows = [[code(hit["path"]), str(hit["line"]), code(hit["text"].strip())] for hit in data["hits"][:_LISTED]]
    head = f"{verb.capitalize()} in {many(data['files_with'], 'file')}, on {many(data['matches'], 'line')}."
    return PlaybookReport(
        title, f"{head}\n\n{table(('file', 'line', 'text'), rows, right=(1,))}", tuple(skipped_notes(data))
    )


SEARCH = PlaybookKind(
    "search-text",
    "searching text or a regular expression in files",
    (
        words(
            "search grep find containing contain contains occurrences occurrence occur occurs mention mentions "
            "mentioning look references line lines text word string phrase used use uses appear appears match matches "
            "matching regex regexp defined imported both where files file times often show mentioned anything call "
            "calls reference without"
        ),
    ),
    words(
        "search grep containing contain contains occurrences occurrence occur occurs mention mentions mentioning "
        "every each text word words string phrase term pattern file files line lines case insensitive "
        "insensitively case-insensitive case-insensitively ignoring ignore regardless whatever where appear "
        "appears used use uses references many often times number count match matches matching matched regex "
        "regexp regular expression exact literal literally verbatim fixed defined imported both say says saying "
        "hold holds include includes including having no not don't doesn't dont doesnt without lacking code "
        "source sources places usages entries up reg come comes total it's a found reference referenced called "
        "call calls mentioned anything everything being"
    ),
    search_text,
    _fields,
    words("quoted slashed extension number"),
    default=lambda ask: _LISTED,
)
