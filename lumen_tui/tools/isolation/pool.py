"""Worktrees of one repository of the operator: made, kept clean for the next task, and thrown away.

trees/<key>/git is a bare repository of ours, which borrows the operator's objects and has none of their configuration.
Its worktrees are the folders `files` of tasks, or wait in trees/<key>/kept. So nothing is ever written into the
operator's repository: no branch, no worktree and no lock of ours can be left behind there, whatever is killed when.

A slot is a worktree's part of that repository (its index, its HEAD). One task has it, or it is kept; `sweep` removes
what is neither. The lock is held while slots change hands, never while files are checked out.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.git import Git, GitFailed, make_bare
from lumen_tui.storage.layout import Layout
from lumen_tui.tools.isolation.base import Base

MOST_KEPT = 4  # idle worktrees of one repository
_CHECKOUT_SECONDS = 3600.0  # a worker is stopped by its own limits, long before
SECONDS = 300.0
_STATUS = (
    "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all",
)  # fmt: skip


class SlotRecord(Struct, frozen=True, omit_defaults=True):
    """trees/<key>/git/worktrees/<slot>/lumen.json: what is checked out."""

    commit: str
    pointers: int = 0  # files that Git LFS would replace
    clean: bool = False  # seen so when it was put into kept/, where no task can write


class Pool:
    """The worktrees of one repository."""

    def __init__(self, layout: Layout, key: str, *, path: str = "") -> None:
        self.folder = layout.trees / ids.check_name(key, "pool")
        self.kept = self.folder / "kept"
        self.trash = self.folder / "trash"
        self._git = self.folder / "git"
        self._path = path

    def lock(self) -> locks.waiting_lock:
        """Return the lock that is held while slots change hands."""
        return locks.waiting_lock(self.folder / "pool.lock")

    def prepare(self, base: Base) -> None:
        """Make the private repository if it is not there, and have it borrow the operator's objects."""
        for folder in (self.folder, self.kept, self.trash):
            directories.make_folder(folder)
        if not (self._git / "HEAD").exists():
            repository = self.trash / ids.new_id("git")
            make_bare(Git(str(self.folder), path=self._path), str(repository), base.object_format)
            os.makedirs(repository / "worktrees", mode=0o700)
            os.makedirs(repository / "info", mode=0o700, exist_ok=True)
            with self.lock():
                if not (self._git / "HEAD").exists():
                    os.rename(repository, self._git)
        self._write("objects/info/alternates", _quoted(os.path.join(base.common, "objects")) + b"\n")
        self._write("config", _config(base))
        self._write("info/exclude", base.excludes)
        self._write("shallow", base.shallow)

    def _write(self, name: str, data: bytes) -> None:
        path = self._git / name
        if files.read(path) == (data or None):
            return
        if data:
            files.replace(path, data)
        else:
            directories.remove(path)

    def slot(self, name: str) -> Path:
        """Return the folder of a slot."""
        return self._git / "worktrees" / ids.check_name(name, "slot")

    def choose(self) -> str:
        """Return a kept slot, else the name of a new one. Call it under the lock."""
        idle = [path for path in self.kept.iterdir() if self.slot(path.name).is_dir()]
        newest = max(idle, key=lambda path: path.stat().st_mtime, default=None)
        return newest.name if newest else ids.new_id("tree")

    def git(self, slot: str, tree: Path) -> Git:
        """Return git on a worktree, wherever that lies, whatever is in its `.git`."""
        return Git(str(tree), path=self._path).at(GIT_DIR=str(self.slot(slot)), GIT_WORK_TREE=str(tree))

    def hand_over(self, slot: str, tree: Path) -> bool:
        """Move a kept worktree to `tree`; return whether there was one. Call it under the lock."""
        worktree = self.kept / slot
        if not worktree.is_dir():
            return False
        if tree.is_dir():
            os.rmdir(tree)  # empty: nothing has begun there
        os.rename(worktree, tree)
        return True

    def check_out(self, slot: str, tree: Path, commit: str, branch: str) -> SlotRecord:
        """Make `tree` hold `commit` and nothing else, on a branch of this name. GitFailed where that cannot be."""
        place = self.slot(slot)
        os.makedirs(place, mode=0o700, exist_ok=True)
        _remove_locks(place)
        _write_plain(place / "commondir", "../..\n")
        _write_plain(place / "gitdir", f"{tree}/.git\n")
        git = self.git(slot, tree)
        record = self._record(slot)
        self._name_branch(place, branch, commit)
        if record is None or record.commit != commit or not (record.clean or is_clean(git)):
            record = self._renew(slot, git, commit)
        elif record.clean:
            self._note(slot, structs.replace(record, clean=False))
        self._link(tree, place)
        return record

    def _record(self, slot: str) -> SlotRecord | None:
        try:
            return msgspec.json.decode(files.read(self.slot(slot) / "lumen.json") or b"", type=SlotRecord)
        except UNDECODABLE:
            return None

    def _renew(self, slot: str, git: Git, commit: str) -> SlotRecord:
        record = self.slot(slot) / "lumen.json"
        directories.remove(record)
        git("read-tree", "--reset", "-u", commit, seconds=_CHECKOUT_SECONDS)
        git("clean", "-ffdxq", seconds=SECONDS)
        git("update-index", "-q", "--refresh", seconds=SECONDS)
        if not is_clean(git):
            raise GitFailed("its files are not as they were committed: they may have changed on the way")
        slot_record = SlotRecord(commit, _pointers(git))
        self._note(slot, slot_record)
        return slot_record

    def _note(self, slot: str, record: SlotRecord) -> None:
        files.replace(self.slot(slot) / "lumen.json", msgspec.json.encode(record))

    def _name_branch(self, place: Path, branch: str, commit: str) -> None:
        ref = self._git / "refs" / "heads" / branch
        os.makedirs(ref.parent, mode=0o700, exist_ok=True)
        _write_plain(ref, f"{commit}\n")
        _write_plain(place / "HEAD", f"ref: refs/heads/{branch}\n")

    def _link(self, tree: Path, place: Path) -> None:
        """Have git find its part from within the worktree, whatever an earlier task made of that file."""
        link = tree / ".git"
        if link.is_dir() and not link.is_symlink():
            remove_tree(link)
        elif os.path.lexists(link):
            os.unlink(link)
        _write_plain(link, f"gitdir: {place}\n")

    def give_back(self, slot: str, tree: Path, branch: str) -> None:
        """Clean a worktree and keep it for the next task, or throw it away where it cannot be cleaned."""
        if not tree.is_dir():
            self.forget(slot, branch)
            return
        record = self._record(slot)
        git = self.git(slot, tree)
        try:
            if record is None:
                raise GitFailed("it was never whole")
            _write_plain(self.slot(slot) / "HEAD", f"{record.commit}\n")
            _remove_locks(self.slot(slot))
            git("read-tree", "--reset", "-u", record.commit, seconds=_CHECKOUT_SECONDS)
            git("clean", "-ffdxq", seconds=SECONDS)
            git("update-index", "-q", "--refresh", seconds=SECONDS)
            clean = is_clean(git)
        except (GitFailed, OSError):
            clean = False
        self._drop_branch(branch)
        with self.lock():
            room = len(os.listdir(self.kept)) < MOST_KEPT
            if clean and room and record is not None:
                self._link(tree, self.slot(slot))
                os.rename(tree, self.kept / slot)
                self._note(slot, structs.replace(record, clean=True))
                return
        self.throw_away(tree)
        self.forget(slot, branch)

    def _drop_branch(self, branch: str) -> None:
        files.discard(str(self._git / "refs" / "heads" / branch))

    def throw_away(self, tree: Path) -> None:
        """Remove a folder with all that is in it; a killed removal goes on at the next start."""
        directories.make_folder(self.trash)
        target = self.trash / ids.new_id("tree")
        try:
            os.rename(tree, target)
        except FileNotFoundError:
            return
        remove_tree(target)

    def forget(self, slot: str, branch: str = "") -> None:
        """Remove a slot whose worktree is gone."""
        if branch:
            self._drop_branch(branch)
        remove_tree(self.slot(slot))

    def sweep(self, used: Collection[str], branches: Collection[str]) -> None:
        """Remove what belongs to no task of `used` slots and is not kept whole: after a start, nothing else does."""
        if not (self._git / "HEAD").exists():
            remove_tree(self.folder)
            return
        with self.lock():
            slots = {path.name for path in (self._git / "worktrees").iterdir()}
            idle = {path.name for path in self.kept.iterdir()}
            for name in (idle - slots) | (idle & set(used)):
                if name not in used:
                    os.rename(self.kept / name, self.trash / ids.new_id("tree"))
            gone = slots - idle - set(used)
        for name in gone:
            self.forget(name)
        for path in self.trash.iterdir():
            remove_tree(path)
        heads = self._git / "refs" / "heads" / "lumen"
        for path in heads.iterdir() if heads.is_dir() else ():
            if f"lumen/{path.name}" not in branches:
                files.discard(str(path))


def is_clean(git: Git) -> bool:
    """Return whether a worktree holds what was checked out and nothing else, ignored files included."""
    return not git(*_STATUS, "--ignored=matching", seconds=SECONDS)


def changed_paths(git: Git) -> list[bytes]:
    """Return the paths that differ from what was checked out; a repository inside ends with a slash."""
    listed = git(*_STATUS, seconds=SECONDS).split(b"\0")
    return [line[3:] for line in listed if line]


def _pointers(git: Git) -> int:
    """Return how many files Git LFS would replace, whose filter is not run."""
    return git("ls-files", "-z", "--", ":(attr:filter=lfs)", seconds=SECONDS).count(b"\0")


def _config(base: Base) -> bytes:
    sha256 = base.object_format != "sha1"
    lines = ["[core]", f"\trepositoryformatversion = {1 if sha256 else 0}", "\tbare = true"]
    lines += [f"\t{setting.partition('.')[2].replace('=', ' = ')}" for setting in base.settings]
    if sha256:
        lines += ["[extensions]", f"\tobjectFormat = {base.object_format}"]
    return ("\n".join(lines) + "\n").encode()


def _quoted(path: str) -> bytes:
    """Return a path as `objects/info/alternates` has it where it could be misread."""
    data = os.fsencode(path)
    if not data.startswith((b'"', b"#")) and b"\n" not in data:
        return data
    return b'"' + data.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _write_plain(path: Path, text: str) -> None:
    """Write a small file of the private repository, which is made again where it is damaged."""
    path.write_bytes(os.fsencode(text))


def _remove_locks(place: Path) -> None:
    """Remove locks of a git that was killed: the slot is this task's alone."""
    for path in place.glob("*.lock"):
        files.discard(str(path))


def remove_tree(path: Path) -> None:
    """Remove a folder with all that is in it, also folders that a task has closed."""

    def open_up(function: object, name: str, problem: object) -> None:
        for place in (os.path.dirname(name), name):
            if os.path.isdir(place) and not os.path.islink(place):
                os.chmod(place, stat.S_IRWXU)
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name, ignore_errors=True)
        else:
            files.discard(name)

    shutil.rmtree(path, onerror=open_up)
