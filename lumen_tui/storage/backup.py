"""A backup of a state folder in one file, taken while everything runs: an archive with a manifest, encrypted by age.

The archive is written beside its place and takes it when it is whole, so that a kill leaves what was there before.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import msgspec

from lumen_tui import __version__
from lumen_tui.model import times
from lumen_tui.model.backups import FILES, MANIFEST, BackedUpFile, BackupManifest
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.freezing import AFTERWARDS, FrozenState, frozen
from lumen_tui.storage.layout import Layout

if TYPE_CHECKING:
    from _typeshed import SupportsRead

_LEVEL = 3  # of gzip: a third of the time of the usual 9, and hardly larger
_LAST_WRITTEN = ("collected.json", "exit.json", "result.md")  # of a task: what is copied first was there with the rest


def write_backup(layout: Layout, path: str, recipients: Sequence[str], now: float) -> BackupManifest:
    """Write the state folder to the file `path`, which gets its name when all is there, and return its manifest.

    With `recipients` only these can read it. Raise StoreError with nothing left behind.
    """
    if recipients and shutil.which("age") is None:
        raise files.StoreError("a backup for a recipient needs age, which is not installed: apt install age")
    written: list[BackupManifest] = []

    def write(fd: int) -> None:
        with (
            frozen(layout) as state,
            _encrypted(fd, recipients) as stream,
            gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=_LEVEL, mtime=0) as packed,
        ):
            written.append(_archive(layout, state, packed, now))

    files.take_place(files.write_sibling(path, write), path)
    return written[0]


class _Writer:
    """Writes to an open file, however short the single writes are."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, data: bytes, /) -> int:
        files.write_all(self._fd, data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is held back."""


@contextmanager
def _encrypted(fd: int, recipients: Sequence[str]) -> Iterator[IO[bytes] | _Writer]:
    """Give a stream to the file `fd`; what is written to it is encrypted where there are recipients. StoreError."""
    if not recipients:
        yield _Writer(fd)
        return
    words = [word for recipient in recipients for word in ("--recipient", recipient)]
    reading, writing = os.pipe()
    age = subprocess.Popen(["age", "--encrypt", *words], stdin=reading, stdout=fd, stderr=subprocess.PIPE)
    os.close(reading)
    try:
        with open(writing, "wb") as stream:
            yield stream
    except BrokenPipeError:
        pass  # it ended first, and says why
    finally:
        problem = age.communicate()[1].decode(errors="replace")
    if age.returncode:
        raise files.StoreError(f"age did not encrypt the backup: {one_line(problem, 300)}")


def _archive(layout: Layout, state: FrozenState, output: gzip.GzipFile, now: float) -> BackupManifest:
    """Write all files and then the manifest."""
    with tarfile.open(fileobj=output, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        packer = _Packer(archive, str(layout.root), state)
        packer.add_all()
        listed = tuple(packer.listed[path] for path in sorted(packer.listed))
        manifest = BackupManifest(
            at=times.iso(now),
            program=__version__,
            root=str(layout.root),
            files=listed,
            skipped=tuple(sorted(state.skipped)),
            held_ms=round(state.seconds * 1000, 3),
        )
        data = msgspec.json.encode(manifest)
        _add(archive, MANIFEST, len(data), io.BytesIO(data))
    return manifest


class _Packer:
    """Adds files to an archive, and remembers each by its path."""

    def __init__(self, archive: tarfile.TarFile, root: str, state: FrozenState) -> None:
        self._archive, self._root, self._state = archive, root, state
        self.listed: dict[str, BackedUpFile] = {}

    def add_all(self) -> None:
        """Add what was frozen, then what is copied afterwards; a task that was archived meanwhile counts there."""
        state = self._state
        for path, data in state.contents.items():
            self._add(path, len(data), io.BytesIO(data), path in state.executable)
        for path, (fd, size) in state.journals.items():
            self._add(path, size, _FromStart(fd), False)
        for path in state.afterwards:
            self._copy(path)
        for task in state.tasks:
            self._copy_below(f"tasks/{task}")
        for area in ("tasks/archive", *(area for area in AFTERWARDS if area != "tasks")):
            self._copy_below(area)
        self._drop_moved()

    def _drop_moved(self) -> None:
        archived = {parts[-2] for path in self.listed if (parts := path.split("/"))[:2] == ["tasks", "archive"]}
        for path in [path for path in self.listed if path.startswith("tasks/") and path.split("/")[1] in archived]:
            del self.listed[path]

    def _copy_below(self, area: str) -> None:
        for folder, _, names in os.walk(os.path.join(self._root, area)):
            for name in sorted(names, key=lambda name: (name not in _LAST_WRITTEN, name)):
                if not (name.startswith(".") and name.endswith(".tmp")):
                    self._copy(os.path.relpath(os.path.join(folder, name), self._root))

    def _copy(self, path: str) -> None:
        try:
            fd = files.open_plain(os.path.join(self._root, path))
        except (FileNotFoundError, NotADirectoryError):
            return  # it was moved or replaced by nothing meanwhile
        except (files.StoreError, OSError):
            self._state.skipped.append(path)
            return
        try:
            status = os.fstat(fd)
            self._add(path, status.st_size, _FromStart(fd), bool(status.st_mode & stat.S_IXUSR))
        finally:
            os.close(fd)

    def _add(self, path: str, size: int, source: SupportsRead[bytes], executable: bool) -> None:
        reader = _Hashing(source)
        _add(self._archive, FILES + path, size, reader)
        self.listed[path] = BackedUpFile(path, size, reader.sha256.hexdigest(), executable)


def _add(archive: tarfile.TarFile, name: str, size: int, source: SupportsRead[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    archive.addfile(member, source)


class _FromStart:
    """Reads an open file from its start without moving its place."""

    def __init__(self, fd: int) -> None:
        self._fd, self._place = fd, 0

    def read(self, size: int = tarfile.RECORDSIZE, /) -> bytes:
        data = os.pread(self._fd, size, self._place)
        self._place += len(data)
        return data


class _Hashing:
    """Reads from another reader and hashes what it gave."""

    def __init__(self, source: SupportsRead[bytes]) -> None:
        self._source, self.sha256 = source, hashlib.sha256()

    def read(self, size: int = tarfile.RECORDSIZE, /) -> bytes:
        data = self._source.read(size)
        self.sha256.update(data)
        return data
