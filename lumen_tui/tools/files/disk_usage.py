"""disk_usage: what takes the space below a folder, and which files are the largest."""

from __future__ import annotations

import fnmatch
import heapq
import os
import stat
from typing import Annotated, Any

from msgspec import Meta, Struct

from lumen_tui.tools.base import Context, Tool, ToolResult, plural, size_text
from lumen_tui.tools.files.paths import resolve
from lumen_tui.tools.files.walk import TreeWalk

_BLOCK = 512  # st_blocks counts these, whatever the file system


class UsageArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="the folder or file to measure")]
    top: Annotated[int, Meta(ge=1, le=1000, description="how many of the largest files and folders to report")] = 10
    name: Annotated[str, Meta(description="count only files whose name matches this pattern, such as *.log")] = ""


class _Tally:
    """Sums over one walk. An inode counts once, however many names it has."""

    def __init__(self, root: str, top: int, name: str) -> None:
        self._root, self._top, self._name = root, top, name
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

    def _wanted(self, path: str) -> bool:
        return not self._name or fnmatch.fnmatch(os.path.basename(path).lower(), self._name.lower())

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

    def largest(self) -> list[dict[str, Any]]:
        ranked = sorted(self._heap, key=lambda item: (-item[0], -item[1], item[2]))
        return [{"path": path, "bytes": size, "allocated": allocated} for allocated, size, path in ranked]

    def by_folder(self) -> list[dict[str, Any]]:
        ranked = sorted(self._folders.items(), key=lambda item: (-item[1][0], item[0]))[: self._top]
        base = self._root.rstrip("/")
        return [
            {"path": f"{base}/{name}", "bytes": sums[2], "allocated": sums[0], "files": sums[1]}
            for name, sums in ranked
        ]


def disk_usage(context: Context, arguments: UsageArguments) -> ToolResult:
    root = str(resolve(context, arguments.path))
    tally = _Tally(root, arguments.top, arguments.name)
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
    return ToolResult(_render(data, walk.notes), data=data, summary=summary)


def _render(data: dict[str, Any], notes: list[str]) -> str:
    lines = [
        f"{data['path']}: {size_text(data['allocated'])} on disk in {plural(data['files'], 'file')}, "
        f"{plural(data['folders'], 'folder')}; {data['bytes']:,} bytes ({size_text(data['bytes'])}) by apparent size",
        *notes,
        "largest files, by bytes on disk (allocated blocks):",
        *(f"{item['allocated']:>16,}  {item['path']}" for item in data["largest"]),
    ]
    if data["by_folder"]:
        lines += [
            "folders, by bytes on disk:",
            *(f"{item['allocated']:>16,}  {item['path']}" for item in data["by_folder"]),
        ]
    return "\n".join(lines)


DISK_USAGE = Tool(
    "disk_usage",
    "Measure a folder: total size, largest files and largest folders directly below it. Sizes are apparent sizes; a "
    "file with several hard links counts once; links are not followed.",
    UsageArguments,
    disk_usage,
    lambda a: f"disk_usage {a.path} top {a.top}" + (f" name {a.name}" if a.name else ""),
)
