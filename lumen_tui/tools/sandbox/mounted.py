"""Whether bubblewrap mounted what it was told to.

It goes by names, several times over, and another command may swap folders and links below them meanwhile: then it would
mount a folder that nobody granted, or the right one in another place. So it waits once all is mounted, and what the
kernel says of it (`mountinfo` of proc(5)) is compared with what was meant, before the command begins.
"""

from __future__ import annotations

import os
import select
import time

from msgspec import Struct

from lumen_tui.tools.files.below import is_below, is_below_any

READY = "/dev/.lumen"  # mounted last, in a folder that is the command's own
_CLOSED = ("--remount-ro", "/dev")  # or it would be memory without a limit
_SECONDS, _LOOK = 20.0, 0.001


class Mount(Struct, frozen=True):
    """One mount: of which device, which folder or file of it, and how."""

    device: str
    root: str
    read_only: bool


def with_barrier(arguments: list[str], release_fd: int) -> list[str]:
    """The words, and that it waits behind the last mount until there is something to read in `held`."""
    return [*arguments, "--ro-bind", "/dev/null", READY, *_CLOSED, "--block-fd", str(release_fd)]


def check(arguments: list[str], pid: int, end_fd: int) -> str:
    """Why the first process inside, `pid`, must not go on, or empty. `ended` can be read once it has ended."""
    actual = _all(pid, end_fd)
    if actual is None:
        return ""  # it did not get that far, and says itself why
    own = _read("self")
    mismatches = [
        target for kind, source, target in _orders(arguments) if not _stands(kind, source, target, own, actual)
    ]
    return f"{mismatches[0]} was changed while its walls were put up: try again" if mismatches else ""


def _orders(arguments: list[str]) -> list[tuple[str, str, str]]:
    """What is mounted where others may write, in order."""
    mounts = []
    for at, word in enumerate(arguments):
        if word in ("--bind", "--ro-bind"):
            mounts.append((word, arguments[at + 1], arguments[at + 2]))
        elif word == "--tmpfs":
            mounts.append((word, "", arguments[at + 1]))
    writable = [target for kind, source, target in mounts if kind == "--bind" and source == target]
    last = {mount[2]: mount for mount in mounts}  # lies over the others
    return [mount for mount in last.values() if is_below_any(mount[2], writable)]


def _stands(kind: str, source: str, target: str, own: dict[str, Mount], actual: dict[str, Mount]) -> bool:
    mount = actual.get(target)
    if mount is None:
        return False
    if source != target:
        return (mount.device, mount.root) != _meant(target, own)
    return (mount.device, mount.root) == _meant(target, own) and (kind == "--bind" or mount.read_only)


def _meant(path: str, own: dict[str, Mount]) -> tuple[str, str]:
    """The device and the place on it of a real path."""
    point = max((point for point in own if is_below(path, point)), key=len)
    mount = own[point]
    relative = os.path.relpath(path, point)
    return mount.device, mount.root if relative == os.curdir else os.path.join(mount.root, relative)


def _all(pid: int, end_fd: int) -> dict[str, Mount] | None:
    """The mounts of a process once the last one is there; None where it ends before."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        try:
            mounts = _read(str(pid))
        except OSError:
            return None
        if READY in mounts:
            return mounts
        if select.select([end_fd], [], [], _LOOK)[0]:
            return None
    raise TimeoutError(f"its walls were not up after {_SECONDS:.0f} s")


def _read(pid: str) -> dict[str, Mount]:
    """Mounts by where they are; of several in one place the last, which lies over the others."""
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        rows = [line.split(" ") for line in table]
    return {_plain(row[4]): Mount(row[2], _plain(row[3]), "ro" in row[5].split(",")) for row in rows}


def _plain(text: str) -> str:
    """proc(5) writes blanks and backslashes in octal."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
