"""Copies of folders that are no repository: bounded, of files and links alone, without what no worker reads."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from lumen_tui.model.changelist import FileSide
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.digests import openssl_sha256
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files
from lumen_tui.tools.base import size_text
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.opening import is_below_any
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.tools.sandbox.secrets import is_env_file

MOST_FILES = 50_000
MOST_BYTES = 500 * 1024 * 1024
MANIFEST = "copied.json"  # in the task's folder
_CHUNK = 1024 * 1024
Manifest = dict[str, FileSide]  # path below the top, as `os.fsdecode` has it and JSON can -> what was copied


class _Count:
    """How much was found, and what was left out."""

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0
        self.left_out: dict[str, int] = {}

    def leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


def make(
    top: str, tree: Path, hidden: tuple[str, ...], check: Callable[[], None]
) -> tuple[dict[str, FileSide], tuple[str, ...]]:
    """Copy what is below `top` into the empty folder `tree`; return what was copied, and notes on what was not.

    Raise Unfit where it is too much, before anything is copied. `check` is called now and then, and may raise.
    """
    count = _Count()
    entries = [(path, status) for path, status in _walk(top, hidden, count, check)]
    manifest: dict[str, FileSide] = {}
    for number, (path, status) in enumerate(entries):
        if number % 100 == 0:
            check()
        name = os.path.relpath(path, top)
        target = tree / name
        if stat.S_ISDIR(status.st_mode):
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            continue
        try:
            manifest[name] = _copy(path, str(target), status)
        except FileNotFoundError:
            continue  # removed while we looked
        except PermissionError:
            count.leave_out("that cannot be read")
    return manifest, tuple(f"{number:,} {reason} not in the copy." for reason, number in _named(count.left_out))


def _named(left_out: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for reason, number in sorted(left_out.items()):
        yield f"entr{'y' if number == 1 else 'ies'} {reason} {'is' if number == 1 else 'are'}", number


def _walk(
    top: str, hidden: tuple[str, ...], count: _Count, check: Callable[[], None]
) -> Iterator[tuple[str, os.stat_result]]:
    pending = [top]
    while pending:
        check()
        place = pending.pop()
        try:
            with opening.folder(place) as fd, os.scandir(fd) as entries:
                names = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        except PermissionError:
            count.leave_out("that cannot be read")
            continue
        except FileNotFoundError:
            continue
        for name, status in names:
            path = os.path.join(place, name)
            if _is_wanted(path, name, status, hidden, count):
                _add(count, top, status)
                yield path, status
                if stat.S_ISDIR(status.st_mode):
                    pending.append(path)


def _is_wanted(path: str, name: str, status: os.stat_result, hidden: tuple[str, ...], count: _Count) -> bool:
    if is_below_any(path, hidden) or is_env_file(name):
        count.leave_out("with keys or private data")
    elif name == ".git":
        count.leave_out("of git (.git)")
    elif not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        count.leave_out("that are no files (pipes, sockets, devices)")
    else:
        return True
    return False


def _add(count: _Count, top: str, status: os.stat_result) -> None:
    count.files += 1
    count.bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
    if count.files > MOST_FILES or count.bytes > MOST_BYTES:
        raise Unfit(
            f"{one_line(top, 200)} is too large for a copy: {MOST_FILES:,} files and {size_text(MOST_BYTES)} at most. "
            "Make it a git repository with a commit, or give a smaller folder"
        )


def _copy(path: str, target: str, status: os.stat_result) -> FileSide:
    if stat.S_ISLNK(status.st_mode):
        link = os.readlink(path)
        os.symlink(link, target)
        return FileSide(openssl_sha256(os.fsencode(link)).hexdigest(), len(os.fsencode(link)), 0o777, link=True)
    digest, size, mode = openssl_sha256(), 0, stat.S_IMODE(status.st_mode) & 0o777
    source = opening.file(path)
    with os.fdopen(source, "rb") as stream, open(target, "xb") as out:
        while part := stream.read(_CHUNK):
            digest.update(part)
            size += len(part)
            out.write(part)
        os.fchmod(out.fileno(), mode | stat.S_IRUSR | stat.S_IWUSR)
    return FileSide(digest.hexdigest(), size, mode)


def write_manifest(folder: Path, manifest: Mapping[str, FileSide]) -> None:
    """Write what was copied; names that are no text are written with their odd bytes escaped."""
    files.replace(folder / MANIFEST, msgspec.json.encode({escaped(name): side for name, side in manifest.items()}))


def read_manifest(folder: Path) -> dict[str, FileSide]:
    """Return what was copied. OSError where that is damaged or gone."""
    try:
        data = files.read(folder / MANIFEST, 256 * 1024 * 1024)
        return {unescaped(name): side for name, side in msgspec.json.decode(data or b"", type=Manifest).items()}
    except UNDECODABLE as error:
        raise OSError(f"{folder.name}/{MANIFEST} cannot be read: {error}") from error


def escaped(name: str) -> str:
    """Return a file name as JSON can hold it: bytes that are no text become %XX, and so does the percent sign."""
    data = os.fsencode(name).replace(b"%", b"%25")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in data)


def unescaped(text: str) -> str:
    """Return the file name that `escaped` wrote."""
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(text))


def present(tree: Path) -> Iterator[str]:
    """Yield the paths, below a copy, of its files and links."""
    pending = [""]
    while pending:
        place = pending.pop()
        with os.scandir(tree / place) as entries:
            for entry in entries:
                name = os.path.join(place, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        pending.append(name)
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    yield name


def discard(folder: Path) -> None:
    """Forget what was copied."""
    directories.remove(folder / MANIFEST)
