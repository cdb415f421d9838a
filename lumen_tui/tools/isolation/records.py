"""Where a task works that works apart, and the content of the files that it changed, by their hashes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from lumen_tui.model.changelist import FileSide
from lumen_tui.model.digests import openssl_sha256
from lumen_tui.model.isolation import RECORD, Isolation
from lumen_tui.storage import directories, files
from lumen_tui.store.tasks.change_records import FOLDER, Unreadable, read_record
from lumen_tui.tools.files import opening

_CHUNK = 1024 * 1024


def read_isolation(folder: Path) -> Isolation | None:
    """Return where the task in `folder` works; None where it works in the operator's files, or nothing is known."""
    return read_record(folder / RECORD, Isolation)


def write_isolation(folder: Path, isolation: Isolation) -> None:
    """Write where the task works."""
    files.replace(folder / RECORD, msgspec.json.encode(isolation))


def content_path(folder: Path, side: FileSide) -> Path:
    """Return where the content of a side is kept."""
    if len(side.sha256) != 64 or not set(side.sha256) <= set("0123456789abcdef"):
        raise Unreadable("a hash in the change list is none")
    return folder / FOLDER / side.sha256


def content(folder: Path, side: FileSide | None) -> bytes:
    """Return the content of a side, empty for none. Raise Unreadable where it is gone or not what it was."""
    if side is None:
        return b""
    data = files.read(content_path(folder, side), side.size + 1)
    if data is None or openssl_sha256(data).hexdigest() != side.sha256:
        raise Unreadable(f"the content kept as {side.sha256[:12]} is {'gone' if data is None else 'damaged'}")
    return data


def must_be_whole(folder: Path, side: FileSide | None) -> None:
    """Raise Unreadable where the content that is kept for a side is gone or not what it was."""
    if side is not None:
        content = side_of(os.path.realpath(content_path(folder, side)))
        if content is None or content.sha256 != side.sha256:
            raise Unreadable(f"the content kept as {side.sha256[:12]} is {'gone' if content is None else 'damaged'}")


def keep(folder: Path, path: str) -> FileSide | None:
    """Keep the file or link at the real path `path`; return its side, None where there is none.

    OSError for anything else, and where there is no room.
    """
    side, fd = _opened(path)
    if side is None or fd < 0:
        if side is not None:
            _keep_bytes(folder, side, os.fsencode(os.readlink(path)))
        return side
    with os.fdopen(fd, "rb") as stream:
        directories.make_folder(folder / FOLDER)
        digest, size = openssl_sha256(), 0

        def write(out: int) -> None:
            nonlocal size
            while part := stream.read(_CHUNK):
                digest.update(part)
                size += len(part)
                files.write_all(out, part)

        temporary = files.write_sibling(folder / FOLDER / "content", write)
        stored = msgspec.structs.replace(side, sha256=digest.hexdigest(), size=size)
        files.take_place(temporary, content_path(folder, stored))
    return stored


def current(path: str, side: FileSide) -> bytes:
    """Return the content of the file at the real path `path`. Unreadable where it is not that side any more."""
    with os.fdopen(opening.file(path), "rb") as stream:
        data = stream.read(side.size + 1)
    if openssl_sha256(data).hexdigest() != side.sha256:
        raise Unreadable("it is changing right now: try again in a moment")
    return data


def side_of_bytes(data: bytes, *, mode: int) -> FileSide:
    """Return the side of a file with this content."""
    return FileSide(openssl_sha256(data).hexdigest(), len(data), mode)


def keep_bytes(folder: Path, data: bytes, *, mode: int) -> FileSide:
    """Keep this content of a file; return its side."""
    side = side_of_bytes(data, mode=mode)
    _keep_bytes(folder, side, data)
    return side


def _keep_bytes(folder: Path, side: FileSide, data: bytes) -> None:
    directories.make_folder(folder / FOLDER)
    path = content_path(folder, side)
    if not path.exists():
        files.replace(path, data)


def side_of(path: str) -> FileSide | None:
    """Return the side of what is at the real path `path` now; None where there is nothing. OSError for a folder."""
    side, fd = _opened(path)
    if side is None or fd < 0:
        return side
    digest, size = openssl_sha256(), 0
    with os.fdopen(fd, "rb") as stream:
        while part := stream.read(_CHUNK):
            digest.update(part)
            size += len(part)
    return msgspec.structs.replace(side, sha256=digest.hexdigest(), size=size)


def _opened(path: str) -> tuple[FileSide | None, int]:
    """Return the side of a link, or a side without a hash and a descriptor of the file; None where there is neither."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None, -1
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(path))
        return FileSide(openssl_sha256(target).hexdigest(), len(target), 0o777, link=True), -1
    if not stat.S_ISREG(status.st_mode):
        raise IsADirectoryError(21, "it is neither a file nor a link")
    fd = opening.file(path)
    mode = stat.S_IMODE(os.fstat(fd).st_mode) & 0o777
    return FileSide("", 0, mode), fd
