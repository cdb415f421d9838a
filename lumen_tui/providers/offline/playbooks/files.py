"""files: those of a folder by age, size, kind or name; count; duplicates; what is known of one file."""

from __future__ import annotations

import datetime as dt
import re
import shlex
import time
from collections.abc import Generator

from lumen_tui.providers.base import JsonObject, Reply, Step
from lumen_tui.providers.offline.grammar import DEFAULT_TOP, Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.periods import Period
from lumen_tui.providers.offline.playbooks.stamps import bounds, within
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

MOST_FILES = 5000  # files that the find tool lists
_NEW = words("newest latest youngest")
_OLD = words("oldest")
_SMALL = words("smallest tiniest")
_BIG = words("largest biggest heaviest")
_CHANGED = words("changed modified touched updated edited written")
_KINDS_OF_FILES = words("log backup image picture photo document script dump archive upload report")
_THINGS = words("file files anything everything something things thing what stuff which ones entries") | frozenset(
    kind + end for kind in _KINDS_OF_FILES for end in ("", "s")
)


_CALLED = _KINDS_OF_FILES | {"file", "files"}


def _order(ask: Asked) -> str:
    """Return by what the files are ordered; empty where by nothing, `?` where by two things."""
    last = ask.has("last", "recent", "lately", "latest") or "recently" in ask.words
    least = ask.has("least", "longest")
    orders = {
        "new": ask.has(*_NEW)
        or bool(last and ask.has(*_CHANGED, *_CALLED, "change", "recently") and not least and not ask.periods),
        "old": ask.has(*_OLD),
        "small": ask.has(*_SMALL),
        "big": ask.has(*_BIG) or (ask.has("size") and ask.has("top", "by")),
    }
    chosen = [name for name, there in orders.items() if there]
    return "" if not chosen else chosen[0] if len(chosen) == 1 and not least else "?"


def _files_fields(ask: Asked) -> Fields | None:
    order = _order(ask)
    if ask.has("size", "bytes", "big") and not order and not ask.least and not ask.most:
        return None
    folders = ask.has("folder", "folders", "directory", "directories", "subfolder", "subfolders", "dir", "dirs")
    if folders and not ask.has("file", "files", "anything", "everything"):
        return None
    if order == "?" or ask.has("empty", "duplicate", "duplicates") or not _nouns_fit(ask):
        return None
    filtered = bool(ask.periods or ask.least or ask.most)
    if ask.has("or") and bool(ask.periods) + bool(ask.least or ask.most) + bool(ask.extensions) > 1:
        return None
    counting = ask.has("many", "count", "number") and not ask.has("list", "which")
    if not order and not filtered and not (ask.has("list", "all", "show", "which", "what") and ask.has("files")):
        return None
    if (
        ask.periods
        and not ask.has(*_CHANGED, "old", "older", "newer", "new", "change", "changes")
        and not (
            ask.periods[0].newer
            or ask.periods[0].older
            or re.match(r"older|newer|since|before|after|from", ask.periods[0].text)
        )
    ):
        return None
    if ask.has("line", "lines", "commit", "commits", "committed"):
        return None
    return {"view": f"{'count' if counting else 'list'} {order}".strip()}


def _nouns_fit(ask: Asked) -> bool:
    """Whether the kind of thing that is named, such as backups, is all that the folder of that name holds."""
    if any(re.search(r"\.\w{1,5}$", path) for path in ask.paths):
        return False
    kinds = [word.rstrip("s") for word in ask.words if word.rstrip("s") in _KINDS_OF_FILES]
    parts = [part.rstrip("s") for path in ask.paths for part in path.lower().split("/")]
    return all(kind in parts for kind in kinds)


def _one(ask: Asked) -> int:
    if not _order(ask):
        return 200
    return (
        DEFAULT_TOP
        if (ask.has("files", "things", "ones", "logs", "backups") and not ask.has("which")) or ask.has("top")
        else 1
    )


def listing(plan: PlaybookPlan, **more: object) -> Generator[Step, Reply | None, tuple[list[JsonObject], JsonObject]]:
    """Return all files below the folder, without a repository's own. PlaybookFailed where there are too many."""
    data = (
        yield from call("glob", pattern=plan.name or "*", path=plan.path, kind="file", limit=MOST_FILES, **more)
    ).data
    if data["total"] > len(data["matches"]):
        raise PlaybookFailed(
            f"{data['total']:,} files are below {line(plan.path)}, and this playbook looks at {MOST_FILES:,}: "
            "name a smaller folder"
        )
    if data["cut"]:
        raise PlaybookFailed(f"the walk through {line(plan.path)} was {line(data['cut'])}: name a smaller folder")
    inside = "/.git/" in plan.path + "/"
    return [item for item in data["matches"] if inside or "/.git/" not in item["path"]], data


def _aged(period: Period, item: JsonObject, today: dt.datetime) -> bool:
    at = dt.datetime.fromtimestamp(item["changed"]).isoformat(timespec="seconds")
    return within(at, *bounds(period, today))


def files(plan: PlaybookPlan) -> Play:
    """Report files by age and size: all that fit, or the first ones in an order."""
    items, data = yield from listing(plan)
    today = dt.datetime.fromtimestamp(time.time())
    if plan.period.since.startswith("T"):
        raise PlaybookFailed("times of a day need a day, too: yesterday, 2026-11-21")
    chosen = [
        item
        for item in items
        if _aged(plan.period, item, today)
        and item["bytes"] >= plan.least
        and (not plan.most or item["bytes"] <= plan.most)
    ]
    view, _, order = plan.view.partition(" ")
    keys = {
        "new": lambda i: -i["changed"],
        "old": lambda i: i["changed"],
        "small": lambda i: i["bytes"],
        "big": lambda i: -i["bytes"],
    }
    by_size = bool(plan.least or plan.most) and not order
    chosen.sort(key=lambda item: (keys.get(order, keys["big"] if by_size else keys["new"])(item), item["path"]))
    shown = chosen[: plan.number] if order or len(chosen) > plan.number else chosen
    rows = [[_when(item["changed"]), f"{item['bytes']:,}", code(item["path"])] for item in shown]
    body = f"{_summary(plan, chosen, items, order)}"
    if rows and not (view == "count" and len(rows) > 20):
        body += f"\n\n{table(('changed', 'bytes', 'path'), rows, right=(1,))}"
    notes = walk_notes(data)
    if len(shown) < len(chosen) and not order:
        notes.insert(0, f"The first {len(shown):,} of {len(chosen):,} are listed.")
    if any("/.git/" in item["path"] for item in data["matches"]) and len(items) < len(data["matches"]):
        notes.append("The repository's own files, in .git, are left out.")
    return PlaybookReport(f"Files in {line(plan.path)}", body, tuple(notes))


def _summary(plan: PlaybookPlan, chosen: list[JsonObject], items: list[JsonObject], order: str) -> str:
    named = f" named {code(plan.name)}" if plan.name else ""
    age = f", changed {line(_age_text(plan.period))}" if plan.period.text else ""
    sizes = [f", of at least {plan.least:,} bytes"] * bool(plan.least) + [f", of at most {plan.most:,} bytes"] * bool(
        plan.most
    )
    total = f"**{many(len(chosen), 'file')}** of {len(items):,}{named}{age}{''.join(sizes)}."
    which = {
        "new": "most recently changed",
        "old": "longest unchanged (by the time of the last change)",
        "small": "smallest",
        "big": "largest",
    }
    if not order or not chosen:
        return total
    number = min(plan.number, len(chosen))
    of = f"{many(len(chosen), 'file')}{named}{age}{''.join(sizes)}"
    return f"The {f'{number} ' if number > 1 else ''}{which[order]}, of {of}:"


def _age_text(period: Period) -> str:
    if period.newer:
        return (
            f"within the last {many(round(period.newer * 24), 'hour')}"
            if period.newer < 2
            else f"within the last {period.newer:g} days"
        )
    if period.older:
        return f"more than {period.older:g} days ago"
    return " and ".join(
        [f"from {period.since}"] * bool(period.since) + [f"before {period.until}"] * bool(period.until)
    ).replace("T", " ")


def _when(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def empty(plan: PlaybookPlan) -> Play:
    """Report the empty files, or the empty folders."""
    if plan.view == "folders":
        command = r"find . -name .git -prune -o -type d -empty -printf '%P\n' | sort | head -n 1000"
        output = yield from output_of(command, plan.path)
        paths = [f"{plan.path.rstrip('/')}/{row}" for row in output.splitlines() if row]
    else:
        items, _ = yield from listing(plan)
        paths = sorted(item["path"] for item in items if not item["bytes"])
    kind = plan.view.removesuffix("s")
    body = f"**{many(len(paths), f'empty {kind}')}**."
    if paths:
        body += f"\n\n{table(('path',), [[code(path)] for path in paths[:200]])}"
    notes = (f"The first 200 of {len(paths):,} are listed.",) if len(paths) > 200 else ()
    return PlaybookReport(f"Empty {plan.view} in {line(plan.path)}", body, notes)


def one_file(plan: PlaybookPlan) -> Play:
    """Report time, size, owner and permissions of one file or folder."""
    output = yield from output_of(f"LC_ALL=C stat -L -c '%Y|%s|%U|%G|%a|%A|%F' -- {shlex.quote(plan.path)}")
    parts = output.strip().split("|")
    if len(parts) != 7:
        raise PlaybookFailed(f"stat answered something unexpected: {line(output[:200])}")
    changed, bytes_, owner, group, mode, letters, kind = parts
    body = table(
        ("what", "value"),
        [
            ["last modified", dt.datetime.fromtimestamp(int(changed)).strftime("%Y-%m-%d %H:%M:%S")],
            ["size", f"{int(bytes_):,} bytes ({size(int(bytes_))})"],
            ["owner and group", f"{line(owner)}, {line(group)}"],
            ["permissions", f"{mode} ({letters})"],
            ["kind", line(kind)],
        ],
    )
    return PlaybookReport(line(plan.path), body)


def _empty_fields(ask: Asked) -> Fields | None:
    """Return what is looked for, files or folders; not both."""
    of_files, folders = ask.has("file", "files"), ask.has("folders", "directories", "dirs")
    return None if of_files and folders else {"view": "files" if of_files else "folders"}


def _facts_fields(ask: Asked) -> Fields | None:
    """Fit where one path is asked about itself: a folder's size and its newest file are other playbooks'."""
    if len(ask.paths) != 1 or ask.periods or ask.has("files"):
        return None
    named = re.search(r"\.\w{1,6}$", ask.paths[0]) is not None
    about_what_is_below = ask.has("file", "which", "size", "big", "large", "much") and not named
    by_whom = ask.has("who") and not ask.has("owns", "owned")
    return None if about_what_is_below or by_whom else {}


FILES = PlaybookKind(
    "files",
    "files by age and size: newest, oldest, changed in the last days, larger than",
    (_THINGS | _NEW | _OLD | _SMALL | _CHANGED | {"top"},),
    words(
        "file files anything everything something things thing stuff ones entries new newest latest youngest "
        "recent recently lately last oldest old older newer smallest tiniest largest biggest heaviest changed "
        "change changes modified touched updated edited written been has have many count number total size sizes "
        "by top in list ever time date age haven't hasn't bytes sorted most than since kind were time subfolder "
        "modification backups dumps logs bigger larger smaller names happened days"
    )
    | _THINGS,
    files,
    _files_fields,
    words("number extension period size"),
    default=_one,
)
EMPTY = PlaybookKind(
    "empty",
    "empty files and folders",
    (words("empty zero-byte zero-length 0-byte"), words("file files folder folders directory directories dirs")),
    words("empty zero-byte zero-length 0-byte file files folders directories dirs many count number exist completely"),
    empty,
    _empty_fields,
    words("extension"),
)
FACTS = PlaybookKind(
    "file-facts",
    "when a file was changed, its size, owner and permissions",
    (
        words(
            "modified changed change touched updated owner owns permissions permission mode rights mtime edited "
            "modification modify timestamp size big large owned chmod written bytes where named called exist exists"
        ),
    ),
    words(
        "modified changed touched updated edited last lastly owner owns permissions permission mode rights mtime "
        "when time date modification modify timestamp file size big large owned chmod change group bytes written "
        "has access much many where named called located"
    ),
    one_file,
    _facts_fields,
)
