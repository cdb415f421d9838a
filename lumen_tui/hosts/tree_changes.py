"""What a worker on a host changed in its folder: told there as it changes, and put into the task's folder here.

Each change is a line of a journal that comes home like any other; put in once more it changes nothing. What comes from
a host is put nowhere but below that folder, through no link, and never into `.git`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lumen_tui.hosts.tree_packing import MOST_FILE, checked_name, names, read_entry
from lumen_tui.model import frames
from lumen_tui.model.changelist import FileChange, FileSide
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.frames import TreeFile
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.stamped import stamp
from lumen_tui.store.tasks.task_records import has_worker
from lumen_tui.tools.files import opening
from lumen_tui.tools.isolation import copies, living, placing, pool, records
from lumen_tui.tools.isolation.placing import Unplaceable

_PIECE = 256 * 1024  # bytes of a file in one line
_EVERY = 1.0  # seconds between two looks through the folder
_PART = ".tree.part"
_entry = msgspec.json.Decoder(TreeFile).decode


class BadTree(Exception):
    """A host told of what no worker may change; the text says what."""


class TreeWatch:
    """On the host: follows the folder of one attempt."""

    def __init__(self, folder: Path, attempt: int) -> None:
        """Go on from what was told of it. OSError, StoreError."""
        self._folder, self._tree = folder, folder / living.TREE
        self._looked = (0.0, 0)  # when the folder was looked through, and how long the events were then
        self._journal = Journal(folder / frames.tree_journal(attempt), files.MAX_READ_LINE)
        self._known = copies.read_manifest(folder) if (folder / copies.MANIFEST).exists() else {}
        self._stamps: dict[str, tuple[int, ...]] = {}
        for entry in self._journal.records(TreeFile):
            self._remember(entry)

    def follow(self) -> None:
        """Look where the attempt ends, or its worker has done something since the last look, a while ago."""
        now, size = time.monotonic(), stamp(self._folder / "events.jsonl")[1]
        ends = any((self._folder / name).exists() for name in frames.ENDS) or not has_worker(self._folder)
        if ends or (size != self._looked[1] and now - self._looked[0] >= _EVERY):
            self.look()
            self._looked = now, size

    def look(self) -> None:
        """Tell what was changed since the last look. StoreError, OSError."""
        if not self._tree.is_dir():
            return
        present = names(self._tree)
        for name in self._known.keys() - set(present):
            self._tell(TreeFile(os.fsencode(name)))  # first: a folder may be in the place of a file now
        for name in present:
            now = _stamp(self._tree / name)
            if now == self._stamps.get(name):
                continue
            entry = read_entry(self._tree, name)
            if entry is not None and not _side(entry).same(self._known.get(name)):
                self._tell(entry)
            self._stamps[name] = now

    def _tell(self, entry: TreeFile) -> None:
        pieces = [entry.data[at : at + _PIECE] for at in range(0, len(entry.data), _PIECE)] or [b""]
        lines = [msgspec.structs.replace(entry, data=data, offset=at * _PIECE) for at, data in enumerate(pieces)]
        self._journal.append_all(lines)
        self._remember(lines[-1])

    def _remember(self, entry: TreeFile) -> None:
        """Know what is told of a file once all of it is."""
        name = os.fsdecode(entry.name)
        if not entry.sha256:
            self._known.pop(name, None)
            self._stamps.pop(name, None)
        elif entry.offset + len(entry.data) >= entry.size or entry.size > MOST_FILE:
            self._known[name] = _side(entry)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what differs once a file is written, replaced, or has another mode; zeros without one."""
    try:
        status = os.lstat(path)
    except OSError:
        return (0,)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode


def _side(entry: TreeFile) -> FileSide:
    return FileSide(entry.sha256, entry.size, entry.mode & 0o777, entry.link)


class TreeReturn:
    """Here: puts what a host told of the folder of one attempt into the task's."""

    def __init__(self, folder: Path, attempt: int, host: str) -> None:
        self._folder, self._host = folder, host
        self._follower = Follower(folder / frames.tree_journal(attempt))
        self._links: set[str] = set()  # names that are links now, as far as this was told
        self._size = 0  # bytes of the file that is coming, in `.tree.part`

    def take(self) -> None:
        """Put in what is new. BadTree, StoreError, OSError: another one begins anew."""
        if not self._follower.changed():
            return
        isolation = records.read_isolation(self._folder)
        if isolation is not None and isolation.state != "ready":
            return  # it was told before: the folder has been looked through, and given back
        directories.make_folder(self._folder / living.TREE)
        for entry in self._new():
            try:
                self._put(entry)
            except (Unplaceable, NotADirectoryError, IsADirectoryError) as error:
                raise BadTree(f"host {self._host} sent {_shown(entry)}: {error}") from error

    def _new(self) -> Iterator[TreeFile]:
        for offset, data in self._follower.pieces():
            for _, line in split_lines(data, offset):
                try:
                    yield _entry(line)
                except UNDECODABLE:
                    continue  # torn by a kill: it was told once more

    def _put(self, entry: TreeFile) -> None:
        name = checked_name(entry)
        if link := next((place for place in _above(name) if place in self._links), ""):
            raise Unplaceable(f"{one_line(copies.escaped(link), 80)} on the way to it is a link")
        if entry.size > MOST_FILE:
            raise Unplaceable(f"it is larger than {MOST_FILE // 1024**2} MiB")
        self._links.discard(name)
        top = os.path.realpath(self._folder / living.TREE)
        if not entry.sha256:
            if not _is_blocked(top, name):
                placing.put(os.path.join(top, name), None, "")
            return
        part = self._folder / _PART
        if not self._is_whole(entry, part):
            return
        side = records.side_of(os.path.realpath(part))
        if side is None or side.sha256 != entry.sha256:
            raise Unplaceable("it is not what its hash says")
        if entry.link:
            self._links.add(name)
            target = os.fsdecode(files.read(part) or b"")
            os.unlink(part)
            os.symlink(target, part)
        else:
            os.chmod(part, entry.mode & 0o777 | 0o600)
        _make_way(top, name)
        _move_in(part, placing.target_of(top, FileChange(name)))

    def _is_whole(self, entry: TreeFile, part: Path) -> bool:
        """Keep a piece of a file; return whether it was the last one. Unplaceable where one before is missing."""
        if entry.offset == 0:
            directories.remove(part)  # a link, where a kill came before it was put in its place
            files.replace(part, entry.data)
            self._size = len(entry.data)
        elif entry.offset != self._size:
            raise Unplaceable(f"a piece from byte {entry.offset} came behind {self._size} bytes")
        else:
            with files.locked_log(part) as fd:
                files.write_all(fd, entry.data)
            self._size += len(entry.data)
        return self._size >= entry.size


def _above(name: str) -> Iterator[str]:
    """Yield the folders on the way to a name, the outermost first."""
    parts = name.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _is_blocked(top: str, name: str) -> bool:
    """Return whether something on the way to a name is no folder, or the name is one: then the file is not there."""
    real = [os.path.join(top, place) for place in _above(name)]
    own = os.path.join(top, name)
    is_folder = os.path.isdir(own) and not os.path.islink(own)
    return is_folder or any(os.path.islink(place) or not os.path.isdir(place) for place in real)


def _make_way(top: str, name: str) -> None:
    """Remove what is in the place of a file or of a folder above it: of a later state, where this is told again."""
    for place in (os.path.join(top, above) for above in _above(name)):
        if os.path.islink(place) or os.path.isfile(place):
            os.unlink(place)
    own = os.path.join(top, name)
    if os.path.isdir(own) and not os.path.islink(own):
        pool.remove_tree(Path(own))


def _move_in(part: Path, target: str) -> None:
    """Put a file that is whole in its place. It is made beside the folder, where a kill leaves nothing that counts."""
    folder, name = os.path.split(target)
    with opening.folder(folder, make=True) as fd:
        os.replace(part, name, dst_dir_fd=fd)
        os.fsync(fd)


def _shown(entry: TreeFile) -> str:
    return one_line(copies.escaped(os.fsdecode(entry.name)), 120)
