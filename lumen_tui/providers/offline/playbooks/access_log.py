"""web-log: requests in the log of a web server, by status, address and path; logins: who failed to log in."""

from __future__ import annotations

import datetime as dt
import re
import shlex
import time
from collections.abc import Generator

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.base import Reply, Step
from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.playbooks.stamps import bounds, spoken, stamp, within
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    many,
    output_of,
    skipped_notes,
    table,
)
from lumen_tui.providers.offline.vocabulary import words

NO_LOGS = (".csv", ".tsv", ".toml", ".json", ".ini", ".md", ".py")
COMBINED = r'^\S+ \S+ [^\[]*\[\d\d/\w{3}/\d{4}:[^\]]+\] "'
_STATUS = r'" (?:%s) (?:\d+|-)(?: |$)'
_STATUS_WORD = lazy_re(r"([1-5](?:\d\d|xx))(?:s|'s|es)?|(?:http)?([1-5]\d\d)")
_COLUMN = {"addresses": "$1", "paths": 'split($0, q, "\\""), n = split(q[2], r, " ")'}
_STATUS_WORDS = frozenset(
    f"{status}{end}" for status in (*range(100, 600), "1xx", "2xx", "3xx", "4xx", "5xx") for end in ("", "s", "'s")
)
_ADDRESSES = words("ip ips address addresses client clients visitor visitors host hosts")
_PATHS = words("path paths url urls page pages uri uris endpoint endpoints")
_CLASSES = {"client": "4xx", "server": "5xx"}


def _statuses(ask: Asked) -> list[str]:
    """Return the statuses that are asked for, such as 404 and 5xx."""
    codes = [match[1] or match[2] for word in ask.words if (match := _STATUS_WORD.fullmatch(word))]
    if ask.has(
        "status",
        "statuses",
        "code",
        "codes",
        "response",
        "responses",
        "http",
        "returned",
        "requests",
        "request",
        "give",
        "gave",
        "return",
        "returns",
        "got",
        "errors",
        "error",
    ):
        codes += [str(number) for number in ask.numbers if 100 <= number <= 599 and not ask.has("top", "first")]
    named = any("access" in path.rsplit("/", 1)[-1] for path in ask.paths)
    if named and not codes and not ask.has("top", "first", "last", "line", "lines", "entries"):
        codes += [str(number) for number in ask.numbers if 100 <= number <= 599]
    codes += [_CLASSES[word] for word in ask.words if word in _CLASSES and ask.has("errors", "error") and not codes]
    return list(dict.fromkeys(codes))


def _fields(ask: Asked) -> Fields | None:
    if any(path.endswith(NO_LOGS) for path in ask.paths):
        return None
    statuses = _statuses(ask)
    figures = [number for number in ask.numbers if str(number) not in statuses]
    if (ask.has("error", "errors") and not statuses) or len(figures) > 1:
        return None
    if ask.periods and not statuses:
        return None
    if statuses and not figures and not set(ask.words) & (_PATHS | {"ip", "ips", "addresses"}):
        return {"view": "statuses", "patterns": tuple(statuses), "number": 10}
    of = "addresses" if set(ask.words) & _ADDRESSES else "paths" if set(ask.words) & _PATHS else ""
    number = figures[0] if len(figures) == 1 else 1 if ask.has("most") and ask.has("ip", "path", "url", "page") else 10
    if of and len(figures) <= 1 and not ask.periods:
        distinct = ask.has("different", "distinct", "unique") or (
            ask.has("many", "number", "count") and not ask.has("top", "most")
        )
        return {"view": of, "patterns": tuple(statuses), "number": number, "subject": "distinct" if distinct else ""}
    if ask.has("status", "statuses", "codes") and not ask.numbers:
        return {"view": "all", "number": 30}
    if ask.has("requests", "hits") and ask.has("many", "number", "count", "total") and not ask.numbers:
        return {"view": "requests", "number": 10}
    return None


def web_log(plan: PlaybookPlan) -> Play:
    """Report requests of a log in the common or combined format."""
    whole = (yield from call("grep", path=plan.path, pattern=COMBINED, glob=plan.name, limit=1)).data
    if not whole["matches"]:
        raise PlaybookFailed(f"{line(plan.path)} is not the log of a web server in the common or combined format")
    notes = skipped_notes(whole)
    if unlike := whole["lines"] - whole["matches"]:
        notes.append(f"{many(unlike, 'line')} of another format left out.")
    title = f"Requests in {line(plan.path)}"
    if plan.view == "requests":
        return PlaybookReport(title, f"**{many(whole['matches'], 'request')}**.", tuple(notes))
    if plan.view == "statuses":
        return PlaybookReport(title, (yield from _by_status(plan, whole["matches"])), tuple(notes))
    if whole["files"] > 1:
        raise PlaybookFailed(f"{line(plan.path)} holds several logs: name one of them")
    rows = yield from _ranked(plan)
    if plan.view == "all":
        body = table(("requests", "status"), rows, right=(0,))
        return PlaybookReport(title, f"{many(whole['matches'], 'request')}.\n\n{body}", tuple(notes))
    kind = "address" if plan.view == "addresses" else "path"
    of = f" with status {' or '.join(plan.patterns)}" if plan.patterns else ""
    first = f" The most, {rows[0][0]}, are of {rows[0][1]}." if rows and plan.subject != "distinct" else ""
    distinct = f"**{len(rows):,} different {kind}{'es' if kind == 'address' else 's'}**{of}.{first}"
    body = table(("requests", kind), rows[: plan.number], right=(0,))
    return PlaybookReport(title, f"{distinct}\n\n{body}", tuple(notes))


def _by_status(plan: PlaybookPlan, total: int) -> Generator[Step, Reply | None, str]:
    rows: list[list[str]] = []
    parts: list[str] = []
    today = dt.datetime.fromtimestamp(time.time())
    for status in plan.patterns:
        pattern = COMBINED + r".*?" + _STATUS % status.replace("x", r"\d")
        data = (yield from call("grep", path=plan.path, pattern=pattern, glob=plan.name, limit=5000)).data
        hits, count = data["hits"], data["matches"]
        if plan.period.text:
            if count > len(hits):
                raise PlaybookFailed(f"{count:,} requests have status {status}: more than are looked at one by one")
            hits = [hit for hit in hits if within(stamp(hit["text"], today), *bounds(plan.period, today))]
            count = len(hits)
        parts.append(f"**{many(count, 'request')}** of {total:,} with status {status}{spoken(plan.period, today)}")
        rows += [[status, code(hit["text"].strip())] for hit in hits[:5]]
    head = "; ".join(parts) + "."
    return f"{head}\n\nThe first of them:\n\n{table(('status', 'line'), rows)}" if rows else head


def _ranked(plan: PlaybookPlan) -> Generator[Step, Reply | None, list[list[str]]]:
    """Return rows of how often and what, the most frequent first."""
    column = {"addresses": "$1", "paths": "p[2]", "all": "s[1]"}[plan.view]
    wanted = "|".join(status.replace("x", "[0-9]") for status in plan.patterns)
    test = f"s[1] ~ /^({wanted})$/" if wanted else "1"
    program = (
        r"$0 ~ /^[^ ]+ [^ ]+ [^\[]*\[[0-9]/ "
        r'{ split($0, q, "\""); split(q[2], p, " "); split(q[3], s, " "); '
        rf'if ({test}) n[{column}]++ }} END {{ for (k in n) print n[k] "\t" k }}'
    )
    command = f"LC_ALL=C awk {shlex.quote(program)} < {shlex.quote(plan.path)} | sort -k1,1nr -k2 | head -n 20000"
    output = yield from output_of(command)
    rows = [row.partition("\t") for row in output.splitlines() if "\t" in row]
    return [[f"{int(count):,}", code(request)] for count, _, request in rows]


_FAILED = r"sshd(?:-session)?\[\d+\]: Failed (?:password|publickey|none|keyboard-interactive\S*) for "


def failed_logins(plan: PlaybookPlan) -> Play:
    """Report how many logins over SSH failed, from where."""
    data = (yield from call("grep", path=plan.path, pattern=_FAILED, glob=plan.name, limit=5000)).data
    any_sshd = (yield from call("grep", path=plan.path, pattern=r"sshd(?:-session)?\[\d+\]:", limit=1)).data
    if not any_sshd["matches"]:
        raise PlaybookFailed(f"{line(plan.path)} holds no lines of sshd, so it does not tell failed logins")
    sources: dict[str, int] = {}
    for hit in data["hits"]:
        if match := re.search(r" from (\S+)", hit["text"]):
            sources[match[1]] = sources.get(match[1], 0) + 1
    ranked = sorted(sources.items(), key=lambda item: (-item[1], item[0]))[: plan.number]
    partly = f" Addresses are from the first {len(data['hits']):,}." if data["matches"] > len(data["hits"]) else ""
    head = f"**{many(data['matches'], 'failed login')}** over SSH (lines of sshd that say `Failed … for`).{partly}"
    body = table(("times", "from"), [[f"{count:,}", code(source)] for source, count in ranked], right=(0,))
    notes = tuple(skipped_notes(data))
    return PlaybookReport(f"Failed logins in {line(plan.path)}", f"{head}\n\n{body}" if ranked else head, notes)


WEB_LOG = PlaybookKind(
    "web-log",
    "requests in a web server's log by status, address or path",
    (
        words(
            "error errors redirect redirects many number count any request requests response responses status "
            "statuses code codes hit hits ip ips address addresses client clients url urls path paths page pages "
            "visitor visitors http uri endpoint endpoints"
        )
        | _STATUS_WORDS,
    ),
    words(
        "request requests response responses status statuses code codes hit hits ip ips address addresses client "
        "clients url urls path paths page pages visitor visitors http uri uris endpoint endpoints many number "
        "count top most different distinct unique frequent frequently common requested visited log access nginx "
        "apache web total often made makes us returned returning error errors server times busiest active sent "
        "served answered total lines entries breakdown distribution by each every per of were logged hitting "
        "accessed popular calls called give gives gave redirect redirects and or return returns got"
    )
    | _STATUS_WORDS,
    web_log,
    _fields,
    words("figure period"),
    which="which log",
)
LOGINS = PlaybookKind(
    "failed-logins",
    "failed logins over SSH",
    (
        words("failed failures failing unsuccessful"),
        words("login logins logons password passwords attempts ssh authentication auth"),
    ),
    words(
        "failed failures failing unsuccessful login logins logons attempt attempts ssh sshd authentication auth "
        "many number count top log logs times often total most addresses ips ip sources happened made try tries "
        "tried to log"
    ),
    failed_logins,
    takes=words("number"),
    which="which log",
)
