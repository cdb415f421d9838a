"""read_file and list_dir."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.model import times
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural, size_text
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.paths import folder, resolve, special

_CHUNK = 256 * 1024
_MAX_BYTES = 200_000  # of one read_file
_MAX_LINE = 2_000
_PART = 50_000  # bytes of a file that is read by offset


class ReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="the file; a relative path counts from the task's own folder")]
    first_line: Annotated[int, Meta(ge=1, description="where to begin")] = 1
    lines: Annotated[int, Meta(ge=1, le=5000, description="how many lines")] = 400
    offset: Annotated[int, Meta(ge=0, description="begin at this byte instead, for very long lines; 0: at a line")] = 0


class ListArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="the folder")]
    limit: Annotated[int, Meta(ge=1, le=5000, description="at most this many entries")] = 500


def open_regular(path: str | os.PathLike[str]) -> int:
    """A descriptor of the regular file with that real path; ToolError for anything else."""
    try:
        fd = opening.file(os.fspath(path))
    except OSError as error:
        raise ToolError(f"{os.fspath(path)} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ToolError(f"{os.fspath(path)} is not a regular file")
    return fd


def _read_lines(context: Context, fd: int, arguments: ReadArguments) -> tuple[list[str], bool]:
    """The wanted lines and whether there are more. ToolError for a binary file."""
    lines: list[str] = []
    number = taken = 0
    with os.fdopen(fd, "rb", _CHUNK) as stream:
        while line := stream.readline(_CHUNK):
            number += 1
            if number % 4096 == 1:
                context.check()
            if b"\0" in line:
                raise ToolError("this is a binary file; use disk_usage for its size")
            if number < arguments.first_line:
                continue
            if len(lines) >= arguments.lines or taken > _MAX_BYTES:
                return lines, True
            taken += min(len(line), _MAX_LINE)
            lines.append(_line_text(line))
    return lines, False


def _line_text(line: bytes) -> str:
    text = line[:_MAX_LINE].decode("utf-8", "replace").rstrip("\n")
    return text + f" … ({len(line) - _MAX_LINE:,} more bytes in this line)" if len(line) > _MAX_LINE else text


def read_file(context: Context, arguments: ReadArguments) -> ToolResult:
    path = resolve(context, arguments.path)
    if path.is_dir():
        raise ToolError(f"{arguments.path} is a folder; use list_dir")
    if arguments.offset:
        return _read_from(path, arguments.offset)
    lines, more = _read_lines(context, open_regular(path), arguments)
    last = arguments.first_line + len(lines) - 1
    text = "\n".join(lines)
    if more:
        text += f"\n… the file goes on: call read_file with first_line={last + 1}"
    data = {"path": str(path), "lines": len(lines), "more": more}
    return ToolResult(text or "(empty)", data=data, summary=plural(len(lines), "line"))


def _read_from(path: Path, offset: int) -> ToolResult:
    """What stands in a file from a byte on, whatever its lines are."""
    with os.fdopen(open_regular(path), "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(offset)
        data = stream.read(_PART)
    if b"\0" in data:
        raise ToolError("this is a binary file; use disk_usage for its size")
    end = offset + len(data)
    text = data.decode("utf-8", "replace")
    if end < size:
        text += f"\n… {size - end:,} more bytes: call read_file with offset={end}"
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
    "Read a text file by lines. Binary and special files are refused.",
    ReadArguments,
    read_file,
    lambda a: f"read_file {a.path}" + (f" from line {a.first_line}" if a.first_line > 1 else ""),
)
LIST_DIR = Tool(
    "list_dir",
    "List one folder: kind, size, time of change (UTC) and name of each entry.",
    ListArguments,
    list_dir,
    lambda a: f"list_dir {a.path}",
)
