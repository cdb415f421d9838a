"""count: how many files, folders or lines there are, also by extension; the longest file."""

from __future__ import annotations

import os.path
import re
from collections import Counter

from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.playbooks.files import MOST_FILES, listing
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    many,
    size,
    skipped_notes,
    table,
    walk_notes,
)
from lumen_tui.providers.offline.vocabulary import words

_CODE = frozenset(
    [
        ".py",
        ".js",
        ".ts",
        ".tsx",
        ".jsx",
        ".css",
        ".scss",
        ".html",
        ".sh",
        ".bash",
        ".rs",
        ".go",
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".hpp",
        ".java",
        ".kt",
        ".rb",
        ".pl",
        ".php",
        ".sql",
        ".lua",
        ".swift",
        ".vue",
        ".svelte",
        ".cs",
        ".scala",
        ".ex",
        ".exs",
        ".clj",
        ".hs",
        ".m",
        ".r",
    ]
)


def count(plan: PlaybookPlan) -> Play:
    """Report how many files, folders or lines there are."""
    if plan.subject == "lines":
        return (yield from _count_lines(plan))
    if plan.view == "kinds":
        return (yield from _by_extension(plan))
    kind = "file" if plan.subject == "files" else "folder"
    reply = yield from call("glob", pattern=plan.name or "*", path=plan.path, kind=kind, limit=MOST_FILES)
    data = reply.data
    named = f" named {code(plan.name)}" if plan.name else ""
    extra = f" with {size(data['bytes'])}, in {many(data['folders'] + 1, 'folder')}" if kind == "file" else ""
    body = f"**{many(data['total'], kind)}**{named}{extra}, with everything below it."
    inside = sum("/.git/" in item["path"] + "/" for item in data["matches"])
    if inside and data["total"] <= len(data["matches"]):
        body = (
            f"**{many(data['total'] - inside, kind)}**{named}, with everything below it; {inside:,} more inside .git."
        )
    elif inside:
        body += " Those inside .git are among them."
    return PlaybookReport(f"{kind.capitalize()}s in {line(plan.path)}", body, tuple(walk_notes(data)))


def _by_extension(plan: PlaybookPlan) -> Play:
    items, data = yield from listing(plan)
    counts = Counter(os.path.splitext(item["path"])[1].lower() or "(none)" for item in items)
    rows = [
        [f"{number:,}", code(kind)] for kind, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    body = f"**{many(len(items), 'file')}**.\n\n{table(('files', 'extension'), rows[:100], right=(0,))}"
    return PlaybookReport(f"Files by extension in {line(plan.path)}", body, tuple(walk_notes(data)))


def _count_lines(plan: PlaybookPlan) -> Play:
    reply = yield from call("grep", path=plan.path, pattern="^", glob=plan.name, limit=1)
    data = reply.data
    counts = {path: lines for path, lines in data["counts"].items() if "/.git/" not in path or "/.git/" in plan.path}
    left_out = data["lines"] - sum(counts.values())
    if data["files_with"] > len(data["counts"]):
        if plan.view:
            raise PlaybookFailed("there are more than 1,000 files: ask for a smaller folder")
        counts, left_out = data["counts"], 0
    if plan.view == "code":
        counts = {path: lines for path, lines in counts.items() if os.path.splitext(path)[1].lower() in _CODE}
    lines = data["lines"] if not left_out and plan.view != "code" else sum(counts.values())
    files_ = data["files"] if not left_out and plan.view != "code" else len(counts)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    kind = " of code" if plan.view == "code" else ""
    body = f"**{many(lines, 'line')}**{kind} in {many(files_, 'text file')}, empty lines and comments included."
    if plan.view == "longest" and ranked:
        body = (
            f"The longest is {code(ranked[0][0])}, with {many(ranked[0][1], 'line')}, of {many(files_, 'text file')}."
        )
    if data["files"] > 1:
        rows = [[f"{number:,}", code(path)] for path, number in ranked[: plan.number]]
        body += f"\n\n{table(('lines', 'file'), rows, right=(0,))}"
    return PlaybookReport(f"Lines in {line(plan.path)}", body, tuple(skipped_notes(data)))


def _count_fields(ask: Asked) -> Fields | None:
    if ask.quoted or ask.has("empty", "blank"):
        return None
    if ask.has("longest", "shortest"):
        one_file = any(re.search(r"\.\w{1,6}$", path) for path in ask.paths)
        fits = ask.has("longest") and ask.has("file", "files", "module", "script") and not one_file
        return {"subject": "lines", "view": "longest"} if fits else None
    if ask.has("extension", "extensions", "type", "types", "kind", "kinds"):
        return {"subject": "files", "view": "kinds"} if ask.has("by", "per", "each", "every") else None
    log = any(re.search(r"log|\.jsonl$", path.rsplit("/", 1)[-1]) for path in ask.paths)
    of_lines = ask.has("line", "lines", "loc") or (log and ask.has("entries", "records"))
    if not of_lines and (ask.has("entries", "records") or ask.has("per", "each", "every")):
        return None
    subject = "lines" if of_lines else "files" if ask.has("file", "files") else "folders"
    if ask.has("most") and subject == "lines" and ask.has("file"):
        return {"subject": subject, "view": "longest"}
    counting = ask.has("count", "many", "number", "total", "loc", "much", "wc")
    if not counting and not (subject == "lines" and (ask.extensions or ask.has("code"))):
        return None
    return {
        "subject": subject,
        "view": "code" if ask.has("code", "loc", "source") and subject == "lines" and not ask.extensions else "",
    }


COUNT = PlaybookKind(
    "count",
    "counting files, folders or lines",
    (
        words("count many number longest total by per each every loc much wc lines"),
        words(
            "entries records file files line lines folders directories subfolders subdirectories loc extension "
            "extensions types kinds module"
        ),
    ),
    words(
        "entries records count counted many number file files line lines folders directories subfolders "
        "subdirectories code total source sources exist contained contains contain text amount longest long "
        "extension extensions type types kind kinds by per each loc much wc grouped split -l in got lines-of-code "
        "module script length most broken down breakdown whats how's written"
    ),
    count,
    _count_fields,
    words("number extension"),
)
