"""Largest files and disk usage."""

from __future__ import annotations

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


def _total(data: dict[str, Any]) -> str:
    return (
        f"In all {many(data['files'], 'file')} with {size(data['allocated'])} on disk (allocated blocks), "
        f"{size(data['bytes'])} ({data['bytes']:,} bytes) by apparent size, in {many(data['folders'] + 1, 'folder')}."
    )


def _files(data: dict[str, Any], number: int) -> str:
    rows = [
        [str(rank), size(item["allocated"]), f"{item['bytes']:,}", code(item["path"])]
        for rank, item in enumerate(data["largest"][:number], start=1)
    ]
    return table(("#", "on disk", "size in bytes", "path"), rows, right=(0, 1, 2))


def largest_files(plan: PlaybookPlan) -> Play:
    """The largest files below a folder, by the blocks that they take on the disk."""
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
    """Total, largest folders and largest files."""
    reply = yield from call("disk_usage", path=plan.path, top=plan.number, name=plan.name)
    data = reply.data
    body = [f"**{size(data['allocated'])}** on disk. {_total(data)}"]
    if data["by_folder"]:
        rows = [
            [size(item["allocated"]), _share(item["allocated"], data["allocated"]), f"{item['files']:,}",
             code(item["path"])]
            for item in data["by_folder"]
        ]  # fmt: skip
        body += ["## Largest folders", table(("on disk", "share", "files", "path"), rows, right=(0, 1, 2))]
    if data["largest"] and data["is_folder"]:
        body += ["## Largest files", _files(data, plan.number)]
    return PlaybookReport(f"Disk usage of {line(plan.path)}", "\n\n".join(body), tuple(walk_notes(data)))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
