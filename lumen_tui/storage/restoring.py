"""A backup put back: unpacked beside the state folder, compared with its manifest, and only then put in its place.

The two folders change places in one step of the kernel, so that there is always a whole one; the earlier state stays
under a name of its own.
"""

from __future__ import annotations

import ctypes
import fcntl
import gzip
import hashlib
import os
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from lumen_tui.model.backups import FILES, MANIFEST, BackedUpFile, BackupManifest, is_inside
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.storage import chain_check, directories, files, locks, seals
from lumen_tui.storage.layout import Layout

_AGE = (b"age-encryption.org/", b"-----BEGIN AGE")
_GZIP = b"\x1f\x8b"
_BLOCK = 1024 * 1024
_MOST_MANIFEST = 1024 * 1024 * 1024  # bytes
_CWD, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE


class BadBackup(files.StoreError):
    """The file is no whole backup; nothing was changed."""


def check_backup(path: str, identity: str = "") -> BackupManifest:
    """Read a whole backup and return its manifest. Raise BadBackup, StoreError."""
    return _read(path, identity, lambda _, source: _drain(source))


def restore(root: Path, path: str, identity: str, stamp: str) -> tuple[BackupManifest, str]:
    """Put a backup in the place of the state folder; return its manifest and where the earlier state is, if any.

    `identity` is a file with the key of an encrypted one. Whoever calls holds the lock of the engine of an existing
    folder. Raise BadBackup, StoreError.
    """
    with _staging(root) as staging:
        manifest = _read(path, identity, lambda name, source: _unpack(staging, name, source))
        _settle(staging, manifest)
        chain_check.note_restore(staging, manifest.at, seals.head(root).head)
        os.sync()
        return manifest, _put_in_place(staging, root, f"{root}.before-{stamp}")


@contextmanager
def _staging(root: Path) -> Iterator[Path]:
    """Make an empty folder beside the state folder that is ours alone; one that a kill left is emptied."""
    staging = root.with_name(f".{root.name}.restoring")
    directories.make_folder(staging)
    fd = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise files.StoreError(f"another restore is at work in {staging}") from error
        _empty(staging)
        yield staging
    finally:
        if os.path.isdir(staging):
            directories.discard_tree(staging)
        os.close(fd)


def _empty(folder: Path) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            directories.discard_tree(entry.path)
        else:
            files.discard(entry.path)


@contextmanager
def _opened(path: str, identity: str) -> Iterator[IO[bytes]]:
    """Open the archive in the file, decrypted where it is encrypted."""
    try:
        with open(path, "rb") as source:
            begin = source.read(len(_AGE[0]))
            source.seek(0)
            if begin.startswith(_GZIP):
                yield source
            elif begin.startswith(_AGE):
                with _decrypted(path, identity) as plain:
                    yield plain
            else:
                raise BadBackup(f"{path} is no backup of lumen-tui")
    except OSError as error:
        raise BadBackup(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def _decrypted(path: str, identity: str) -> Iterator[IO[bytes]]:
    if not identity:
        raise BadBackup(f"{path} is encrypted: name the file with the key of its recipient with --identity")
    if shutil.which("age") is None:
        raise BadBackup(f"{path} is encrypted, and the program age is not installed: apt install age")
    words = ["age", "--decrypt", "--identity", identity, "--", path]
    reading, writing = os.pipe()
    age = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    damage: BadBackup | None = None
    try:
        with open(reading, "rb") as plain:
            yield plain
    except BadBackup as error:
        damage = error  # age may know better why
    problem = age.communicate()[1].decode(errors="replace")
    if age.returncode > 0:
        raise BadBackup(f"age did not decrypt {path}: {one_line(problem, 300)}") from damage
    if damage is not None:
        raise damage


Take = Callable[[str, IO[bytes]], BackedUpFile]


def _read(path: str, identity: str, take: Take) -> BackupManifest:
    """Hand each file of the archive to `take` and compare what it returns with the manifest at the end."""
    taken: dict[str, BackedUpFile] = {}
    manifest = b""
    with _opened(path, identity) as source:
        try:
            with gzip.GzipFile(fileobj=source) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
                for member in archive:
                    content = archive.extractfile(member)
                    if content is None or not member.isreg() or manifest:
                        raise BadBackup(f"{path} holds {one_line(member.name, 80)}, which no backup has")
                    if member.name == MANIFEST:
                        manifest = content.read(_MOST_MANIFEST)
                    else:
                        name = _inside(member.name)
                        taken[name] = take(name, content)
                while plain.read(_BLOCK):  # to the check sum at its end
                    pass
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadBackup(f"{path} is damaged or cut off: {error}; nothing was changed") from error
    return _compared(path, manifest, taken)


def _inside(member: str) -> str:
    name = member.removeprefix(FILES)
    if not member.startswith(FILES) or not is_inside(name):
        raise BadBackup(f"the backup holds {one_line(member, 80)}, which would leave the state folder")
    return name


def _compared(path: str, data: bytes, taken: dict[str, BackedUpFile]) -> BackupManifest:
    """Return the manifest where every file that it lists is there as it says."""
    if not data:
        raise BadBackup(f"{path} is cut off: it has no manifest; nothing was changed")
    try:
        manifest = msgspec.json.decode(data, type=BackupManifest)
    except UNDECODABLE as error:
        raise BadBackup(f"{path} has a manifest that cannot be read: {error}") from error
    if manifest.schema > BackupManifest.__struct_defaults__[-1]:
        raise BadBackup(f"{path} was written by lumen-tui {manifest.program}: restore it with that version")
    for file in manifest.files:
        real = taken.get(file.path)
        if real is None or (real.size, real.sha256) != (file.size, file.sha256):
            raise BadBackup(f"{path}: {one_line(file.path, 120)} is not what was backed up; nothing was changed")
    return manifest


def _drain(source: IO[bytes], fd: int = -1) -> BackedUpFile:
    """Read a file to its end, into `fd` where there is one, and return its size and hash."""
    size, sha256 = 0, hashlib.sha256()
    while block := source.read(_BLOCK):
        size += len(block)
        sha256.update(block)
        if fd >= 0:
            files.write_all(fd, block)
    return BackedUpFile("", size, sha256.hexdigest())


def _unpack(staging: Path, name: str, source: IO[bytes]) -> BackedUpFile:
    target = staging / name
    _make_folder(target.parent)
    taken: list[BackedUpFile] = []
    temporary = files.write_sibling(target, lambda fd: taken.append(_drain(source, fd)), durable=False)
    files.take_place(temporary, target, durable=False)
    return taken[0]


def _make_folder(path: Path) -> None:
    """Make a private folder with its parents; all of them are synced at the end, at once."""
    if not path.is_dir():
        _make_folder(path.parent)
        os.mkdir(path, 0o700)


def _settle(staging: Path, manifest: BackupManifest) -> None:
    """Remove what the manifest does not list, set modes, make the folders that hold nothing."""
    listed = {file.path for file in manifest.files}
    for folder, _, names in os.walk(staging):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, staging) not in listed:
                files.discard(path)
    for file in manifest.files:
        if file.executable:
            os.chmod(staging / file.path, 0o700)
    Layout(staging).create()


def _put_in_place(staging: Path, root: Path, before: str) -> str:
    """Let the whole new folder take its place; return where the earlier one is, empty where there was none."""
    if not root.exists():
        directories.move(staging, root)
        return ""
    directories.move(staging, before)
    if not _exchange(before, str(root)):
        directories.move(root, f"{before}.earlier")
        directories.move(before, root)
        directories.move(f"{before}.earlier", before)
    files.sync_folder(root.parent)
    return before


def _exchange(first: str, second: str) -> bool:
    """Let two folders change places in one step; return False where the file system cannot."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    return renameat2 is not None and not renameat2(_CWD, first.encode(), _CWD, second.encode(), _EXCHANGE)


@contextmanager
def nobody_at_work(layout: Layout) -> Iterator[None]:
    """Hold the lock of the engine while the folder is replaced. StoreError where an engine or a worker is at work."""
    held = locks.try_lock(layout.engine_lock) if layout.root.is_dir() else -1
    if held is None:
        raise files.StoreError(f"an engine drives {layout.root}: `lumen-tui stop` ends it; nothing was changed")
    try:
        for lock in sorted(layout.tasks.glob("*/run.lock")):
            if locks.is_locked(lock):
                raise files.StoreError(f"task {lock.parent.name} is at work: let it end, or `lumen-tui kill` ends it")
        yield
    finally:
        if held >= 0:
            os.close(held)
