"""files: those of a folder by age, size, kind or name; count; duplicates; what is known of one file."""

from __future__ import annotations

import datetime as dt
import os.path
import re
import shlex
import time
from collections import Counter, defaultdict
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
    skipped_notes,
    table,
    walk_notes,
)
from lumen_tui.providers.offline.vocabulary import words

_MOST = 5000  # files that the find tool lists
_NEW = words("newest latest youngest")
_OLD = words("oldest")
_SMALL = words("smallest tiniest")
_BIG = words("largest biggest heaviest")
_CHANGED = words("changed modified touched updated edited written")
_KINDS_OF_FILES = words("log backup image picture photo document script dump archive upload report")
_THINGS = words("file files anything everything something things thing what stuff which ones entries") | frozenset(
    kind + end for kind in _KINDS_OF_FILES for end in ("", "s")
)
_CODE = frozenset(
    ".py .js .ts .tsx .jsx .css .scss .html .sh .bash .rs .go .c .h .cc .cpp .hpp .java .kt .rb .pl .php .sql .lua .swift "
    ".vue .svelte .cs .scala .ex .exs .clj .hs .m .r".split()
)


_CALLED = _KINDS_OF_FILES | {"file", "files"}


def _order(ask: Asked) -> str:
    """Return by what the files are ordered; empty where by nothing, `?` where by two things."""
    last = ask.has("last", "recent", "lately", "latest") or "recently" in ask.words
    least = ask.has("least", "longest")
    found = {
        "new": ask.has(*_NEW)
        or bool(last and ask.has(*_CHANGED, *_CALLED, "change", "recently") and not least and not ask.periods),
        "old": ask.has(*_OLD),
        "small": ask.has(*_SMALL),
        "big": ask.has(*_BIG) or ask.has("size") and ask.has("top", "by"),
    }
    chosen = [name for name, there in found.items() if there]
    return "" if not chosen else chosen[0] if len(chosen) == 1 and not least else "?"


def _files_fields(ask: Asked) -> Fields | None:
    order = _order(ask)
    folders = ask.has("folder", "folders", "directory", "directories", "subfolder", "subfolders", "dir", "dirs")
    if folders and not ask.has("file", "files", "anything", "everything"):
        return None
    if order == "?" or ask.has("empty", "duplicate", "duplicates") or not _nouns_fit(ask):
        return None
    filtered = bool(ask.periods or ask.least or ask.most)
    counting = ask.has("many", "count", "number") and not ask.has("list", "which")
    if not order and not filtered and not (ask.has("list", "all", "show") and ask.has("files")):
        return None
    if (
        ask.periods
        and not ask.has(*_CHANGED, "old", "older", "newer", "new", "change", "changes")
        and not (
            ask.periods[0].newer
            or ask.periods[0].older
            or re.match(r"older|newer|since|before|after", ask.periods[0].text)
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
        if ask.has("files", "things", "ones", "logs", "backups") and not ask.has("which") or ask.has("top")
        else 1
    )


def _listing(plan: PlaybookPlan, **more: object) -> Generator[Step, Reply | None, tuple[list[JsonObject], JsonObject]]:
    """Return all files below the folder, without a repository's own. PlaybookFailed where there are too many."""
    data = (yield from call("find", path=plan.path, kind="file", name=plan.name, limit=_MOST, **more)).data
    if data["total"] > len(data["matches"]):
        raise PlaybookFailed(
            f"{data['total']:,} files are below {line(plan.path)}, and this playbook looks at {_MOST:,}: name a smaller folder"
        )
    if data["cut"]:
        raise PlaybookFailed(f"the walk through {line(plan.path)} was {line(data['cut'])}: name a smaller folder")
    inside = "/.git/" in plan.path + "/"
    return [item for item in data["matches"] if inside or "/.git/" not in item["path"]], data


def _aged(period: Period, item: JsonObject, today: dt.datetime) -> bool:
    at = dt.datetime.fromtimestamp(item["changed"]).isoformat(timespec="seconds")  # noqa: DTZ006 - local, as people say it
    return within(at, *bounds(period, today))


def files(plan: PlaybookPlan) -> Play:
    """Report files by age and size: all that fit, or the first ones in an order."""
    items, data = yield from _listing(plan)
    today = dt.datetime.fromtimestamp(time.time())  # noqa: DTZ005, DTZ006 - local, as people say it
    if plan.period.since.startswith("T"):
        raise PlaybookFailed("times of a day need a day, too: yesterday, 2026-11-21")
    chosen = [
        item
        for item in items
        if _aged(plan.period, item, today)
        and item["bytes"] >= plan.least
        and (not plan.most or item["bytes"] <= plan.most)
    ]
    what, _, order = plan.view.partition(" ")
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
    if rows and not (what == "count" and len(rows) > 20):
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
    return f"The {f'{number} ' if number > 1 else ''}{which[order]}, of {many(len(chosen), 'file')}{named}{age}{''.join(sizes)}:"


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
    return dt.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")  # noqa: DTZ006 - local, as people say it


def empty(plan: PlaybookPlan) -> Play:
    """Report the empty files, or the empty folders."""
    if plan.view == "folders":
        command = r"find . -name .git -prune -o -type d -empty -printf '%P\n' | sort | head -n 1000"
        output = yield from output_of(command, plan.path)
        found = [f"{plan.path.rstrip('/')}/{row}" for row in output.splitlines() if row]
    else:
        items, _ = yield from _listing(plan)
        found = sorted(item["path"] for item in items if not item["bytes"])
    kind = plan.view.removesuffix("s")
    body = f"**{many(len(found), f'empty {kind}')}**."
    if found:
        body += f"\n\n{table(('path',), [[code(path)] for path in found[:200]])}"
    notes = (f"The first 200 of {len(found):,} are listed.",) if len(found) > 200 else ()
    return PlaybookReport(f"Empty {plan.view} in {line(plan.path)}", body, notes)


def duplicates(plan: PlaybookPlan) -> Play:
    """Report files with the same content, by their SHA-256; empty files don't count."""
    items, data = yield from _listing(plan)
    by_size: dict[int, list[str]] = defaultdict(list)
    for item in items:
        by_size[item["bytes"]].append(item["path"])
    alike = [path for bytes_, paths in by_size.items() if bytes_ and len(paths) > 1 for path in paths]
    groups = yield from _same(alike)
    spare = sum(len(paths) - 1 for paths in groups)
    head = f"**{many(len(groups), 'group')}** of files with the same content, {many(spare, 'file')} more than needed."
    if not groups:
        head = f"No two of {many(len(items), 'file')} have the same content (empty ones aside)."
    rows = [[str(rank), code(path)] for rank, paths in enumerate(groups[:100], start=1) for path in paths]
    body = f"{head}\n\n{table(('group', 'path'), rows, right=(0,))}" if rows else head
    return PlaybookReport(f"Duplicates in {line(plan.path)}", body, tuple(walk_notes(data)))


def _same(paths: list[str]) -> Generator[Step, Reply | None, list[list[str]]]:
    found: dict[str, list[str]] = defaultdict(list)
    if len(paths) > 3000:
        raise PlaybookFailed(f"{len(paths):,} files have a size in common with another: name a smaller folder")
    for start in range(0, len(paths), 500):
        some = paths[start : start + 500]
        if any("\n" in path for path in some):
            raise PlaybookFailed("a name has a line break in it")
        output = yield from output_of("sha256sum -- " + " ".join(shlex.quote(path) for path in some))
        for row in output.splitlines():
            found[row[:64].lstrip("\\")].append(row[66:])
    return sorted(sorted(group) for group in found.values() if len(group) > 1)


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
            ["last modified", dt.datetime.fromtimestamp(int(changed)).strftime("%Y-%m-%d %H:%M:%S")],  # noqa: DTZ006 - local
            ["size", f"{int(bytes_):,} bytes ({size(int(bytes_))})"],
            ["owner and group", f"{line(owner)}, {line(group)}"],
            ["permissions", f"{mode} ({letters})"],
            ["kind", line(kind)],
        ],
    )
    return PlaybookReport(line(plan.path), body)


def count(plan: PlaybookPlan) -> Play:
    """Report how many files, folders or lines there are."""
    if plan.subject == "lines":
        return (yield from _count_lines(plan))
    if plan.view == "kinds":
        return (yield from _by_extension(plan))
    kind = "file" if plan.subject == "files" else "folder"
    reply = yield from call("find", path=plan.path, kind=kind, name=plan.name, limit=_MOST)
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
    items, data = yield from _listing(plan)
    counts = Counter(os.path.splitext(item["path"])[1].lower() or "(none)" for item in items)
    rows = [
        [f"{number:,}", code(kind)] for kind, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    body = f"**{many(len(items), 'file')}**.\n\n{table(('files', 'extension'), rows[:100], right=(0,))}"
    return PlaybookReport(f"Files by extension in {line(plan.path)}", body, tuple(walk_notes(data)))


def _count_lines(plan: PlaybookPlan) -> Play:
    reply = yield from call("grep", path=plan.path, pattern="^", regex=True, name=plan.name, limit=1)
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
        fits = ask.has("longest") and ask.has("file", "files", "line", "lines", "module", "script")
        return {"subject": "lines", "view": "longest"} if fits else None
    if ask.has("extension", "extensions", "type", "types", "kind", "kinds"):
        return {"subject": "files", "view": "kinds"} if ask.has("by", "per", "each", "every") else None
    subject = "lines" if ask.has("line", "lines", "loc") else "files" if ask.has("file", "files") else "folders"
    if ask.has("most") and subject == "lines" and ask.has("file"):
        return {"subject": subject, "view": "longest"}
    counting = ask.has("count", "many", "number", "total", "loc", "much", "wc")
    if not counting and not (subject == "lines" and (ask.extensions or ask.has("code"))):
        return None
    return {
        "subject": subject,
        "view": "code" if ask.has("code", "loc", "source") and subject == "lines" and not ask.extensions else "",
    }


def _facts_fields(ask: Asked) -> Fields | None:
    named = bool(ask.paths) and re.search(r"\.\w{1,6}$", ask.paths[0]) is not None
    if (
        len(ask.paths) != 1
        or ask.has("files")
        or ask.has("file", "which")
        and not named
        or ask.periods
        or ask.has("who")
        and not ask.has("owns", "owned")
    ):
        return None
    return {}


FILES = PlaybookKind(
    "files",
    "files by age and size: newest, oldest, changed in the last days, larger than",
    (_THINGS | _NEW | _OLD | _SMALL | _CHANGED | {"top"},),
    words("file files anything everything something things thing stuff ones entries new newest latest youngest recent "
          "recently lately last oldest old older newer smallest tiniest largest biggest heaviest changed change changes "
          "modified touched updated edited written been has have many count number total size sizes by top in list ever "
          "time date age haven't hasn't bytes sorted most than since kind were time first "
          "subfolder modification backups dumps logs bigger larger smaller names happened days") | _THINGS,
    files,
    _files_fields,
    words("number extension period size"),
    default=_one,
)  # fmt: skip
COUNT = PlaybookKind(
    "count",
    "counting files, folders or lines",
    (words("count many number longest total by per each every loc much wc lines"), words("file files line lines folders directories loc extension extensions types kinds module")),
    words("count counted many number file files line lines folders directories code total source sources exist contained "
          "contains contain text amount longest long extension extensions type types kind kinds by per each loc much wc "
          "grouped split -l in got lines-of-code module script length most broken down breakdown whats how's written"),
    count,
    _count_fields,
    words("number extension"),
)  # fmt: skip
EMPTY = PlaybookKind(
    "empty",
    "empty files and folders",
    (words("empty zero-byte zero-length 0-byte"), words("file files folder folders directory directories dirs")),
    words("empty zero-byte zero-length 0-byte file files folders directories dirs many count number exist completely"),
    empty,
    lambda ask: {"view": "files" if ask.has("file", "files") else "folders"} if ask.has("file", "files") != ask.has("folders", "directories", "dirs") or not ask.has("files", "file") else None,
    words("extension"),
)  # fmt: skip
DUPLICATES = PlaybookKind(
    "duplicates",
    "files with the same content",
    (words("duplicate duplicates duplicated dupes dups identical twice copies same redundant"),),
    words("duplicate duplicates duplicated dupes dups identical twice copies same redundant file files content contents by "
          "exist have has stored images pictures photos byte check checksum hash many of more once"),
    duplicates,
    lambda ask: {} if len(ask.paths) < 2 else None,
    words("extension"),
)  # fmt: skip
FACTS = PlaybookKind(
    "file-facts",
    "when a file was changed, its size, owner and permissions",
    (words("modified changed change touched updated owner owns permissions permission mode rights mtime edited modification "
           "modify timestamp size big large owned chmod written"),),
    words("modified changed touched updated edited last lastly owner owns permissions permission mode rights mtime when time "
          "date modification modify timestamp file size big large owned chmod change group bytes written has access much"),
    one_file,
    lambda ask: _facts_fields(ask) if not ask.has("size", "big", "large", "much") or re.search(r"\.\w{1,6}$", (ask.paths or ("",))[0]) else None,
)  # fmt: skip
