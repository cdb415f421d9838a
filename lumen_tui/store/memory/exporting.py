"""Exports for other tools: written whole beside their place, then moved there. What is not in them is counted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.foreign import Raw
from lumen_tui.model.lumenunits import Unit
from lumen_tui.storage import directories, files, frontmatter
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean, clean_value

_CHUNK = 512 * 1024


class ExportRefused(ValueError):
    """An export whose place is taken, or that the other tool cannot hold; its text says what to do."""


class ExportReport(msgspec.Struct):
    """What an export wrote: how many of each kind, and what of the state folder is not in it."""

    kind: str
    path: str
    written: dict[str, int] = {}
    left_out: dict[str, int] = {}
    notes: list[str] = []


def write_lines(path: Path, records: Iterable[Raw]) -> int:
    """Write a file with a line for each record; return how many."""
    count = 0

    def write(fd: int) -> None:
        nonlocal count
        block = bytearray()
        for record in records:
            block += msgspec.json.encode(record) + b"\n"
            count += 1
            if len(block) > _CHUNK:
                files.write_all(fd, bytes(block))
                block.clear()
        files.write_all(fd, bytes(block))

    directories.make_folder(path.parent)
    files.take_place(files.write_sibling(path, write), path)
    return count


def into_new_folder(layout: Layout, folder: Path, write: Callable[[Path], ExportReport]) -> ExportReport:
    """Let `write` fill a folder beside the wanted one, which then takes its name. ExportRefused if it is taken."""
    target = Path(os.path.abspath(folder))
    _outside(layout, target)
    if os.path.lexists(target) and (target.is_symlink() or not target.is_dir() or any(target.iterdir())):
        raise ExportRefused(f"{folder} is there already: name a folder that is new or empty")
    beside = target.parent / f".{target.name}.{os.getpid()}.part"
    directories.make_folder(target.parent)
    directories.discard_tree(beside)  # of a process of this number that was killed
    try:
        directories.make_folder(beside)
        report = write(beside)
        directories.move(beside, target)
    except BaseException:
        directories.discard_tree(beside)
        raise
    report.path = str(folder)
    return report


def into_new_file(layout: Layout, path: Path, records: Iterable[Raw]) -> int:
    """Write a new file of records. Raise ExportRefused where it is there already."""
    _outside(layout, Path(os.path.abspath(path)))
    if os.path.lexists(path):
        raise ExportRefused(f"{path} is there already: name another file")
    if not path.absolute().parent.is_dir():
        raise ExportRefused(f"{path.parent} is no folder: make it first")
    return write_lines(path, records)


def _outside(layout: Layout, path: Path) -> None:
    root = os.path.realpath(layout.root)
    if os.path.realpath(path) == root or os.path.realpath(path).startswith(root + "/"):
        raise ExportRefused(f"{path} is in the state folder itself: name a place outside of it")


def raw_lines(path: Path, left_out: dict[str, int], kind: str) -> Iterator[Raw]:
    """Yield the records of a journal; lines that cannot be read are counted."""
    for line in Journal(path).lines():
        try:
            record = msgspec.json.decode(line)
        except UNDECODABLE:
            record = None
        if isinstance(record, dict):
            yield record
        else:
            count(left_out, f"damaged lines of {kind} (doctor names them)")


def count_damaged(layout: Layout, left_out: dict[str, int]) -> None:
    """Count the lines of memory.jsonl that hold no node, which its readers pass over."""
    for _ in raw_lines(layout.memory, left_out, "nodes"):
        pass


def count(counts: dict[str, int], kind: str, number: int = 1) -> None:
    """Add to the count of a kind; nothing is no kind."""
    if number:
        counts[kind] = counts.get(kind, 0) + number


def edges_in_force(layout: Layout, left_out: dict[str, int]) -> list[Raw]:
    """Return the last line of each relationship, withdrawn ones too, in the order in which they were drawn."""
    last: dict[tuple[str, str, str], Raw] = {}
    for edge in raw_lines(layout.relationships, left_out, "relationships"):
        last[str(edge.get("from_id")), str(edge.get("to_id")), str(edge.get("type"))] = edge
    return list(last.values())


def units(layout: Layout, left_out: dict[str, int]) -> Iterator[Unit]:
    """Yield the work units, by name, with secrets in files written by hand masked; unreadable ones are counted."""
    for path in sorted(layout.work.glob("WU-*.md")):
        try:
            front, body = frontmatter.split((files.read(path) or b"").decode(errors="replace"))
        except (frontmatter.BadFile, files.StoreError, OSError):
            count(left_out, "work units whose file cannot be read")
            continue
        plain: Raw = msgspec.to_builtins(front)
        yield Unit({**clean_value(plain), "id": path.stem}, clean(body))


def left_behind(layout: Layout) -> dict[str, int]:
    """Count what of a state folder neither of these tools has a place for, by kind."""
    counts: dict[str, int] = {}
    for kind, path, pattern in (
        ("retired work units", layout.work, "retired/WU-*.md"),
        ("memory blocks", layout.blocks, "*.md"),
        ("tasks", layout.tasks, "*/spec.json"),
        ("archived tasks", layout.archive, "**/spec.json"),
        ("transcripts", layout.transcripts, "*.jsonl"),
        ("roles", layout.roles, "*.md"),
        ("relays", layout.root / "relay", "*.json"),
        ("approval requests", layout.approvals, "**/*.json"),
        ("lane locks", layout.root / "locks", "lane-*.lock"),
        ("loop capsules", layout.capsules, "*"),
    ):
        count(counts, kind, sum(1 for _ in path.glob(pattern)))
    for kind, path in (
        ("passages of the archive", layout.archival),
        ("signals that cleanup moved away", layout.memory_archive),
        ("uses of nodes", layout.touches),
        ("confirmations of facts", layout.confirmations),
        ("loop packets", layout.packets),
        ("observations", layout.observations),
        ("entries of the audit log", layout.actions),
        ("model calls", layout.spend),
    ):
        count(counts, kind, sum(1 for _ in Journal(path).lines()) if path.exists() else 0)
    return counts
