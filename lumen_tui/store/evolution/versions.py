"""Versions of evolved/: listed in versions.jsonl, stored in git or as copies, restored byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Protocol

import msgspec

from lumen_tui.model.evolution import TARGETS
from lumen_tui.storage import directories, files, journal
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import evolved
from lumen_tui.store.evolution.version_git import GitVersions

Texts = Mapping[str, bytes]  # target -> content; a file that is not there is left out


class Metrics(msgspec.Struct, frozen=True):
    """Figures from when the version was made."""

    entries: int = 0
    observations: int = 0
    waiting: int = 0
    rejected: int = 0
    sessions: int = 0
    bytes: int = 0


class Version(msgspec.Struct, frozen=True):
    """One line of versions.jsonl; the last one is also in version.json."""

    version: int
    at: str
    by: str
    why: str
    digest: str
    files: dict[str, str]  # target -> sha256
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    kept: str = "copies"  # git | copies
    schema: int = 1


class DamagedVersion(Exception):
    """The stored files of a version are gone or do not match their hashes."""


class VersionStorage(Protocol):
    """Where the files of versions are stored."""

    def store(self, number: int, texts: Texts, why: str) -> None:
        """Store these files under a number, durably; the same number again replaces them."""

    def read(self, number: int, target: str) -> bytes | None:
        """Return one file of a version; None where it is not stored."""


class CopiedVersions:
    """A folder for each version: versions/<n>/."""

    def __init__(self, layout: Layout) -> None:
        self._folder = layout.versions

    def store(self, number: int, texts: Texts, why: str) -> None:
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
    lines = [f"{target} {hashlib.sha256(texts[target]).hexdigest()}" for target in sorted(texts)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


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


def record(layout: Layout, texts: Texts, metrics: Metrics, *, by: str, why: str, at: str, kind: str) -> Version:
    """Record the files as a new version: first the files, then the line that counts. Call it under the lock."""
    known = listed(layout)
    number = known[-1].version + 1 if known else 1
    chosen = kind if kind != "auto" else "git" if GitVersions.works(layout) else "copies"
    try:
        storage_of(layout, chosen).store(number, texts, why)
    except OSError:
        if kind == "git":
            raise
        chosen = "copies"
        storage_of(layout, chosen).store(number, texts, why)
    hashes = {target: hashlib.sha256(data).hexdigest() for target, data in texts.items()}
    version = Version(number, at, by, why, digest_of(texts), hashes, metrics, chosen)
    files.append(layout.versions_log, journal.encode(version))
    files.replace(layout.version, msgspec.json.format(msgspec.json.encode(version), indent=1))
    return version


def contents(layout: Layout, version: Version) -> dict[str, bytes]:
    """Return the files of a version, each checked against its hash. DamagedVersion where that fails."""
    checked = {}
    for target, expected_hash in version.files.items():
        data = storage_of(layout, version.kept).read(version.version, target)
        if data is None or hashlib.sha256(data).hexdigest() != expected_hash:
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
