"""What the offline provider can do: a playbook makes the calls that a model would make, and reports what they gave."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from lumen_tui.providers.base import JsonObject
from lumen_tui.providers.offline.playbook_router import PlaybookPlan
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    many,
    size,
    table,
    walk_notes,
)

_FORMAT = "@@%h%x09%as%x09%an%x09%s"
_LISTED = 15


class _Commit(Struct, frozen=True):
    hash: str
    day: str
    author: str
    subject: str


def git_log(plan: PlaybookPlan) -> Play:
    """Report who did what when, and which files changed most."""
    since = f" --since={round(plan.days * 24)}.hours.ago" if plan.days else ""
    command = f"git log -n {plan.number}{since} --numstat --format={_FORMAT}"
    reply = yield from call("shell", command=command, cwd=plan.path)
    output = reply.data["output"]
    commits, changes = _parse(output)
    if not commits:
        return PlaybookReport(f"No commits in {line(plan.path)}", "Nothing was committed in that time.")
    notes = []
    if len(commits) == plan.number and plan.number > 1:
        notes.append(f"The latest {plan.number} commits; there may be more before them.")
    if len(output) >= 199_000:
        notes.append("The log was cut; the oldest commits may be missing.")
    title = f"Git history of {line(plan.path)}"
    return PlaybookReport(title, _render(commits, changes, plan), tuple(notes))


def _parse(output: str) -> tuple[list[_Commit], Counter[str]]:
    commits: list[_Commit] = []
    changes: Counter[str] = Counter()
    for row in output.split("\n"):
        parts = row.split("\t")
        if row.startswith("@@") and len(parts) >= 4:
            commits.append(_Commit(parts[0][2:], parts[1], parts[2], "\t".join(parts[3:])))
        elif len(parts) == 3 and commits:
            changes[parts[2]] += sum(int(part) for part in parts[:2] if part.isdigit())
    if output.strip() and not commits:
        raise PlaybookFailed(f"git answered something unexpected: {line(output[:200])}")
    return commits, changes


def _render(commits: list[_Commit], changes: Counter[str], plan: PlaybookPlan) -> str:
    authors = Counter(commit.author for commit in commits)
    days = sorted({commit.day for commit in commits})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    people = ", ".join(f"{line(name)} ({count})" for name, count in authors.most_common(8))
    body = [f"**{many(len(commits), 'commit')}** by {many(len(authors), 'author')}, {span}: {people}."]
    rows = [[commit.day, code(commit.hash), line(commit.author), line(commit.subject)] for commit in commits[:_LISTED]]
    body += ["## Latest", table(("day", "commit", "author", "subject"), rows)]
    if changes:
        moved = [[f"{count:,}", code(path)] for path, count in changes.most_common(min(10, plan.number + 9))]
        body += ["## Most changed files", table(("lines", "file"), moved, right=(0,))]
    return "\n\n".join(body)


def _total(data: JsonObject) -> str:
    return (
        f"In all {many(data['files'], 'file')} with {size(data['allocated'])} on disk (allocated blocks), "
        f"{size(data['bytes'])} ({data['bytes']:,} bytes) by apparent size, in {many(data['folders'] + 1, 'folder')}."
    )


def _files(data: JsonObject, number: int) -> str:
    rows = [
        [str(rank), size(item["allocated"]), f"{item['bytes']:,}", code(item["path"])]
        for rank, item in enumerate(data["largest"][:number], start=1)
    ]
    return table(("#", "on disk", "size in bytes", "path"), rows, right=(0, 1, 2))


def largest_files(plan: PlaybookPlan) -> Play:
    """Report the largest files below a folder, by the blocks that they take on the disk."""
    reply = yield from call("disk_usage", path=plan.path, top=plan.number, name=plan.name)
    data, shown = reply.data, len(reply.data["largest"])
    kind = f"{plan.name} file" if plan.name else "file"
    title = f"The {'' if shown == 1 else f'{shown} '}largest {kind}{'' if shown == 1 else 's'} in {line(plan.path)}"
    if not shown:
        return PlaybookReport(f"No {line(kind)}s in {line(plan.path)}", _total(data), tuple(walk_notes(data)))
    notes = walk_notes(data)
    if shown < plan.number:
        notes.insert(0, f"{plan.number} were asked for; there are only {shown}.")
    return PlaybookReport(title, f"{_files(data, plan.number)}\n\n{_total(data)}", tuple(notes))


def disk_usage(plan: PlaybookPlan) -> Play:
    """Report the total, the largest folders and the largest files."""
    reply = yield from call("disk_usage", path=plan.path, top=plan.number, name=plan.name)
    data = reply.data
    body = [f"**{size(data['allocated'])}** on disk. {_total(data)}"]
    if data["by_folder"]:
        rows = [
            [
                size(item["allocated"]),
                _share(item["allocated"], data["allocated"]),
                f"{item['files']:,}",
                code(item["path"]),
            ]
            for item in data["by_folder"]
        ]
        body += ["## Largest folders", table(("on disk", "share", "files", "path"), rows, right=(0, 1, 2))]
    if data["largest"] and data["is_folder"]:
        body += ["## Largest files", _files(data, plan.number)]
    return PlaybookReport(f"Disk usage of {line(plan.path)}", "\n\n".join(body), tuple(walk_notes(data)))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


_HITS = 5000  # lines fetched for a digest
_ERROR = (
    r"\b(?:error|fatal|critical|crit|emerg|alert|panic|traceback|exception|segfault)(?:s|ed)?\b"
    r"|\w+(?:Error|Exception)\b|\bfail(?:ed|ure)\b"
)
_WARNING = r"\bwarn(?:ing)?s?\b"
_VARIABLE = (
    (re.compile(r"^[\[(<]?(?:\d{4}-\d\d-\d\d[T ]?|[A-Z][a-z]{2} [ \d]\d )[\d:.,+Z-]*[\])>]?\s*"), ""),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b"), "…"),
    (re.compile(r"\d+"), "N"),
)


def _skipped(data: JsonObject) -> list[str]:
    notes = walk_notes(data)
    if data["binary"]:
        notes.append(f"{many(data['binary'], 'binary file')} left out.")
    if data["large"]:
        notes.append(f"{many(data['large'], 'very large file')} left out.")
    return notes


def search_text(plan: PlaybookPlan) -> Play:
    """Report the lines that hold a text."""
    reply = yield from call(
        "grep", path=plan.path, pattern=plan.pattern, name=plan.name, limit=plan.number, ignore_case=plan.ignore_case
    )
    data = reply.data
    head = f"{many(data['matches'], 'line')} in {data['files_with']:,} of {many(data['files'], 'text file')}."
    rows = [[code(hit["path"]), f"{hit['line']:,}", code(hit["text"].strip())] for hit in data["hits"]]
    body = f"{head}\n\n{table(('file', 'line', 'text'), rows, right=(1,))}" if rows else head
    notes = _skipped(data)
    if data["matches"] > len(rows):
        notes.insert(0, f"The first {len(rows):,} of {data['matches']:,} are shown.")
    return PlaybookReport(f"{code(plan.pattern)} in {line(plan.path)}", body, tuple(notes))


def count(plan: PlaybookPlan) -> Play:
    """Report how many files, folders or lines there are."""
    if plan.subject == "lines":
        return (yield from _count_lines(plan))
    kind = "file" if plan.subject == "files" else "folder"
    reply = yield from call("find", path=plan.path, kind=kind, name=plan.name, limit=1)
    data = reply.data
    named = f" named {code(plan.name)}" if plan.name else ""
    extra = f" with {size(data['bytes'])}, in {many(data['folders'] + 1, 'folder')}" if kind == "file" else ""
    body = f"**{many(data['total'], kind)}**{named}{extra}, with everything below it."
    return PlaybookReport(f"{kind.capitalize()}s in {line(plan.path)}", body, tuple(walk_notes(data)))


def _count_lines(plan: PlaybookPlan) -> Play:
    reply = yield from call("grep", path=plan.path, pattern="^", regex=True, name=plan.name, limit=1)
    data = reply.data
    body = f"**{many(data['lines'], 'line')}** in {many(data['files'], 'text file')}."
    largest = sorted(data["counts"].items(), key=lambda item: (-item[1], item[0]))[: plan.number]
    if data["files"] > 1:
        rows = [[f"{lines:,}", code(path)] for path, lines in largest]
        body += f"\n\n{table(('lines', 'file'), rows, right=(0,))}"
    return PlaybookReport(f"Lines in {line(plan.path)}", body, tuple(_skipped(data)))


def log_errors(plan: PlaybookPlan) -> Play:
    """Report the kinds of error in a log or a folder of logs: how often, where first, where last."""
    pattern = {"errors": _ERROR, "warnings": _WARNING}.get(plan.subject, f"{_ERROR}|{_WARNING}")
    name = plan.name if plan.name != "*.log" else ""  # `log files` are not always named so
    reply = yield from call(
        "grep", path=plan.path, pattern=pattern, regex=True, ignore_case=True, name=name, limit=_HITS
    )
    data = reply.data
    searched = f"{data['lines']:,} in {many(data['files'], 'text file')}"
    head = f"{many(data['matches'], 'line')} of {searched} look like {plan.subject}."
    if not data["hits"]:
        return PlaybookReport(f"No {plan.subject} in {line(plan.path)}", head, tuple(_skipped(data)))
    groups = sorted(_groups(data["hits"]).values(), key=lambda hits: (-len(hits), hits[0]["path"], hits[0]["line"]))
    rows = [
        [f"{len(hits):,}", _place(hits[0]), _place(hits[-1]), code(hits[-1]["text"].strip()[:200])]
        for hits in groups[: plan.number]
    ]
    body = f"{head}\n\n{table(('times', 'first', 'last', 'latest line'), rows, right=(0,))}"
    notes = _skipped(data)
    if len(groups) > len(rows):
        notes.insert(0, f"{many(len(groups) - len(rows), 'rarer kind')} not shown.")
    if data["matches"] > len(data["hits"]):
        notes.insert(0, f"Grouped from the first {len(data['hits']):,} matching lines.")
    return PlaybookReport(f"{plan.subject.capitalize()} in {line(plan.path)}", body, tuple(notes))


def _groups(hits: list[JsonObject]) -> dict[str, list[JsonObject]]:
    """Group lines that differ only in dates, numbers and ids."""
    groups: dict[str, list[JsonObject]] = {}
    for hit in hits:
        kind = hit["text"].strip()
        for pattern, instead in _VARIABLE:
            kind = pattern.sub(instead, kind)
        groups.setdefault(kind[:160], []).append(hit)
    return groups


def _place(hit: JsonObject) -> str:
    return code(f"{hit['path'].rsplit('/', 1)[-1]}:{hit['line']}")


PLAYBOOKS: dict[str, Callable[[PlaybookPlan], Play]] = {
    "largest-files": largest_files,
    "disk-usage": disk_usage,
    "search-text": search_text,
    "count": count,
    "git-log": git_log,
    "log-errors": log_errors,
}
