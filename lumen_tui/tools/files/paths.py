"""Paths of tool calls: resolved and refused, and one bounded walk below them that follows no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from lumen_tui.model.globs import path_pattern
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import REPORT_EVERY, Context, ToolError, plural
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.opening import is_below, is_below_any
from lumen_tui.tools.sandbox.policy import task_folder
from lumen_tui.tools.sandbox.secrets import is_env_file

_CONTROL = (
    "lumen.toml",
    "operator.toml",
    "commands.jsonl",
    "command-receipts.jsonl",
    "engine.lock",
    "approvals",
    "locks",
    "constitution.json",
    "evals",
    "kill.json",
    "spend.jsonl",
)
OWN_FILES = "files"  # in the task's folder: where it may always write
_PROCESS_SECRETS = lazy_re(
    r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|auxv|pagemap|maps|smaps|fd|fdinfo|cwd|root)(?:/|$)"
)
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def resolve(context: Context, text: str) -> Path:
    """Return the absolute path meant by `text`, links resolved; relative ones count from the task's folder.

    ToolError where it is not there, out of bounds, or a file the worker has no business with.
    """
    if not text or "\0" in text:
        raise ToolError("the path is empty or holds a NUL character")
    path = os.path.realpath(_from_here(context, os.path.expanduser(text)))
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(f"{one_line(text)} does not exist") from None
    except OSError as error:
        raise ToolError(f"{one_line(text)} cannot be looked at: {error.strerror}") from error
    if kind := special(status):
        raise ToolError(f"{one_line(text)} is {kind}; only files and folders are read")
    if refusal := forbidden(context, path):
        raise ToolError(refusal)
    return Path(path)


def _from_here(context: Context, text: str) -> str:
    """Return an absolute path; a relative one counts from the task's own files where it is there, else its folder."""
    own = os.path.join(context.folder, OWN_FILES, text)
    return own if os.path.lexists(own) else os.path.join(context.folder, text)


def folder(context: Context, text: str) -> Path:
    """Resolve a path that must be a folder."""
    path = resolve(context, text)
    if not path.is_dir():
        raise ToolError(f"{one_line(text)} is a file, not a folder")
    return path


def place(context: Context, text: str) -> str:
    """Return where a search begins: the named path, else the folder that the task is about, else its own."""
    return text or task_folder(context) or str(context.folder)


def chooser(pattern: str, root: str) -> Callable[[str], bool]:
    """Return whether a path below `root` is meant by a pattern: by its name, or by its path where it has a slash."""
    if not pattern:
        return lambda path: True
    if pattern.startswith(("/", "~")):
        raise ToolError(f"{one_line(pattern, 100)}: a pattern counts from `path`: name the folder there")
    matches = path_pattern(pattern, ignore_case=True).fullmatch
    if "/" not in pattern.removeprefix("./"):
        return lambda path: matches(os.path.basename(path)) is not None
    return lambda path: matches(os.path.relpath(path, root)) is not None


def special(status: os.stat_result) -> str:
    """Return `a pipe`, `a socket` or `a device`; empty for files, folders and links."""
    return next((kind for test, kind in _KINDS if test(status.st_mode)), "")


def is_control(name: str) -> bool:
    """Return whether an entry at the top of the state folder is the engine's own; the ledger's earlier pages are."""
    return name in _CONTROL or name.startswith("spend-")


def forbidden(context: Context, path: str) -> str:
    """Return why the real path `path` must not be read, or empty."""
    if _PROCESS_SECRETS.match(path):
        return f"{one_line(path)} holds another process's secrets and is not read"
    root = os.path.realpath(context.store.root)
    if is_below(path, root) and is_control(os.path.relpath(path, root).split(os.sep)[0]):
        return f"{one_line(path)} belongs to the engine and the operator and is not read by workers"
    if is_below_any(path, context.rules.hidden) or is_env_file(os.path.basename(path)):
        return f"{one_line(path)} is where keys or private data are kept, and is not read"
    roots = context.rules.roots
    if roots and not is_below_any(path, (*roots, os.path.realpath(context.folder))):
        return f"{one_line(path)} is outside {', '.join(roots)}, where the constraints keep this task"
    return ""


MAX_ENTRIES = 5_000_000
MAX_SECONDS = 300.0
_LOOK_EVERY = 256  # entries between two looks at the clock and the stop flag
_EXAMPLES = 5
_PSEUDO = {
    "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "securityfs", "debugfs", "tracefs", "pstore", "bpf",
    "mqueue", "hugetlbfs", "configfs", "fusectl", "binfmt_misc", "autofs", "rpc_pipefs", "nsfs", "efivarfs",
}  # fmt: skip


class TreeWalk:
    """Iterate once; then read the counters.

    Yields (path, stat) of everything but the root itself, a real path. ToolError where the root cannot be listed.
    """

    def __init__(
        self,
        context: Context,
        root: str,
        *,
        max_entries: int = MAX_ENTRIES,
        seconds: float = MAX_SECONDS,
        max_depth: int = 0,
    ) -> None:
        self.root = root
        self.entries = 0
        self.unreadable: list[str] = []  # the first few; `unreadable_count` counts all
        self.unreadable_count = 0
        self.left_out: list[str] = []  # pseudo file systems
        self.cut = ""  # why the walk ended early, or empty
        self._context = context
        self._max_entries, self._seconds, self._max_depth = max_entries, seconds, max_depth
        self._ends = context.monotonic() + seconds
        self._report_at = context.monotonic() + REPORT_EVERY
        self._seen: set[tuple[int, int]] = set()
        self._pseudo = pseudo_mounts() - {root}

    def __iter__(self) -> Iterator[tuple[str, os.stat_result]]:
        pending = [(self.root, 1)]
        while pending and not self.cut:
            folder, depth = pending.pop()
            for path, status in self._list(folder):
                yield path, status
                if stat.S_ISDIR(status.st_mode) and self._enter(path, status, depth):
                    pending.append((path, depth + 1))

    def _list(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with opening.folder(folder) as fd, os.scandir(fd) as entries:
                for entry in entries:
                    if self._over():
                        return
                    path = os.path.join(folder, entry.name)
                    if status := self._stat(entry, path):
                        yield path, status
        except FileNotFoundError:
            return  # removed while we looked
        except OSError as error:
            if folder == self.root:
                raise ToolError(f"{folder} cannot be listed: {error.strerror}") from error
            self._failed(folder)

    def _stat(self, entry: os.DirEntry[str], path: str) -> os.stat_result | None:
        try:
            return entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None  # removed while we looked
        except OSError:
            self._failed(path)
            return None

    def _over(self) -> bool:
        """Count one entry; whether the walk must end here."""
        self.entries += 1
        if self.entries > self._max_entries:
            self.cut = f"stopped after {self._max_entries:,} entries"
        elif self.entries % _LOOK_EVERY == 1:
            self._look()
        return bool(self.cut)

    def _look(self) -> None:
        self._context.check()
        now = self._context.monotonic()
        if now > self._ends:
            self.cut = f"stopped after {self._seconds:.0f} seconds"
        elif now > self._report_at:
            self._report_at = now + REPORT_EVERY
            self._context.progress(f"{self.entries:,} entries so far")

    def _enter(self, path: str, status: os.stat_result, depth: int) -> bool:
        if self._max_depth and depth >= self._max_depth:
            return False
        if path in self._pseudo:
            self.left_out.append(path)
            return False
        if forbidden(self._context, path):
            return False
        identity = (status.st_dev, status.st_ino)
        fresh = identity not in self._seen
        self._seen.add(identity)
        return fresh

    def _failed(self, path: str) -> None:
        self.unreadable_count += 1
        if len(self.unreadable) < _EXAMPLES:
            self.unreadable.append(path)

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the completeness of the walk."""
        remarks = []
        if self.cut:
            remarks.append(f"incomplete: {self.cut}")
        if self.unreadable_count:
            remarks.append(f"{plural(self.unreadable_count, 'place')} not readable: {', '.join(self.unreadable)}")
        if self.left_out:
            remarks.append(f"kernel file systems left out: {', '.join(sorted(self.left_out)[:_EXAMPLES])}")
        return remarks

    @property
    def facts(self) -> dict[str, object]:
        """The counters as data."""
        return {
            "unreadable": self.unreadable_count,
            "unreadable_examples": self.unreadable,
            "left_out": self.left_out,
            "cut": self.cut,
            "entries": self.entries,
        }


def pseudo_mounts() -> set[str]:
    """Mount points of file systems that are the kernel's and hold no data (Linux; empty elsewhere)."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as table:
            rows = [line.split(" ") for line in table]
    except OSError:
        return set()
    return {row[1].replace("\\040", " ") for row in rows if len(row) > 2 and row[2] in _PSEUDO}
