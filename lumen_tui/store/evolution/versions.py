"""Versions of evolved/: listed in versions.jsonl, stored in git or as copies, restored byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from lumen_tui.model.digests import sha256
from lumen_tui.model.evolution import TARGETS, Metrics, Version
from lumen_tui.storage import directories, files, journal
from lumen_tui.storage.git import Git, GitFailed
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import evolved

_BRANCH = "refs/heads/main"
Texts = Mapping[str, bytes]  # target -> content; a file that is not there is left out


class GitVersions:
    """Stores versions by git's plumbing commands, so that no index, hook, attribute or setting of a user takes part."""

    def __init__(self, layout: Layout) -> None:
        self._folder = layout.versions_git

    @staticmethod
    def works(layout: Layout) -> bool:
        """Return whether git is installed."""
        import shutil  # only where a version is made

        return shutil.which("git") is not None

    def _git(self, *words: str, data: bytes = b"") -> bytes:
        return Git(str(self._folder.parent)).at(GIT_DIR=str(self._folder))(*words, data=data)

    def store(self, number: int, texts: Mapping[str, bytes], reason: str) -> None:
        """Store these files as one commit with a tag."""
        if not (self._folder / "HEAD").exists():
            directories.make_folder(self._folder)
            self._git("init", "-q", "--bare", "--template=")
        tree = self._tree(texts)
        parent = self._parent()
        message = f"version {number}: {reason}\n".encode()
        commit = self._git("commit-tree", tree, *(("-p", parent) if parent else ()), data=message).decode().strip()
        self._git("update-ref", _BRANCH, commit)
        self._git("update-ref", f"refs/tags/v{number}", commit)

    def _parent(self) -> str:
        """Return the commit of the version before; empty for the first one."""
        try:
            return self._git("rev-parse", "-q", "--verify", _BRANCH).decode().strip()
        except GitFailed:
            return ""

    def _tree(self, texts: Mapping[str, bytes]) -> str:
        """Write the blobs and their trees, one for each folder; return the hash of the root."""
        folders: dict[str, list[str]] = {"": []}
        for target, data in texts.items():
            folder, _, name = target.rpartition("/")
            blob = self._git("hash-object", "-w", "--stdin", "--no-filters", data=data).decode().strip()
            folders.setdefault(folder, []).append(f"100644 blob {blob}\t{name}\n")
        for folder in sorted(folders, reverse=True):
            if folder:
                tree_hash = self._git("mktree", data="".join(folders[folder]).encode()).decode().strip()
                folders[""].append(f"040000 tree {tree_hash}\t{folder}\n")
        return self._git("mktree", data="".join(folders[""]).encode()).decode().strip()

    def read(self, number: int, target: str) -> bytes | None:
        """Return one file of a version; None where it is not stored."""
        if not (self._folder / "HEAD").exists():
            return None
        try:
            return self._git("cat-file", "blob", f"refs/tags/v{number}:{target}")
        except GitFailed:
            return None


class DamagedVersion(Exception):
    """The stored files of a version are gone or do not match their hashes."""


class VersionStorage(Protocol):
    """Where the files of versions are stored."""

    def store(self, number: int, texts: Texts, reason: str) -> None:
        """Store these files under a number, durably; the same number again replaces them."""

    def read(self, number: int, target: str) -> bytes | None:
        """Return one file of a version; None where it is not stored."""


class CopiedVersions:
    """A folder for each version: versions/<n>/."""

    def __init__(self, layout: Layout) -> None:
        self._folder = layout.versions

    def store(self, number: int, texts: Texts, reason: str) -> None:
        for target, data in texts.items():
            path = self._folder / str(number) / target
            directories.make_folder(path.parent)
            files.replace(path, data)

    def read(self, number: int, target: str) -> bytes | None:
        return files.read(self._folder / str(number) / target)


def storage_of(layout: Layout, kind: str) -> VersionStorage:
    """Return the storage of a kind, `git` or `copies`."""
    return GitVersions(layout) if kind == "git" else CopiedVersions(layout)


def digest_of(texts: Texts) -> str:
    """Return one hash of all files."""
    lines = [f"{target} {sha256(texts[target])}" for target in sorted(texts)]
    return sha256("\n".join(lines).encode())


def on_disk(layout: Layout) -> dict[str, bytes]:
    """Return the current files."""
    contents_by_target = {target: files.read(evolved.path_of(layout, target)) for target in TARGETS}
    return {target: data for target, data in contents_by_target.items() if data is not None}


def listed(layout: Layout) -> list[Version]:
    """Return every version, oldest first. Of a number that was written twice, the last line is the valid one."""
    by_number: dict[int, Version] = {}
    for version in Journal(layout.versions_log).records(Version):
        by_number[version.version] = version
    return [by_number[number] for number in sorted(by_number)]


def record(layout: Layout, texts: Texts, metrics: Metrics, *, by: str, reason: str, at: str, kind: str) -> Version:
    """Record the files as a new version: first the files, then the line that counts. Call it under the lock."""
    known = listed(layout)
    number = known[-1].version + 1 if known else 1
    chosen = kind if kind != "auto" else "git" if GitVersions.works(layout) else "copies"
    try:
        storage_of(layout, chosen).store(number, texts, reason)
    except OSError:
        if kind == "git":
            raise
        chosen = "copies"
        storage_of(layout, chosen).store(number, texts, reason)
    hashes = {target: sha256(data) for target, data in texts.items()}
    version = Version(number, at, by, reason, digest_of(texts), hashes, metrics, chosen)
    files.append(layout.versions_log, journal.encode(version))
    files.replace(layout.version, msgspec.json.format(msgspec.json.encode(version), indent=1))
    return version


def contents(layout: Layout, version: Version) -> dict[str, bytes]:
    """Return the files of a version, each checked against its hash. DamagedVersion where that fails."""
    checked = {}
    for target, expected_hash in version.files.items():
        data = storage_of(layout, version.kept).read(version.version, target)
        if data is None or sha256(data) != expected_hash:
            raise DamagedVersion(
                f"version {version.version}: {target} is {'gone' if data is None else 'not what was kept'}"
            )
        checked[target] = data
    return checked


def put(layout: Layout, texts: Texts) -> None:
    """Write exactly these files to evolved/."""
    for target in TARGETS:
        path = evolved.path_of(layout, target)
        data = texts.get(target)
        if data is None:
            directories.remove(path)
        elif files.read(path) != data:
            directories.make_folder(path.parent)
            files.replace(path, data)
