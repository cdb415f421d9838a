"""Searching, counting, and the errors in a log."""

from __future__ import annotations

import re
from typing import Any

from lumen_tui.providers.offline.playbook_router import PlaybookPlan
from lumen_tui.providers.offline.playbooks.shape import (
    Play,
    PlaybookReport,
    call,
    code,
    line,
    many,
    size,
    table,
    walk_notes,
)

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
)  # fmt: skip


def _skipped(data: dict[str, Any]) -> list[str]:
    notes = walk_notes(data)
    if data["binary"]:
        notes.append(f"{many(data['binary'], 'binary file')} left out.")
    if data["large"]:
        notes.append(f"{many(data['large'], 'very large file')} left out.")
    return notes


def search_text(plan: PlaybookPlan) -> Play:
    """Lines that hold a text."""
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
    """How many files, folders or lines."""
    if plan.what == "lines":
        return (yield from _count_lines(plan))
    kind = "file" if plan.what == "files" else "folder"
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
    """Kinds of error in a log or a folder of logs: how often, where first, where last."""
    pattern = {"errors": _ERROR, "warnings": _WARNING}.get(plan.what, f"{_ERROR}|{_WARNING}")
    name = plan.name if plan.name != "*.log" else ""  # `log files` are not always named so
    reply = yield from call(
        "grep", path=plan.path, pattern=pattern, regex=True, ignore_case=True, name=name, limit=_HITS
    )
    data = reply.data
    searched = f"{data['lines']:,} in {many(data['files'], 'text file')}"
    head = f"{many(data['matches'], 'line')} of {searched} look like {plan.what}."
    if not data["hits"]:
        return PlaybookReport(f"No {plan.what} in {line(plan.path)}", head, tuple(_skipped(data)))
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
    return PlaybookReport(f"{plan.what.capitalize()} in {line(plan.path)}", body, tuple(notes))


def _groups(hits: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Lines that differ only in dates, numbers and ids belong together."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for hit in hits:
        kind = hit["text"].strip()
        for pattern, instead in _VARIABLE:
            kind = pattern.sub(instead, kind)
        groups.setdefault(kind[:160], []).append(hit)
    return groups


def _place(hit: dict[str, Any]) -> str:
    return code(f"{hit['path'].rsplit('/', 1)[-1]}:{hit['line']}")
