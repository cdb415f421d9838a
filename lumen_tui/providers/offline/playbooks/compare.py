"""compare: what differs between two folders or two files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator

from lumen_tui.providers.base import Reply, Step
from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    many,
    output_of,
    table,
)
from lumen_tui.providers.offline.vocabulary import words

_SHOWN = 200


def _fields(ask: Asked) -> Fields | None:
    if len(ask.paths) != 2:
        return None
    missing = ask.has("missing", "lacks", "absent") or "not in" in ask.text or ask.has("only")
    return {"view": "only" if missing and not ask.has("compare", "differences", "different", "diff") else ""}


def compare(plan: PlaybookPlan) -> Play:
    """Report what is in one only, and what differs."""
    kinds = (yield from output_of(f"stat -L -c %F -- {shlex.quote(plan.path)} {shlex.quote(plan.second)}")).splitlines()
    if len(kinds) != 2:
        raise PlaybookFailed("both have to be there")
    folders = [kind == "directory" for kind in kinds]
    if folders[0] != folders[1]:
        raise PlaybookFailed(f"{line(plan.path)} and {line(plan.second)} are a file and a folder: name two of a kind")
    return (yield from (_folders(plan) if folders[0] else _files(plan)))


def _folders(plan: PlaybookPlan) -> Play:
    first, second = plan.path.rstrip("/"), plan.second.rstrip("/")
    output = yield from output_of(
        f"LC_ALL=C diff -rq --exclude=.git -- {shlex.quote(first)} {shlex.quote(second)} 2>&1; true"
    )
    ours, theirs = (yield from _below(first)), (yield from _below(second))
    only = {first: sorted(ours - theirs), second: sorted(theirs - ours)}
    differing: list[str] = []
    other: list[str] = []
    for row in output.splitlines():
        if match := re.fullmatch(r"Files (.+) and .+ differ", row):
            differing.append(match[1][len(first) + 1 :])
        elif row and not row.startswith("Only in "):
            other.append(row)
    parts = [_listing(f"Only in {line(folder)}", paths) for folder, paths in only.items()]
    parts.append(_listing("In both, with different content", differing))
    head = "Both hold the same files with the same content."
    if differing or any(only.values()):
        head = f"{len(only[first]):,} only in the first, {len(only[second]):,} only in the second, "
        head += f"{len(differing):,} different."
    notes = tuple(f"diff said: {line(text)}" for text in other[:5])
    return PlaybookReport(f"{line(first)} and {line(second)}", "\n\n".join([head, *filter(None, parts)]), notes)


def _below(folder: str) -> Generator[Step, Reply | None, set[str]]:
    """Return the names of all files below a folder, counted from it."""
    data = (yield from call("glob", pattern="*", path=folder, kind="any", limit=5000)).data
    if data["total"] > len(data["matches"]):
        raise PlaybookFailed(f"more than 5,000 files are below {line(folder)}: name smaller folders")
    names = {item["path"][len(data["path"]) + 1 :] for item in data["matches"]}
    folders = {name.rpartition("/")[0] for name in names}
    return {name for name in names if name not in folders and not f"/{name}/".startswith("/.git/")}


def _listing(title: str, paths: list[str]) -> str:
    if not paths:
        return ""
    more = f"\n\nThe first {_SHOWN} of {len(paths):,}." if len(paths) > _SHOWN else ""
    return f"## {title}\n\n{table(('path',), [[code(path)] for path in sorted(paths)[:_SHOWN]])}{more}"


def _files(plan: PlaybookPlan) -> Play:
    if plan.view:
        raise PlaybookFailed("two files are compared as a whole: ask for their differences")
    command = f"LC_ALL=C diff -U0 -- {shlex.quote(plan.path)} {shlex.quote(plan.second)}; true"
    rows = (yield from output_of(command)).splitlines()
    title = f"{line(plan.path)} and {line(plan.second)}"
    if not rows:
        return PlaybookReport(title, "Both have the same content.")
    if rows[0].startswith("Binary"):
        return PlaybookReport(title, "They differ; both are binary, or one of them is.")
    changed = [row for row in rows[2:] if row[:1] in ("+", "-")]
    gone = sum(row.startswith("-") for row in changed)
    head = f"**{many(gone, 'line')}** only in the first, **{many(len(changed) - gone, 'line')}** only in the second."
    shown = [["first" if row[0] == "-" else "second", code(row[1:])] for row in changed[:_SHOWN]]
    notes = (f"The first {_SHOWN} of {len(changed):,} are shown.",) if len(changed) > _SHOWN else ()
    return PlaybookReport(title, f"{head}\n\n{table(('file', 'line'), shown)}", notes)


COMPARE = PlaybookKind(
    "compare",
    "what differs between two folders or files",
    (
        words(
            "compare comparing compared comparison diff diffs differ differs difference differences different "
            "differing identical same missing only vs versus between changed"
        ),
    ),
    words(
        "compare comparing compared comparison diff diffs differ differs difference differences different "
        "differing identical same missing only vs versus against and between file files folders directories two "
        "both content contents changed not but or absent lacks from to other exist exists has have against equal "
        "there"
    ),
    compare,
    _fields,
    words("second"),
    which="which two folders or files",
)
