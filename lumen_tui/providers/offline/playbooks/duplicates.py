"""duplicates: files with the same content."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Generator

from lumen_tui.providers.base import Reply, Step
from lumen_tui.providers.offline.grammar import PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.playbooks.files import listing
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    code,
    line,
    many,
    output_of,
    table,
    walk_notes,
)
from lumen_tui.providers.offline.vocabulary import words


def duplicates(plan: PlaybookPlan) -> Play:
    """Report files with the same content, by their SHA-256; empty files don't count."""
    items, data = yield from listing(plan)
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
    by_hash: dict[str, list[str]] = defaultdict(list)
    if len(paths) > 3000:
        raise PlaybookFailed(f"{len(paths):,} files have a size in common with another: name a smaller folder")
    for start in range(0, len(paths), 500):
        some = paths[start : start + 500]
        if any("\n" in path for path in some):
            raise PlaybookFailed("a name has a line break in it")
        output = yield from output_of("sha256sum -- " + " ".join(shlex.quote(path) for path in some))
        for row in output.splitlines():
            by_hash[row[:64].lstrip("\\")].append(row[66:])
    return sorted(sorted(group) for group in by_hash.values() if len(group) > 1)


DUPLICATES = PlaybookKind(
    "duplicates",
    "files with the same content",
    (words("duplicate duplicates duplicated dupes dups identical twice copies same redundant"),),
    words(
        "duplicate duplicates duplicated dupes dups identical twice copies same redundant file files content "
        "contents by exist have has stored images pictures photos byte check checksum hash many of more once"
    ),
    duplicates,
    lambda ask: {} if len(ask.paths) < 2 else None,
    words("extension"),
)
