"""read_file, list_dir and disk_usage: looks at files and folders."""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.model import media, times
from lumen_tui.model.media import BadMedia
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult, plural, size_text
from lumen_tui.tools.files import opening, seen
from lumen_tui.tools.files.paths import TreeWalk, chooser, folder, resolve, special
from lumen_tui.tools.outputs import keep_media

_CHUNK = 256 * 1024
_MAX_BYTES = 200_000  # of one read_file
_MAX_LINE = 2_000
_PART = 50_000  # bytes of a file that is read by offset


class ReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="the file; a relative path counts from the task's own folder")]
    offset: Annotated[int, Meta(ge=1, description="the line to begin with, counted from 1")] = 1
    limit: Annotated[int, Meta(ge=1, le=5000, description="how many lines, 5000 at most")] = 1000
    byte_offset: Annotated[
        int, Meta(ge=0, description="begin at this byte instead and read 50,000 bytes, for very long lines")
    ] = 0


class ListArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="the folder")]
    limit: Annotated[int, Meta(ge=1, le=5000, description="at most this many entries")] = 500


def open_regular(path: str | os.PathLike[str]) -> int:
    """Return a descriptor of the regular file with that real path; ToolError for anything else."""
    try:
        fd = opening.file(os.fspath(path))
    except OSError as error:
        raise ToolError(f"{os.fspath(path)} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ToolError(f"{os.fspath(path)} is not a regular file")
    return fd


def _media_type(fd: int) -> str:
    """Return the media type that the content of a file says; empty for any other. ToolError for what none takes."""
    try:
        return media.type_of(os.pread(fd, media.HEAD, 0))
    except BadMedia as error:
        raise ToolError(f"this is {error}") from error


def _read_media(context: Context, fd: int, kind: str, path: str) -> ToolResult:
    """Return an image or a PDF for the model; the descriptor is closed. ToolError where it is beyond the limits."""
    most = media.most_bytes(kind)
    with os.fdopen(fd, "rb") as stream:
        data = stream.read(most + 1)
    try:
        attachment = media.inspect(kind, data)
    except BadMedia as error:
        raise ToolError(f"this is {error}") from error
    stored = keep_media(context, data, attachment)
    facts = {
        "path": path,
        "type": kind,
        "bytes": attachment.size,
        "width": attachment.width,
        "height": attachment.height,
    }
    unseen = "" if stored.name else "; it cannot be shown, as the files of this task are used up"
    text = f"{attachment.words}, {attachment.size:,} bytes{unseen}"
    return ToolResult(text, data=facts, summary=attachment.words, media=() if unseen else (stored,))


def _read_lines(context: Context, fd: int, arguments: ReadArguments) -> tuple[list[str], bool, int]:
    """Return the wanted lines, whether there are more, and how many were seen. ToolError for a binary file."""
    lines: list[str] = []
    number = taken = 0
    with os.fdopen(fd, "rb", _CHUNK) as stream:
        while line := stream.readline(_CHUNK):
            number += 1
            if number % 4096 == 1:
                context.check()
            if b"\0" in line:
                raise ToolError("this is a binary file; use disk_usage for its size")
            if number < arguments.offset:
                continue
            if len(lines) >= arguments.limit or taken > _MAX_BYTES:
                return lines, True, number
            taken += min(len(line), _MAX_LINE)
            lines.append(_line_text(line))
    return lines, False, number


def _line_text(line: bytes) -> str:
    text = line[:_MAX_LINE].decode("utf-8", "replace").rstrip("\n")
    return text + f" … ({len(line) - _MAX_LINE:,} more bytes in this line)" if len(line) > _MAX_LINE else text


def read_file(context: Context, arguments: ReadArguments) -> ToolResult:
    path = resolve(context, arguments.path)
    if path.is_dir():
        raise ToolError(f"{arguments.path} is a folder; use list_dir")
    seen.note_read(context, path)
    if arguments.byte_offset:
        return _read_from(path, arguments.byte_offset)
    fd = open_regular(path)
    if arguments.offset == 1 and (kind := _media_type(fd)):
        return _read_media(context, fd, kind, str(path))
    lines, more, count = _read_lines(context, fd, arguments)
    if not lines and arguments.offset > 1:
        raise ToolError(f"{arguments.path} has {plural(count, 'line')}: offset counts lines, byte_offset counts bytes")
    last = arguments.offset + len(lines) - 1
    text = "\n".join(lines)
    if more:
        text += f"\n… the file goes on: call read_file with offset={last + 1}"
    data = {"path": str(path), "lines": len(lines), "more": more}
    return ToolResult(text or "(empty)", data=data, summary=plural(len(lines), "line"))


def _read_from(path: Path, offset: int) -> ToolResult:
    """Return what is in a file from a byte on, whatever its lines are."""
    with os.fdopen(open_regular(path), "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(offset)
        data = stream.read(_PART)
    if b"\0" in data:
        raise ToolError("this is a binary file; use disk_usage for its size")
    end = offset + len(data)
    text = data.decode("utf-8", "replace")
    if end < size:
        text += f"\n… {size - end:,} more bytes: call read_file with byte_offset={end}"
    facts = {"path": str(path), "offset": offset, "end": end, "more": end < size}
    return ToolResult(text or "(the file ends before this)", data=facts, summary=size_text(len(data)))


def _kind(status: os.stat_result) -> str:
    if stat.S_ISDIR(status.st_mode):
        return "folder"
    return "link" if stat.S_ISLNK(status.st_mode) else special(status).removeprefix("a ") or "file"


def list_dir(context: Context, arguments: ListArguments) -> ToolResult:
    path = folder(context, arguments.path)
    rows: list[tuple[str, str, int, float]] = []
    total = 0
    try:
        with opening.folder(str(path)) as fd, os.scandir(fd) as entries:
            for entry in entries:
                total += 1
                if total % 256 == 1:
                    context.check()
                if len(rows) < arguments.limit:
                    rows.append(_row(entry))
    except OSError as error:
        raise ToolError(f"{arguments.path} cannot be listed: {error.strerror}") from error
    rows.sort()
    text = "\n".join(
        f"{kind:6} {size_text(size):>10}  {times.iso(when)[:16]}  {name}" for name, kind, size, when in rows
    )
    if total > len(rows):
        text += f"\n… and {total - len(rows):,} more entries (not sorted in)"
    data = {"path": str(path), "total": total, "names": [row[0] for row in rows]}
    return ToolResult(text or "(empty folder)", data=data, summary=plural(total, "entry", "entries"))


def _row(entry: os.DirEntry[str]) -> tuple[str, str, int, float]:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return entry.name, "?", 0, 0.0
    return entry.name, _kind(status), status.st_size, max(0.0, status.st_mtime)


READ_FILE = Tool(
    "read_file",
    "Read a text file, or a part of it by lines; or see an image (PNG, JPEG, GIF, WebP) or a PDF whole. Use offset "
    "and limit for the place that grep named; for a folder use list_dir. You get the lines as they are, without "
    "numbers; lines over 2,000 bytes and reads over 200,000 are cut, and the last line says with which offset to go "
    "on. Other binary and special files, keys and secrets are refused.",
    ReadArguments,
    read_file,
    lambda a: f"read_file {a.path}" + (f" from line {a.offset}" if a.offset > 1 else ""),
    effect=Effect.NONE,
)
LIST_DIR = Tool(
    "list_dir",
    "List one folder, without what is below its folders: use glob for that. Each entry has its kind, size, time of "
    "change (UTC) and name, sorted by name. Beyond `limit` entries are only counted.",
    ListArguments,
    list_dir,
    lambda a: f"list_dir {a.path}",
    effect=Effect.NONE,
)

_BLOCK = 512  # st_blocks counts these, whatever the file system


class UsageArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="the folder or file to measure")]
    top: Annotated[int, Meta(ge=1, le=1000, description="how many of the largest files and folders to report")] = 10
    glob: Annotated[str, Meta(description="count only files whose path matches, such as *.log or src/**/*.py")] = ""


class _Tally:
    """Sums over one walk. An inode counts once, however many names it has."""

    def __init__(self, root: str, top: int, wanted: Callable[[str], bool]) -> None:
        self._root, self._top, self._wanted = root, top, wanted
        self._linked: set[tuple[int, int]] = set()
        self._heap: list[tuple[int, int, str]] = []  # on disk, apparent, path
        self._folders: dict[str, list[int]] = {}
        self.files = self.folders = self.links = self.bytes = self.allocated = 0

    def add(self, path: str, status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode):
            self.folders += 1
        elif stat.S_ISREG(status.st_mode) and self._wanted(path):
            self._file(path, status)
        elif stat.S_ISLNK(status.st_mode):
            self.links += 1

    def _file(self, path: str, status: os.stat_result) -> None:
        if status.st_nlink > 1:
            identity = (status.st_dev, status.st_ino)
            if identity in self._linked:
                return
            self._linked.add(identity)
        self.files += 1
        allocated = status.st_blocks * _BLOCK
        self.bytes += status.st_size
        self.allocated += allocated
        self._rank((allocated, status.st_size, path))
        self._charge(path, allocated, status.st_size)

    def _rank(self, file: tuple[int, int, str]) -> None:
        if len(self._heap) < self._top:
            heapq.heappush(self._heap, file)
        elif file > self._heap[0]:
            heapq.heapreplace(self._heap, file)

    def _charge(self, path: str, allocated: int, size: int) -> None:
        """Add a file to the folder directly below the root in which it stands."""
        head, slash, _ = path[len(self._root.rstrip("/")) + 1 :].partition("/")
        if slash:
            sums = self._folders.setdefault(head, [0, 0, 0])
            sums[0] += allocated
            sums[1] += 1
            sums[2] += size

    def largest(self) -> list[dict[str, str | int]]:
        ranked = sorted(self._heap, key=lambda item: (-item[0], -item[1], item[2]))
        return [{"path": path, "bytes": size, "allocated": allocated} for allocated, size, path in ranked]

    def by_folder(self) -> list[dict[str, str | int]]:
        ranked = sorted(self._folders.items(), key=lambda item: (-item[1][0], item[0]))[: self._top]
        base = self._root.rstrip("/")
        return [
            {"path": f"{base}/{name}", "bytes": sums[2], "allocated": sums[0], "files": sums[1]}
            for name, sums in ranked
        ]


def disk_usage(context: Context, arguments: UsageArguments) -> ToolResult:
    root = str(resolve(context, arguments.path))
    tally = _Tally(root, arguments.top, chooser(arguments.glob, root))
    walk = TreeWalk(context, root)
    if os.path.isdir(root):
        for path, status in walk:
            tally.add(path, status)
    else:
        tally.add(root, os.stat(root))
    data = {
        "path": root,
        "is_folder": os.path.isdir(root),
        "files": tally.files,
        "folders": tally.folders,
        "links": tally.links,
        "bytes": tally.bytes,
        "allocated": tally.allocated,
        "largest": tally.largest(),
        "by_folder": tally.by_folder(),
        **walk.facts,
    }
    summary = f"{size_text(tally.allocated)} on disk in {plural(tally.files, 'file')}"
    return ToolResult(_render(root, tally, walk.notes), data=data, summary=summary)


def _render(root: str, tally: _Tally, notes: list[str]) -> str:
    folders = tally.by_folder()
    lines = [
        f"{root}: {size_text(tally.allocated)} on disk in {plural(tally.files, 'file')}, "
        f"{plural(tally.folders, 'folder')}; {tally.bytes:,} bytes ({size_text(tally.bytes)}) by apparent size",
        *notes,
        "largest files, by bytes on disk (allocated blocks):",
        *(f"{item['allocated']:>16,}  {item['path']}" for item in tally.largest()),
    ]
    if folders:
        lines += [
            "folders, by bytes on disk:",
            *(f"{item['allocated']:>16,}  {item['path']}" for item in folders),
        ]
    return "\n".join(lines)


DISK_USAGE = Tool(
    "disk_usage",
    "Measure how much room a folder takes: the total, the largest files and the largest folders directly below it. "
    "Use it to find what fills a disk; to find files by name use glob. Sizes are those on disk, with the apparent "
    "size beside the total; a file with several hard links counts once, and links are not followed.",
    UsageArguments,
    disk_usage,
    lambda a: f"disk_usage {a.path} top {a.top}" + (f" of {a.glob}" if a.glob else ""),
    effect=Effect.NONE,
)
