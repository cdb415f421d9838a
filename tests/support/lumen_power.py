"""What a power cut may leave of a state folder: made from the operations of a real act, as ALICE does (OSDI 2014).

An act is carried out in a child process that writes down its operations on files and names below the root. A cut at any
of them may leave what was synced alone, or more: data without names, names without data, one operation lost or kept out
of its order, the last write torn or its bytes never written. Data is safe once its file was synced behind it, a name
once its folder was.
"""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lumen_kills import Act, Failed, repeat_random_names

DATA, NAME, SYNC = "data", "name", "sync"
_ELSEWHERE = ("index/", "locks/")  # derived, or without content; SQLite writes there by itself
_CALLS = (
    "open", "write", "pwrite", "ftruncate", "fsync", "fdatasync", "mkdir",
    "rmdir", "unlink", "remove", "rename", "replace", "link", "symlink",
)  # fmt: skip
Entry = tuple[int, str]  # a folder and a name in it
Roots = dict[str, Path]  # the folders that are looked at, by the names under which their parts of a tree stand


@dataclass(frozen=True)
class Operation:
    """One of them. A write has an offset and bytes, a cut an offset alone; names are set to a node, or to none."""

    kind: str
    node: int = -1  # whose data it is, or which is synced
    offset: int = 0
    data: bytes | None = None
    names: tuple[tuple[Entry, int | None], ...] = ()
    words: str = ""
    group: int = 0  # of what another program did while we waited for it, in an order that nobody saw


@dataclass
class Tree:
    """Files, links and folders by number; a file has its bytes, a link its target, a folder nothing but names."""

    names: dict[Entry, int] = field(default_factory=dict)
    files: dict[int, bytes] = field(default_factory=dict)
    links: dict[int, str] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)  # when a file that was there before was written, in ns
    modes: dict[int, int] = field(default_factory=dict)
    made: int = 0  # the number of the last; 0 is the root

    def new(self) -> int:
        self.made += 1
        return self.made

    def copy(self) -> Tree:
        return Tree(dict(self.names), dict(self.files), dict(self.links), dict(self.times), self.modes, self.made)

    def take(self, one: Operation) -> None:
        """Carry an operation out."""
        for entry, node in one.names:
            if node is None:
                self.names.pop(entry, None)
            else:
                self.names[entry] = node
        if one.kind == DATA:
            self.times.pop(one.node, None)
            old = self.files.get(one.node, b"")
            if one.data is None:
                self.files[one.node] = old[: one.offset].ljust(one.offset, b"\0")
            else:
                end = one.offset + len(one.data)
                self.files[one.node] = old[: one.offset].ljust(one.offset, b"\0") + one.data + old[end:]

    def paths(self) -> dict[str, int]:
        """Return what can be reached from the root, by its path."""
        below: dict[int, list[tuple[str, int]]] = {}
        for (folder, name), node in self.names.items():
            below.setdefault(folder, []).append((name, node))
        found: dict[str, int] = {}
        waiting = [("", 0)]
        while waiting:
            path, folder = waiting.pop()
            for name, node in below.get(folder, ()):
                found[f"{path}{name}"] = node
                waiting.append((f"{path}{name}/", node))
        return found

    def put(self, roots: Roots) -> None:
        """Make folders of it, where nothing is."""
        for path, node in sorted(self.paths().items()):
            root, _, below = path.partition("/")
            target = roots[root] / below
            if node in self.links:
                target.symlink_to(self.links[node])
            elif node in self.files:
                target.write_bytes(self.files[node])
                target.chmod(self.modes.get(node, 0o600))
                if node in self.times:
                    os.utime(target, ns=(self.times[node], self.times[node]))
            else:
                target.mkdir(mode=0o700)


def tree_of(roots: Roots) -> Tree:
    """Read these folders."""
    tree = Tree()
    for root, start in roots.items():
        numbers = {str(start): tree.new()}
        tree.names[0, root] = numbers[str(start)]
        for folder, folders, names in os.walk(start):
            for name in [*folders, *names]:
                path = Path(folder, name)
                node = numbers[str(path)] = tree.new()
                tree.names[numbers[folder], name] = node
                if path.is_symlink():
                    tree.links[node] = os.readlink(path)
                elif path.is_file():
                    tree.files[node] = path.read_bytes()
                    tree.times[node], tree.modes[node] = path.stat().st_mtime_ns, stat.S_IMODE(path.stat().st_mode)
    return tree


def _is_elsewhere(path: str) -> bool:
    return path.partition("/")[2].startswith(_ELSEWHERE) or path.endswith(".lock")


class OperationLog:
    """Writes down what this process does in some folders, beside doing it."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self.tree = tree_of(roots)
        self.done: list[Operation] = []
        self._groups = self._group = 0

    def install(self) -> None:
        """Watch this process until it ends."""
        for name in _CALLS:
            setattr(os, name, getattr(self, f"_{name}")(getattr(os, name)))
        wait = subprocess.Popen.wait

        def waited(process: Any, *arguments: Any, **named: Any) -> int:
            code = wait(process, *arguments, **named)
            self.take_in()
            return code

        subprocess.Popen.wait = waited  # type: ignore[assignment, method-assign]

    def take_in(self) -> None:
        """Write down what others (git, io.open) did meanwhile: they sync by themselves."""
        theirs, paths = tree_of(self._roots), self.tree.paths()
        found = {path: node for path, node in theirs.paths().items() if not _is_elsewhere(path)}
        self._groups = self._group = self._groups + 1
        for path in sorted(paths.keys() - found.keys(), reverse=True):
            if not _is_elsewhere(path):
                self._names("theirs", (path, None), durable=True)
        for path, node in sorted(found.items()):
            ours = paths.get(path)
            if ours is None:
                ours = self.tree.new()
                self._names("theirs", (path, ours), durable=True)
            self._same(path, ours, theirs, node)
        self._group = 0

    def _same(self, path: str, ours: int, theirs: Tree, node: int) -> None:
        """Let a file or a link of ours be what it is now."""
        self.tree.links.update({ours: theirs.links[node]} if node in theirs.links else {})
        self.tree.modes.update({ours: theirs.modes[node]} if node in theirs.files else {})
        if node in theirs.files and self.tree.files.get(ours) != theirs.files[node]:
            self._add(Operation(DATA, ours, 0, None, words=path))
            self._add(Operation(DATA, ours, 0, theirs.files[node], words=path))
            self._add(Operation(SYNC, ours))

    def _add(self, one: Operation) -> None:
        self.done.append(replace(one, group=self._group))
        self.tree.take(one)

    def _inside(self, path: Any, dir_fd: int | None = None) -> str:
        """Return the path in the tree; empty for one that is in none of the folders, or of no interest."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        text = os.fsdecode(path)
        if dir_fd is not None and not text.startswith("/"):
            text = f"{os.readlink(f'/proc/self/fd/{dir_fd}')}/{text}"
        text = os.path.abspath(text)
        for root, start in self._roots.items():
            if text == str(start) or text.startswith(f"{start}/"):
                below = (root + text[len(str(start)) :]).rstrip("/")
                return "" if _is_elsewhere(below) else below
        return ""

    def _entry(self, path: str) -> Entry:
        folder, _, name = path.rpartition("/")
        return self._node(folder), name

    def _node(self, path: str) -> int:
        node = 0
        for name in path.split("/") if path else ():
            node = self.tree.names[node, name]
        return node

    def _names(self, words: str, *changes: tuple[str, int | None], durable: bool = False) -> None:
        names = tuple((self._entry(path), node) for path, node in changes)
        self._add(Operation(NAME, names=names, words=f"{words} {changes[-1][0]}"))
        if durable:
            self._add(Operation(SYNC, names[-1][0][0]))

    def _write_at(self, path: str, offset: int, data: bytes) -> None:
        if data:
            self._add(Operation(DATA, self._node(path), offset, data, words=f"write {path}"))

    def _open(self, real: Any) -> Any:
        def call(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            below = self._inside(path, dir_fd)
            there = below in self.tree.paths()
            fd: int = real(path, flags, mode, dir_fd=dir_fd)
            if below and flags & os.O_CREAT and not there:
                node = self.tree.new()
                self.tree.files[node] = b""
                self._names("make", (below, node))
            elif below and flags & os.O_TRUNC:
                self._add(Operation(DATA, self._node(below), 0, None, words=f"empty {below}"))
            return fd

        return call

    def _write(self, real: Any) -> Any:
        def call(fd: int, data: Any) -> int:
            below = self._of_file(fd)
            count: int = real(fd, data)
            if below:
                end = os.lseek(fd, 0, os.SEEK_CUR)  # with O_APPEND, too, it stands behind what was written
                self._write_at(below, end - count, bytes(memoryview(data).cast("B")[:count]))
            return count

        return call

    def _of_file(self, fd: int) -> str:
        below = self._inside(fd)
        return below if below in self.tree.paths() else ""

    def _pwrite(self, real: Any) -> Any:
        def call(fd: int, data: Any, offset: int) -> int:
            count: int = real(fd, data, offset)
            if below := self._of_file(fd):
                self._write_at(below, offset, bytes(data[:count]))
            return count

        return call

    def _ftruncate(self, real: Any) -> Any:
        def call(fd: int, length: int) -> None:
            real(fd, length)
            if below := self._of_file(fd):
                self._add(Operation(DATA, self._node(below), length, None, words=f"cut {below}"))

        return call

    def _fsync(self, real: Any) -> Any:
        def call(fd: int) -> None:
            real(fd)
            if below := self._of_file(fd):
                self._see(fd, below)
                self._add(Operation(SYNC, self._node(below), words=f"sync {below}"))

        return call

    _fdatasync = _fsync

    def _see(self, fd: int, below: str) -> None:
        """Write down what came into a file by a file object, or in the kernel from another one."""
        known = self.tree.files.get(self._node(below))
        if known is not None and (now := Path(f"/proc/self/fd/{fd}").read_bytes()) != known:
            self._write_at(below, 0, now)

    def _mkdir(self, real: Any) -> Any:
        def call(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
            real(path, mode, dir_fd=dir_fd)
            if below := self._inside(path, dir_fd):
                self._names("mkdir", (below, self.tree.new()))

        return call

    def _unlink(self, real: Any) -> Any:
        def call(path: Any, *, dir_fd: int | None = None) -> None:
            below = self._inside(path, dir_fd)
            real(path, dir_fd=dir_fd)
            if below:
                self._names("remove", (below, None))

        return call

    _rmdir = _remove = _unlink

    def _rename(self, real: Any) -> Any:
        def call(source: Any, target: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
            old, new = self._inside(source, src_dir_fd), self._inside(target, dst_dir_fd)
            real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            if old and new:
                self._names("rename", (old, None), (new, self._node(old)))
            elif old or new:
                self.take_in()

        return call

    _replace = _rename

    def _link(self, real: Any) -> Any:
        def call(source: Any, target: Any, **named: Any) -> None:
            real(source, target, **named)
            if new := self._inside(target, named.get("dst_dir_fd")):
                self._names("link", (new, self._node(self._inside(source, named.get("src_dir_fd")))))

        return call

    def _symlink(self, real: Any) -> Any:
        def call(source: Any, target: Any, *arguments: Any, dir_fd: int | None = None) -> None:
            real(source, target, *arguments, dir_fd=dir_fd)
            if new := self._inside(target, dir_fd):
                node = self.tree.new()
                self.tree.links[node] = os.fsdecode(source)
                self._names("symlink", (new, node))

        return call


@dataclass(frozen=True)
class Cut:
    """A power cut before the operation of this number, and which of those before it are on the disk."""

    at: int
    words: str
    kept: frozenset[int]
    torn: int = -1  # the write of which only the first half is there
    blank: int = -1  # the write whose bytes are zeros, as the file had grown and its blocks were not written


class PowerCuts:
    """The operations of an act, and what a cut may leave of them."""

    def __init__(self, before: Tree, done: list[Operation], after: Tree) -> None:
        self.before, self.done = before, done
        before.links.update(after.links)
        before.modes.update(after.modes)
        before.files.update({node: b"" for node in after.files if node not in before.files})

    def left_by(self, cut: Cut) -> Tree:
        """Return the folder as it is after this cut."""
        tree = self.before.copy()
        for number in sorted(cut.kept):
            tree.take(self._as_left(cut, number))
        return tree

    def _as_left(self, cut: Cut, number: int) -> Operation:
        one = self.done[number]
        if one.data is None or number not in (cut.torn, cut.blank):
            return one
        data = one.data[: len(one.data) // 2] if number == cut.torn else bytes(len(one.data))
        return Operation(DATA, one.node, one.offset, data)

    def cuts(self) -> Iterator[Cut]:
        """Yield each cut that leaves the operations in another state than those before."""
        seen: set[tuple[bool, frozenset[int], int, int]] = set()
        for at in self._moments():
            for cut in self._cuts_at(at):
                key = at == len(self.done), cut.kept, cut.torn, cut.blank  # behind the last it was acknowledged
                if key not in seen:
                    seen.add(key)
                    yield cut

    def _moments(self) -> list[int]:
        """Return the numbers of operations before which the power may be cut: not amid those of another program."""
        groups = [0, *(one.group for one in self.done), 0]
        return [at for at in range(len(self.done) + 1) if not groups[at] or groups[at] != groups[at + 1]]

    def _cuts_at(self, at: int) -> Iterator[Cut]:
        every = frozenset(number for number in range(at) if self.done[number].kind != SYNC)
        loose = frozenset(number for number in every if not self._is_safe(number, at))
        safe = every - loose
        yield Cut(at, "what was synced", safe)
        yield Cut(at, "all", every)
        yield Cut(at, "names without data", safe | self._only(NAME, loose))
        yield Cut(at, "data without names", safe | self._only(DATA, loose))
        for number in sorted(loose):
            yield Cut(at, f"all without {self.done[number].words}", every - {number})
            yield Cut(at, f"what was synced and {self.done[number].words}", safe | {number})
        if written := self._only(DATA, loose):
            last = max(written)
            yield Cut(at, f"torn {self.done[last].words}", every, torn=last)
            yield Cut(at, f"blank {self.done[last].words}", every, blank=last)

    def _only(self, kind: str, numbers: Set[int]) -> frozenset[int]:
        return frozenset(number for number in numbers if self.done[number].kind == kind)

    def _is_safe(self, number: int, at: int) -> bool:
        one = self.done[number]
        node = one.node if one.kind == DATA else one.names[-1][0][0]
        return any(later.kind == SYNC and later.node == node for later in self.done[number:at])


def power_cuts(roots: Roots, act: Act) -> PowerCuts:
    """Carry `act` out in a child process and return what cuts may leave of these folders. Raise Failed."""
    before = tree_of(roots)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _record(roots, act, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read()
    if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise Failed(f"exit code {status}")
    return PowerCuts(before, *pickle.loads(told))  # noqa: S301 - of our own child


def _record(roots: Roots, act: Callable[[], object], pipe: int) -> None:
    status = 1
    try:
        repeat_random_names()
        log = OperationLog(roots)
        write = os.write
        log.install()
        act()
        log.take_in()
        data = memoryview(pickle.dumps((log.done, log.tree)))
        while data:
            data = data[write(pipe, data) :]
        status = 0
    finally:
        os._exit(status)
