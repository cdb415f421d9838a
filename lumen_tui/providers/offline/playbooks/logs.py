"""log-errors: what a log says at a level: how many lines, which kinds, the first, the last, by level, day and hour."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections import Counter
from collections.abc import Generator

from lumen_tui.providers.base import JsonObject, Reply, Step
from lumen_tui.providers.offline.grammar import DEFAULT_TOP, Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.playbooks import levels
from lumen_tui.providers.offline.playbooks.access_log import COMBINED, NO_LOGS
from lumen_tui.providers.offline.playbooks.log_views import LogHits, viewed
from lumen_tui.providers.offline.playbooks.stamps import bounds, spoken, stamp, within
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

_MOST_DAYS = 7  # of a period by which a long log is narrowed down
MOST_LINES = 5000  # lines that are looked at one by one
_LOOSE = (
    r"(?<![\w/.-])(?:error|fatal|critical|panic|traceback|exception|segfault)(?:s|ed)?(?![\w/-])|\bfail(?:ed|ure|s)\b"
)
_PLAIN_ERROR = (
    r"^(?:\w+(?:\.\w+)*(?:Error|Exception)\b|Traceback \(most recent|panic:)|(?i:(?:^|[\s:])(?:fatal )?error:)"
)
_VIEWS = (
    ("levels", words("levels"), ()),
    ("hours", words("hour hours hourly"), ()),
    ("days", words("day days daily"), ()),
    ("first", words("first earliest oldest"), ()),
    ("last", words("last latest recent newest"), ()),
)


def _subject(ask: Asked) -> tuple[str, ...]:
    """Return the levels that are asked for; `critical errors` are the critical ones."""
    if ask.has("problems"):
        return ("error", "warning")
    named = tuple(dict.fromkeys(levels.WORDS[word] for word in ask.words if word in levels.WORDS))
    severe = [level for level in named if level in levels.SEVERE]
    if severe and "error" in named and not ask.has("and", "or", "plus", "&"):
        named = tuple(level for level in named if level != "error")
    return tuple(level for level in levels.LEVELS if level in named)


_GROUPS = r"(?:kind|type|level|log|hour|day|message|severity|error|frequency|count|number|the)s?"


def _fields(ask: Asked) -> Fields | None:
    if any(path.endswith(NO_LOGS) for path in ask.paths):
        return None
    text = " ".join(ask.words)
    part = re.search(r"\b(?:first|last|top|bottom)\s+\d*\s*(?:lines|entries)\b", ask.raw, re.IGNORECASE)
    if part or (ask.has("new") and not ask.periods):
        return None
    if re.search(rf"\b(?:by|per|each|every) (?!{_GROUPS}\b)[a-z]", text):
        return None
    if ask.has("level", "levels") and re.search(r"\b(?:each|per|by|every|which|what|all|of) (?:log )?levels?\b", text):
        subject = _subject(ask)
        if not subject:
            return {"view": "levels", "subject": "levels"}
        if re.search(r"\b(?:each|per|by|every|which|what) (?:log )?levels?\b", text):
            return None
    subject = _subject(ask)
    if ask.has("levels") and not subject:
        return {"view": "levels", "subject": "levels"}
    if not subject or re.search(r"\b(?:lines?|entries) (?:with|that contain|containing) (?!level|severity)", text):
        return None
    view = next((name for name, group, _ in _VIEWS[1:] if set(ask.words) & group), "")
    if view in ("first", "last") and ask.has("most") and ask.has("common", "frequent", "often"):
        return None
    if ask.has("first") and ask.has("last", "latest", "recent"):
        return None
    return {"view": view, "subject": " and ".join(_plural(level) for level in subject)}


def _plural(level: str) -> str:
    return f"{level}s" if level in ("error", "warning", "alert", "notice") else level


def _chosen(plan: PlaybookPlan) -> tuple[str, ...]:
    return tuple(level for level in levels.LEVELS if _plural(level) in plan.subject.split(" and "))


def _default(ask: Asked) -> int:
    single = ask.has("first", "last", "latest", "earliest", "newest", "recent", "when") and not ask.has(
        "errors", "warnings"
    )
    return 1 if single else DEFAULT_TOP


def log_errors(plan: PlaybookPlan) -> Play:
    """Report the lines of a level in a log or a folder of logs: how often, where first, where last."""
    if plan.view == "levels":
        return (yield from _by_level(plan))
    today = dt.datetime.fromtimestamp(time.time())
    log_hits = yield from _find(plan, today)
    spell = spoken(plan.period, today)
    spell += f" with {' and '.join(code(term) for term in plan.terms)} in them" if plan.terms else ""
    title = f"{plan.subject.capitalize()} in {line(plan.path)}{spell}"
    head = _head(plan, log_hits, spell)
    head += _split(plan, log_hits) + (yield from _more_severe(plan))
    if not log_hits.count:
        return PlaybookReport("No " + title[0].lower() + title[1:], head, log_hits.notes)
    body = viewed(plan, log_hits, today)
    return PlaybookReport(title, f"{head}\n\n{body}", log_hits.notes)


def _head(plan: PlaybookPlan, log_hits: LogHits, spell: str) -> str:
    data = log_hits.data
    level = " or ".join(level.upper() for level in _chosen(plan))
    searched = f"{data['lines']:,} in {many(data['files'], 'text file')}"
    if data.get("plain"):
        return (
            f"{many(log_hits.count, 'line')} of {searched} {_verb(log_hits.count, 'is', 'are')} {plan.subject}{spell}."
        )
    return (
        f"{many(log_hits.count, 'line')} of {searched} {_verb(log_hits.count, 'has', 'have')} the level {level}{spell}."
    )


def _verb(count: int, singular: str, more: str) -> str:
    return singular if count == 1 else more


def _split(plan: PlaybookPlan, log_hits: LogHits) -> str:
    """Return how many lines each of several levels has."""
    if len(_chosen(plan)) < 2 or log_hits.count > len(log_hits.hits):
        return ""
    counts = Counter(levels.level_of(hit["text"]) for hit in log_hits.hits)
    return " " + ", ".join(f"{level.upper()}: {counts[level]:,}" for level in _chosen(plan)) + "."


def _more_severe(plan: PlaybookPlan) -> Generator[Step, Reply | None, str]:
    """Say how many lines are worse than an error, where errors were asked for without a period."""
    if _chosen(plan) != ("error",) or plan.view or plan.period.text or plan.terms:
        return ""
    reply = yield from _grep(plan, levels.pattern(levels.SEVERE), 1)
    count = reply.data["matches"]
    return (
        f" {many(count, 'more line')} {'is' if count == 1 else 'are'} of a higher level (critical, fatal, alert)."
        if count
        else ""
    )


def _grep(plan: PlaybookPlan, pattern: str, limit: int) -> Generator[Step, Reply | None, Reply]:
    name = plan.name if plan.name != "*.log" else ""  # `log files` are not always named so
    return (yield from call("grep", path=plan.path, pattern=pattern, glob=name, limit=limit))


def _find(plan: PlaybookPlan, today: dt.datetime) -> Generator[Step, Reply | None, LogHits]:
    """Return the lines with the levels of the plan. PlaybookFailed where none of the files tells levels apart."""
    wanted = levels.pattern(_chosen(plan))
    reply = yield from _grep(plan, wanted, MOST_LINES)
    if plan.period.text and reply.data["matches"] > MOST_LINES:
        reply = yield from _grep(plan, _of_days(plan, wanted, reply.data["hits"], today), MOST_LINES)
    data, notes = reply.data, skipped_notes(reply.data)
    if not data["files"]:
        raise PlaybookFailed(f"there is no text file to read in {line(plan.path)}")
    if not data["matches"]:
        data, more = yield from _without_levels(plan, data)
        notes += more
    return _about(plan, _in_period(plan, data, today, notes))


def _of_days(plan: PlaybookPlan, wanted: str, hits: list[JsonObject], today: dt.datetime) -> str:
    """Narrow the expression to the days of a period, where all lines at hand have their day at the same place.

    Elsewhere, and for a period of more than a week, it is returned as it is: there are too many lines then.
    """
    since, until = bounds(plan.period, today)
    if not since or since.startswith("T"):
        return wanted
    first, last = dt.date.fromisoformat(since[:10]), dt.date.fromisoformat((until or today.isoformat())[:10])
    last -= dt.timedelta(days=len(until) == len("2026-11-21"))  # a day alone is where the period is over
    places = {_place_of_day(hit["text"], today) for hit in hits}
    place = places.pop() if len(places) == 1 else None
    if place is None or not 0 <= (last - first).days <= _MOST_DAYS:
        return wanted
    column, form = place
    days = [_day_forms(first + dt.timedelta(number))[form] for number in range((last - first).days + 1)]
    return rf"^(?=.{{{column}}}(?:{'|'.join(days)})){wanted}"


def _place_of_day(text: str, today: dt.datetime) -> tuple[int, int] | None:
    """Return in which column the day of a line begins, and which of the forms it has."""
    at = stamp(text, today)
    if not at:
        return None
    forms = enumerate(_day_forms(dt.date.fromisoformat(at[:10])))
    return min(((column, form) for form, day in forms if (column := text.find(day)) >= 0), default=None)


def _day_forms(day: dt.date) -> tuple[str, ...]:
    return (day.isoformat(), day.strftime("%Y/%m/%d"), day.strftime("%d/%b/%Y"), day.strftime("%b ") + f"{day.day:>2}")


def _without_levels(
    plan: PlaybookPlan, data: JsonObject
) -> Generator[Step, Reply | None, tuple[JsonObject, list[str]]]:
    """Where no line has the level: say whether any has one, and look for errors as programs print them."""
    leveled = (yield from _grep(plan, levels.ANY_LEVEL, 1)).data["matches"]
    if leveled:
        return data, []
    if _chosen(plan) != ("error",):
        raise PlaybookFailed(f"no line of {line(plan.path)} tells its level, so {plan.subject} cannot be told apart")
    if (yield from _grep(plan, COMBINED, 1)).data["matches"]:
        raise PlaybookFailed(
            f"{line(plan.path)} is a web server's log of requests: ask for statuses, such as 404 or 5xx"
        )
    plain = (yield from _grep(plan, _PLAIN_ERROR, MOST_LINES)).data
    if plain["matches"]:
        return {**plain, "plain": True}, [
            "No line tells its level: lines that begin with or hold `error:` are counted."
        ]
    loose = (yield from call("grep", path=plan.path, pattern=_LOOSE, ignore_case=True, limit=20)).data
    if loose["matches"]:
        raise PlaybookFailed(
            f"no line of {line(plan.path)} tells its level, and {many(loose['matches'], 'line')} "
            f"{'has' if loose['matches'] == 1 else 'have'} a word such as error or failed, which need not mean one: "
            'search for the very words, such as "failed"'
        )
    return {**plain, "plain": True}, ["No line tells its level, and none says that something failed."]


def _in_period(plan: PlaybookPlan, data: JsonObject, today: dt.datetime, notes: list[str]) -> LogHits:
    hits = data["hits"]
    if data["matches"] > len(hits) and (plan.period.text or plan.view):
        raise PlaybookFailed(
            f"{data['matches']:,} lines of {line(plan.path)} match, and {MOST_LINES:,} are looked at one by one: "
            "ask for one file, or how many there are in all"
        )
    if not plan.period.text:
        return LogHits(data["matches"], hits, data, tuple(notes))
    since, until = bounds(plan.period, today)
    stamped = [(stamp(hit["text"], today), hit) for hit in hits]
    matching = [hit for at, hit in stamped if at and within(at, since, until)]
    timeless = sum(not at for at, _ in stamped)
    if timeless and timeless == len(stamped):
        raise PlaybookFailed(f"the lines of {line(plan.path)} have no time that this playbook can read")
    if timeless:
        notes.append(f"{many(timeless, 'line')} without a time left out.")
    notes.append("Times are compared as the log writes them.")
    return LogHits(len(matching), matching, data, tuple(notes))


def _about(plan: PlaybookPlan, log_hits: LogHits) -> LogHits:
    """Keep the lines with the words that only the log can explain. PlaybookFailed where it does not."""
    if not plan.terms or not log_hits.count:
        return log_hits
    texts = [term.casefold() for term in plan.terms]
    matching = [hit for hit in log_hits.hits if all(text in hit["text"].casefold() for text in texts)]
    named = " and ".join(line(term) for term in plan.terms)
    if not matching or log_hits.count > len(log_hits.hits):
        raise PlaybookFailed(f"{named} is not understood: no line that was looked at has this level and these words")
    note = f"Only lines with {named} in them, whatever the case."
    return LogHits(len(matching), matching, log_hits.data, (*log_hits.notes, note))


def _by_level(plan: PlaybookPlan) -> Play:
    """Report how many lines each level has."""
    if plan.period.text:
        raise PlaybookFailed("this playbook counts levels over a whole log: ask for one level and a period")
    rows: list[list[str]] = []
    counted = total = 0
    for level in reversed(levels.LEVELS):
        data = (yield from _grep(plan, levels.pattern((level,)), 1)).data
        total, counted = data["lines"], counted + data["matches"]
        rows += [[f"{data['matches']:,}", level.upper()]] * bool(data["matches"])
    if not rows:
        raise PlaybookFailed(f"no line of {line(plan.path)} tells its level")
    without = f" {many(total - counted, 'line')} without a level, such as tracebacks." if total > counted else ""
    body = f"{many(counted, 'line')} with a level.{without}\n\n{table(('lines', 'level'), rows, right=(0,))}"
    return PlaybookReport(f"Levels in {line(plan.path)}", body)


LOG_ERRORS = PlaybookKind(
    "log-errors",
    "the errors in a log, or any other level, by kind, day, hour or period",
    (
        words(
            "errors error warnings warning warn warns critical criticals crit fatal fatals debug info infos notice "
            "notices problems err errs alerts emerg trace level levels"
        ),
    ),
    words(
        "log logs logfile logfiles logged recorded file files error errors warning warnings warn warns critical "
        "criticals crit fatal fatals debug info infos notice notices problems err errs alert alerts emerg trace "
        "many number count counts times often summarise summarize summary digest most common frequent frequently "
        "analyse analyze happened happen occurred occur occurs top which were scan check extract level levels "
        "lines line entries entry messages message events event records first last latest recent newest earliest "
        "oldest overview distinct unique different group grouped contain contains containing have time when hour "
        "hours hourly day days daily busiest per each by every total amount kind kinds type types marked tagged "
        "severity up appear appears shows new were thrown raised seen written there come logging breakdown broken "
        "break down distribution happening anything everything"
    ),
    log_errors,
    _fields,
    words("number extension period terms"),
    which="which log",
    default=_default,
)
