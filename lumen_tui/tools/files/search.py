"""glob and grep."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from typing import IO, Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model import times
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult, plural, size_text
from lumen_tui.tools.files.paths import TreeWalk, chooser, folder, forbidden, place, resolve
from lumen_tui.tools.files.read import open_regular

_MAX_FILE = 256 * 1024 * 1024  # larger ones are left out of a search, and counted
_MAX_LINE = 8192  # bytes of a line that are searched
_SHOWN = 400
_KEPT_FILES = 1000  # per-file counts kept


class GlobArguments(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1000,
            description="*.py for a name at any depth; with a slash the path below `path`, such as src/**/*.{py,toml}",
        ),
    ]
    path: Annotated[str, Meta(description="the folder to look in; left out, the folder that the task is about")] = ""
    kind: Annotated[Literal["file", "folder", "any"], Meta(description="what to look for")] = "file"
    min_bytes: Annotated[int, Meta(ge=0, description="only files of at least this size")] = 0
    newer_than_days: Annotated[float, Meta(ge=0, description="only changed within this many days; 0: any")] = 0.0
    max_depth: Annotated[int, Meta(ge=0, le=100, description="folders deep; 0: all the way")] = 0
    limit: Annotated[int, Meta(ge=1, le=5000, description="at most this many are listed; all are counted")] = 200


class GrepArguments(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4000,
            description="a Python regular expression for one line, in which what is meant literally is escaped",
        ),
    ]
    path: Annotated[
        str, Meta(description="a file, or a folder with all below it; left out, the folder that the task is about")
    ] = ""
    glob: Annotated[str, Meta(description="only files like *.py (a name at any depth) or src/**/*.{py,toml}")] = ""
    ignore_case: Annotated[bool, Meta(description="whether case is ignored")] = False
    limit: Annotated[int, Meta(ge=1, le=5000, description="at most this many are listed; all are counted")] = 200


def _wanted(arguments: GlobArguments, status: os.stat_result, now: float) -> bool:
    is_folder = stat.S_ISDIR(status.st_mode)
    if (arguments.kind == "folder" and not is_folder) or (
        arguments.kind == "file" and not stat.S_ISREG(status.st_mode)
    ):
        return False
    if arguments.min_bytes and status.st_size < arguments.min_bytes:
        return False
    return not (arguments.newer_than_days and now - status.st_mtime > arguments.newer_than_days * times.DAY)


def glob(context: Context, arguments: GlobArguments) -> ToolResult:
    root = str(folder(context, place(context, arguments.path)))
    chosen, walk = chooser(arguments.pattern, root), TreeWalk(context, root, max_depth=arguments.max_depth)
    total = size = folders = 0
    matches: list[dict[str, str | float]] = []
    for path, status in walk:
        folders += stat.S_ISDIR(status.st_mode)
        if _wanted(arguments, status, context.now()) and chosen(path):
            total += 1
            size += status.st_size
            if len(matches) < arguments.limit:
                matches.append({"path": path, "bytes": status.st_size, "changed": status.st_mtime})
    lines = [f"{item['bytes']:>14,}  {item['path']}" for item in matches]
    if total > len(matches):
        lines.append(f"… and {total - len(matches):,} more")
    notes = [*walk.notes, *([] if total else _no_match(arguments.pattern))]
    text = "\n".join([f"{plural(total, 'match', 'matches')} below {root}", *notes, *lines])
    data = {"path": root, "total": total, "bytes": size, "folders": folders, "matches": matches, **walk.facts}
    return ToolResult(text, data=data, summary=plural(total, "match", "matches"))


def _no_match(pattern: str) -> Iterator[str]:
    """Yield what may be wrong with a pattern that found nothing."""
    if re.search(r"\.\*|\.\+|\\\w|[$^|]", pattern):
        yield "the pattern is no regular expression: * stands for any characters; grep takes regular expressions"
    elif "/" in pattern and not pattern.startswith("**/"):
        yield f"with a slash the pattern is the whole path below `path`: **/{pattern} looks at any depth"


class _Search:
    """One grep: what was found and what could not be read."""

    def __init__(self, context: Context, arguments: GrepArguments, root: str) -> None:
        self._context, self._limit = context, arguments.limit
        self._regex = compile_pattern(arguments)
        self._chosen = chooser(arguments.glob, root)
        self._literal = arguments.pattern.encode() if arguments.pattern != re.escape(arguments.pattern) else b""
        self.literal = 0  # lines with the pattern as it is written, counted until a line matches
        self.hits: list[dict[str, str | int]] = []
        self.counts: dict[str, int] = {}
        self.matches = self.files = self.files_with = self.binary = self.large = self.unreadable = self.lines = 0

    def file(self, path: str, size: int) -> None:
        if not self._chosen(path):
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
            self.literal += bool(self._literal and not self.hits and self._literal in line)
            return False
        if len(self.hits) < self._limit:
            text = line[:_SHOWN].decode("utf-8", "replace").rstrip("\r\n")
            self.hits.append({"path": path, "line": number, "text": text})
        return True


def compile_pattern(arguments: GrepArguments) -> re.Pattern[bytes]:
    """Return the pattern as a compiled expression; ToolError where it is not one."""
    try:
        return re.compile(arguments.pattern.encode(), re.IGNORECASE if arguments.ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(
            f"pattern is no regular expression: {error}; as literal text it is pattern={_quoted(arguments.pattern)}"
        ) from error


def _quoted(pattern: str) -> str:
    """Return the expression that matches a text literally, as it is written in a call."""
    return msgspec.json.encode(re.escape(pattern)).decode()


def grep(context: Context, arguments: GrepArguments) -> ToolResult:
    root = str(resolve(context, place(context, arguments.path)))
    search = _Search(context, arguments, root)
    walk = TreeWalk(context, root)
    if os.path.isdir(root):
        for path, status in walk:
            if stat.S_ISREG(status.st_mode):
                search.file(path, status.st_size)
    else:
        search.file(root, _searchable(root))
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
    notes = [*walk.notes, *([] if search.matches else _as_written(search, arguments.pattern))]
    return ToolResult(_render(search, notes), data=data, summary=summary)


def _as_written(search: _Search, pattern: str) -> Iterator[str]:
    """Yield that the pattern occurs as literal text, where as an expression it matched nothing."""
    if search.literal:
        count = plural(search.literal, "line has", "lines have")
        yield f"{count} the pattern as literal text: that is pattern={_quoted(pattern)}"


def _searchable(path: str) -> int:
    """Return the size of a file named by itself. ToolError where it cannot be read: then nothing was searched."""
    os.close(open_regular(path))
    size = os.stat(path).st_size
    if size > _MAX_FILE:
        raise ToolError(
            f"{one_line(path)} has {size_text(size)}, and grep looks through files up to {size_text(_MAX_FILE)}: "
            "use grep in the shell, or read_file with offset or byte_offset"
        )
    return size


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


GLOB = Tool(
    "glob",
    "Find files or folders by a pattern of their name or path, and by kind, size and age. All matches are counted, the "
    "first ones are listed with size and whole path, in no order. Use it to learn what is there; for text inside files "
    "use grep, for one folder list_dir. Links are not followed.",
    GlobArguments,
    glob,
    lambda a: f"glob {a.pattern} {a.path}".rstrip(),
    effect=Effect.NONE,
)
GREP = Tool(
    "grep",
    "Search files for lines that match a regular expression. You get the count of all matching lines, then the first "
    "ones as path:line: text, each cut at 400 bytes. Binary files, and files over 256 MiB, are left out and counted. "
    "Use read_file with the line as offset to see what is around a match.",
    GrepArguments,
    grep,
    lambda a: f"grep {a.pattern!r} {a.path}".rstrip(),
    effect=Effect.NONE,
)
