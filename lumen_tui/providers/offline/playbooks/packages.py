"""package-log: what dpkg installed, upgraded and removed, from its log."""

from __future__ import annotations

import datetime as dt
import re
import time

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.playbooks.stamps import bounds, spoken, stamp, within
from lumen_tui.providers.offline.report import Play, PlaybookFailed, PlaybookReport, call, code, line, many, table
from lumen_tui.providers.offline.vocabulary import words

_DONE = {
    "installed": "install", "install": "install", "added": "install", "new": "install", "upgraded": "upgrade",
    "updated": "upgrade", "upgrades": "upgrade", "updates": "upgrade", "removed": "remove|purge",
    "uninstalled": "remove|purge", "purged": "purge",
}  # fmt: skip
_PARTICIPLES = {"install": "installed", "upgrade": "upgraded", "remove|purge": "removed", "purge": "purged"}
_LINE = lazy_re(r"^\S+ \S+ (\w+) (\S+) (\S+) (\S+)")


def _fields(ask: Asked) -> Fields | None:
    done = {_DONE[word] for word in ask.words if word in _DONE}
    if not ask.has("package", "packages", "pkgs", "dpkg", "apt") and not any("dpkg" in path for path in ask.paths):
        return None
    if len(done) != 1 or (ask.paths and not all("dpkg" in path for path in ask.paths)):
        return None
    view = done.pop()
    return {"view": view, "subject": _PARTICIPLES[view]}


def package_log(plan: PlaybookPlan) -> Play:
    """Report the packages that dpkg did something with, in a period or in the whole log."""
    path = plan.path if "dpkg" in plan.path else "/var/log/dpkg.log"
    pattern = rf"^\d{{4}}-\d\d-\d\d \S+ (?:{plan.view}) \S+ \S+ \S+$"
    data = (yield from call("grep", path=path, pattern=pattern, limit=5000)).data
    if data["matches"] > len(data["hits"]):
        raise PlaybookFailed(f"{data['matches']:,} lines of {line(path)} match: more than this playbook looks at")
    today = dt.datetime.fromtimestamp(time.time())
    since, until = bounds(plan.period, today)
    hits = [hit["text"] for hit in data["hits"] if within(stamp(hit["text"], today), since, until)]
    title = f"Packages {line(plan.subject)} according to {line(path)}{spoken(plan.period, today)}"
    rows = []
    for text in hits:
        if match := _LINE.match(text):
            rows.append([text[:16], code(match[2]), code(match[3]), code(match[4])])
    for term in plan.terms:
        rows = [row for row in rows if term.lower() in re.split(r"[`:]", row[1].lower())]
        title += f", {line(term)}"
        if not rows and not any(term.lower() in text.lower() for text in hits):
            raise PlaybookFailed(f"no such line of {line(path)} is about {line(term)}")
    names = {row[1] for row in rows}
    twice = f", of {many(len(names), 'different package')}" if len(names) < len(rows) else ""
    head = f"**{many(len(rows), 'package')}**{twice}: lines that say `{plan.view.replace('|', '` or `')}`."
    body = table(("when", "package", "from version", "to version"), rows[: max(plan.number, 200)])
    notes = (f"The first 200 of {len(rows)} are listed.",) if len(rows) > 200 else ()
    return PlaybookReport(title, f"{head}\n\n{body}" if rows else head, notes)


PACKAGES = PlaybookKind(
    "package-log",
    "packages that dpkg installed, upgraded or removed",
    (frozenset(_DONE),),
    words(
        "package packages pkgs per dpkg log newly many number count total according says say last recently which "
        "debian apt when list freshly first time"
    )
    | frozenset(_DONE),
    package_log,
    _fields,
    words("period terms"),
    anywhere=True,
)
