"""find and grep."""

from __future__ import annotations

import fnmatch
import io
import os
import re
import stat
from collections.abc import Iterator
from typing import IO, Annotated, Literal

from msgspec import Meta, Struct

from lumen_tui.model import times
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural, size_text
from lumen_tui.tools.files.paths import TreeWalk, folder, forbidden, resolve
from lumen_tui.tools.files.read import open_regular

_MAX_FILE = 256 * 1024 * 1024  # larger ones are left out of a search, and counted
_MAX_LINE = 8192  # bytes of a line that are searched
_SHOWN = 400
_KEPT_FILES = 1000  # per-file counts kept


class FindArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="where to look")]
    name: Annotated[str, Meta(description="pattern for the name, such as *.py; empty for all")] = ""
    kind: Annotated[Literal["file", "folder", "any"], Meta(description="what to look for")] = "file"
    min_bytes: Annotated[int, Meta(ge=0, description="only files of at least this size")] = 0
    newer_than_days: Annotated[float, Meta(ge=0, description="only changed within this many days; 0: any")] = 0.0
    max_depth: Annotated[int, Meta(ge=0, le=100, description="folders deep; 0: all the way")] = 0
    limit: Annotated[int, Meta(ge=1, le=5000, description="list at most this many; all are counted")] = 200


class GrepArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="a file, or a folder that is searched with all below it")]
    pattern: Annotated[str, Meta(min_length=1, max_length=4000, description="the text or regular expression")]
    regex: Annotated[bool, Meta(description="whether pattern is a Python regular expression")] = False
    ignore_case: Annotated[bool, Meta(description="whether case is ignored")] = False
    name: Annotated[str, Meta(description="only files whose name matches, such as *.py")] = ""
    limit: Annotated[int, Meta(ge=1, le=5000, description="show at most this many lines; all are counted")] = 200


def _wanted(arguments: FindArguments, path: str, status: os.stat_result, now: float) -> bool:
    is_folder = stat.S_ISDIR(status.st_mode)
    if (arguments.kind == "folder" and not is_folder) or (
        arguments.kind == "file" and not stat.S_ISREG(status.st_mode)
    ):
        return False
    if arguments.min_bytes and status.st_size < arguments.min_bytes:
        return False
    if arguments.newer_than_days and now - status.st_mtime > arguments.newer_than_days * times.DAY:
        return False
    return not arguments.name or fnmatch.fnmatch(os.path.basename(path).lower(), arguments.name.lower())


def find(context: Context, arguments: FindArguments) -> ToolResult:
    root = str(folder(context, arguments.path))
    walk = TreeWalk(context, root, max_depth=arguments.max_depth)
    total = size = folders = 0
    matches: list[dict[str, str | float]] = []
    for path, status in walk:
        folders += stat.S_ISDIR(status.st_mode)
        if _wanted(arguments, path, status, context.now()):
            total += 1
            size += status.st_size
            if len(matches) < arguments.limit:
                matches.append({"path": path, "bytes": status.st_size, "changed": status.st_mtime})
    lines = [f"{item['bytes']:>14,}  {item['path']}" for item in matches]
    if total > len(matches):
        lines.append(f"… and {total - len(matches):,} more")
    text = "\n".join([f"{plural(total, 'match', 'matches')} below {root}", *walk.notes, *lines])
    data = {"path": root, "total": total, "bytes": size, "folders": folders, "matches": matches, **walk.facts}
    return ToolResult(text, data=data, summary=plural(total, "match", "matches"))


class _Search:
    """One grep: what was found and what could not be read."""

    def __init__(self, context: Context, arguments: GrepArguments) -> None:
        self._context, self._arguments = context, arguments
        self._regex = compile_pattern(arguments)
        self.hits: list[dict[str, str | int]] = []
        self.counts: dict[str, int] = {}
        self.matches = self.files = self.files_with = self.binary = self.large = self.unreadable = self.lines = 0

    def file(self, path: str, size: int) -> None:
        name = self._arguments.name
        if name and not fnmatch.fnmatch(os.path.basename(path).lower(), name.lower()):
            return
        if size > _MAX_FILE:
            self.large += 1
            return
        self._context.check()
        if forbidden(self._context, path):
            return
        try:
            self._scan(path, open_regular(path))
        except (ToolError, OSError):
            self.unreadable += 1

    def _scan(self, path: str, fd: int) -> None:
        with io.BufferedReader(io.FileIO(fd, "rb"), 256 * 1024) as stream:
            if b"\0" in stream.peek(8192)[:8192]:
                self.binary += 1
                return
            self.files += 1
            count = sum(self._line(path, number, line) for number, line in self._numbered(stream))
        if count:
            self.files_with += 1
            self.matches += count
            if len(self.counts) < _KEPT_FILES:
                self.counts[path] = count

    def _numbered(self, stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
        for number, line in enumerate(iter(lambda: stream.readline(1024 * 1024), b""), start=1):
            if number % 4096 == 0:
                self._context.check()
            self.lines += 1
            yield number, line

    def _line(self, path: str, number: int, line: bytes) -> bool:
        if not self._regex.search(line[:_MAX_LINE]):
            return False
        if len(self.hits) < self._arguments.limit:
            text = line[:_SHOWN].decode("utf-8", "replace").rstrip("\r\n")
            self.hits.append({"path": path, "line": number, "text": text})
        return True


def compile_pattern(arguments: GrepArguments) -> re.Pattern[bytes]:
    """Return the pattern as a compiled expression; ToolError where it is not one."""
    text = arguments.pattern if arguments.regex else re.escape(arguments.pattern)
    try:
        return re.compile(text.encode(), re.IGNORECASE if arguments.ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(f"pattern is not a regular expression: {error}; regex=false searches for it as text") from error


def grep(context: Context, arguments: GrepArguments) -> ToolResult:
    root = str(resolve(context, arguments.path))
    search = _Search(context, arguments)
    walk = TreeWalk(context, root)
    if os.path.isdir(root):
        for path, status in walk:
            if stat.S_ISREG(status.st_mode):
                search.file(path, status.st_size)
    else:
        open_regular_or_fail(root)
        search.file(root, os.stat(root).st_size)
    data = {
        "path": root,
        "matches": search.matches,
        "files": search.files,
        "files_with": search.files_with,
        "binary": search.binary,
        "large": search.large,
        "lines": search.lines,
        "hits": search.hits,
        "counts": search.counts,
        **walk.facts,
        "unreadable": walk.unreadable_count + search.unreadable,
    }
    summary = f"{plural(search.matches, 'line')} in {plural(search.files_with, 'file')}"
    return ToolResult(_render(search, walk.notes), data=data, summary=summary)


def open_regular_or_fail(path: str) -> None:
    """ToolError where a file named by itself cannot be read: then nothing was searched at all."""
    os.close(open_regular(path))


def _render(search: _Search, notes: list[str]) -> str:
    head = f"{plural(search.matches, 'line')} in {search.files_with:,} of {plural(search.files, 'text file')}"
    skipped = [
        f"{plural(count, 'file')} {remark}"
        for count, remark in (
            (search.binary, "left out as binary"),
            (search.large, f"left out as larger than {size_text(_MAX_FILE)}"),
            (search.unreadable, "not readable"),
        )
        if count
    ]
    lines = [f"{hit['path']}:{hit['line']}: {hit['text']}" for hit in search.hits]
    if search.matches > len(search.hits):
        lines.append(f"… and {search.matches - len(search.hits):,} more lines")
    return "\n".join([head, *notes, *skipped, *lines])


FIND = Tool(
    "find",
    "Find files or folders by name, kind, size and age. Counts all matches and lists the first of them.",
    FindArguments,
    find,
    lambda a: f"find {a.path} {a.name}".rstrip(),
)
GREP = Tool(
    "grep",
    "Search text in files, line by line. Counts all matching lines and shows the first of them. Binary files "
    "are left out.",
    GrepArguments,
    grep,
    lambda a: f"grep {a.pattern!r} {a.path}",
)
