"""largest-files, disk-usage, free-space: where the space goes, and how much is left."""

from __future__ import annotations

import re
import shlex

from lumen_tui.providers.base import JsonObject
from lumen_tui.providers.offline.grammar import DEFAULT_TOP, Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    many,
    output_of,
    size,
    table,
    walk_notes,
)
from lumen_tui.providers.offline.vocabulary import words

_SUPERLATIVE = words("largest biggest heaviest most")
_FOLDERS = words("folder folders directory directories dir dirs subfolder subfolders subdirectory subdirectories")


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
    reply = yield from call("disk_usage", path=plan.path, top=plan.number, glob=plan.name)
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
    reply = yield from call("disk_usage", path=plan.path, top=plan.number, glob=plan.name)
    data = reply.data
    body = [f"**{size(data['allocated'])}** on disk. {_total(data)}"]
    if plan.view == "folders" and data["by_folder"]:
        first = data["by_folder"][0]
        body.insert(
            0, f"The largest folder directly in it is {code(first['path'])}, with {size(first['allocated'])} on disk."
        )
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


def free_space(plan: PlaybookPlan) -> Play:
    """Report the free space of the file system that a folder is on."""
    output = yield from output_of(f"LC_ALL=C df -PB1 -- {shlex.quote(plan.path or '/')}")
    rows = [row.split(None, 5) for row in output.splitlines()[1:]]
    if len(rows) != 1 or len(rows[0]) != 6 or not all(field.isdigit() for field in rows[0][1:4]):
        raise PlaybookFailed(f"df answered something unexpected: {line(output[:200])}")
    device, total, used, free, share, mount = rows[0]
    body = (
        f"**{size(int(free))}** are free of {size(int(total))}: {size(int(used))} are used, {share.rstrip('%')} % as "
        f"df counts it.\n\nThe file system is {code(device)}, mounted on {code(mount)}."
    )
    return PlaybookReport(f"Free space where {line(plan.path or '/')} is", body)


def _largest_fields(ask: Asked) -> Fields | None:
    by_size = ask.has(*_SUPERLATIVE) or (ask.has("top") and ask.has("size", "big"))
    of_both = re.search(r"\b(?:or|and) (?:the )?(?:folder|director)", ask.text, re.IGNORECASE)
    return {} if by_size and not ask.quoted and not of_both else None


def _usage_fields(ask: Asked) -> Fields | None:
    volume = ask.has(
        "usage",
        "space",
        "big",
        "size",
        "storage",
        "heavy",
        "eating",
        "hogging",
        "filling",
        "eats",
        "hogs",
        "fills",
        *_FOLDERS,
    ) or (ask.has("large") and ask.has("how"))
    ranked = ask.has(*_SUPERLATIVE) and ask.has(*_FOLDERS, "space")
    return {"view": "folders" if ranked else ""} if volume and not ask.quoted else None


def _top(ask: Asked) -> int:
    return 1 if ask.has("file") and not ask.has("files") else DEFAULT_TOP


LARGEST_FILES = PlaybookKind(
    "largest-files",
    "the largest files in a folder",
    (_SUPERLATIVE | {"top", "big"}, words("file files")),
    words(
        "largest biggest heaviest most file files top space size sizes taking take takes up using use uses single "
        "human readable human-readable occupy occupying consume consuming bytes ranked names paths path by big in "
        "disk"
    ),
    largest_files,
    _largest_fields,
    words("number extension"),
    default=_top,
)
DISK_USAGE = PlaybookKind(
    "disk-usage",
    "the disk usage of a folder, and its largest folders",
    (words("usage space big large size sizes storage heavy eating hogging filling eats hogs fills") | _SUPERLATIVE,),
    words(
        "usage space big large size sizes storage heavy largest biggest heaviest most file files top taking take "
        "takes taken up using use uses used eating eats eat much total consume consuming consumes occupied occupy "
        "occupying summarise summarize summary breakdown human readable human-readable measure check analyse "
        "analyze where goes going went broken down hogging hogs filling fills by going gone bytes contain holds "
        "weigh"
    )
    | _FOLDERS,
    disk_usage,
    _usage_fields,
    words("number extension"),
)
FREE_SPACE = PlaybookKind(
    "free-space",
    "how much disk space is free",
    (
        words("free left available remaining full remains avail spare room df percent percentage"),
        words("disk space storage partition filesystem drive volume disc df room free full"),
    ),
    words(
        "free left available remaining full remains avail spare disk space storage partition filesystem file "
        "drive volume disc df much many gb gigs bytes there is how room capacity used usage percent percentage "
        "hard amount"
    ),
    free_space,
    lambda ask: {"path": ask.paths[0]} if ask.paths else {},
    anywhere=True,
)
