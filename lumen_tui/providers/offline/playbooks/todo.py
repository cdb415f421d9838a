"""todo: notes such as TODO and FIXME that were left in files."""

from __future__ import annotations

import re

from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.playbooks.search import found_lines
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    code,
    line,
    many,
    skipped_notes,
    table,
)
from lumen_tui.providers.offline.vocabulary import words

_TASKS = {
    "todo": "TODO",
    "todos": "TODO",
    "todo's": "TODO",
    "to-dos": "TODO",
    "fixme": "FIXME",
    "fixmes": "FIXME",
    "xxx": "XXX",
    "hack": "HACK",
    "hacks": "HACK",
}


def _todo_fields(ask: Asked) -> Fields | None:
    wanted = tuple(dict.fromkeys(_TASKS[word] for word in re.split(r"[/\s]+", " ".join(ask.words)) if word in _TASKS))
    return {"patterns": wanted, "view": "files" if ask.has("most") else ""} if wanted else None


def todo(plan: PlaybookPlan) -> Play:
    """Report notes such as TODO: how many, which, and which file has the most."""
    pattern = rf"\b(?:{'|'.join(plan.patterns)})(?:s\b|\b)"
    data = yield from found_lines(plan, pattern, ignore_case=False)
    names = " or ".join(plan.patterns)
    rows = [
        [code(hit["path"]), str(hit["line"]), code(hit["text"].strip())] for hit in data["hits"][: max(plan.number, 50)]
    ]
    head = f"**{many(data['matches'], 'line')}** with {names}, in {many(data['files_with'], 'file')}."
    if data["files_with"] > len(data["counts"]) and plan.view == "files":
        raise PlaybookFailed("more than 1,000 files have such lines: ask for a smaller folder")
    if data["files_with"] > 1:
        ranked = sorted(data["counts"].items(), key=lambda item: (-item[1], item[0]))
        tops = [[f"{count:,}", code(path)] for path, count in ranked[:10]]
        head += f"\n\n{table(('lines', 'file'), tops, right=(0,))}"
    notes = skipped_notes(data)
    if data["matches"] > len(rows):
        notes.insert(0, f"The first {len(rows):,} of {data['matches']:,} are shown.")
    body = f"{head}\n\n{table(('file', 'line', 'text'), rows, right=(1,))}" if rows else head
    return PlaybookReport(f"{names} in {line(plan.path)}", body, tuple(notes))


TODO = PlaybookKind(
    "todo",
    "TODO and FIXME notes",
    (frozenset(_TASKS) | {"todo/fixme", "fixme/todo", "todos/fixmes"},),
    words(
        "or left comments comment notes note code source sources many number count most in markers marker remain "
        "remaining open files file has contains contain lines items entries todo/fixme fixme/todo todos/fixmes "
        "total outstanding occurrences list have with"
    )
    | frozenset(_TASKS),
    todo,
    _todo_fields,
    words("extension number"),
)
