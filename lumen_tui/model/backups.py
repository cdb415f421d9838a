"""What a backup says of itself: one record of each file, by which a restore tells whether it is whole."""

from __future__ import annotations

from msgspec import Struct

MANIFEST = "manifest.json"  # the last member of the archive: one that was cut off has none
FILES = "state/"  # before the names of files in the archive


class BackedUpFile(Struct, frozen=True):
    """One file: its path below the state folder, its bytes and their SHA-256, and whether its owner may run it."""

    path: str
    size: int
    sha256: str
    executable: bool = False


class BackupManifest(Struct, frozen=True):
    """All of a backup. `skipped` are paths that are no plain files of the owner, or could not be read."""

    at: str
    program: str  # the version that wrote it
    root: str
    files: tuple[BackedUpFile, ...]
    skipped: tuple[str, ...] = ()
    held_ms: float = 0.0  # how long writers of shared journals waited
    schema: int = 1

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)


def is_inside(path: str) -> bool:
    """Return whether a path of a manifest stays below the folder that it is put into."""
    parts = path.split("/")
    return bool(path) and "\0" not in path and not any(part in ("", ".", "..") for part in parts)
