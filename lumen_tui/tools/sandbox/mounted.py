"""Verifies that bubblewrap mounted what it was asked to, before the command begins.

bubblewrap resolves paths several times, and another command may swap folders and links meanwhile: it could mount a
folder that nobody granted, or the right one in another place. So it blocks once everything is mounted, and the kernel's
list of mounts (`mountinfo` of proc(5)) is compared with the request.
"""

from __future__ import annotations

import os
import select
import time

from msgspec import Struct

from lumen_tui.tools.files.below import is_below, is_below_any

READY = "/dev/.lumen"  # mounted last, in a private folder of the command
_CLOSED = ("--remount-ro", "/dev")  # otherwise it would be memory without a limit
_TIMEOUT = 20.0  # seconds
_POLL = 0.001


class Mount(Struct, frozen=True):
    """One mount: the device, the folder or file of it, and whether it is read-only."""

    device: str
    root: str
    read_only: bool


def with_barrier(arguments: list[str], block_fd: int) -> list[str]:
    """Return the arguments of bwrap, extended to wait after the last mount until `block_fd` can be read."""
    return [*arguments, "--ro-bind", "/dev/null", READY, *_CLOSED, "--block-fd", str(block_fd)]


def check(arguments: list[str], pid: int, end_fd: int) -> str:
    """Return why the first process inside, `pid`, must not continue, or empty.

    `end_fd` becomes readable once that process has ended.
    """
    actual = _mounts_when_ready(pid, end_fd)
    if actual is None:
        return ""  # it ended earlier and gives the reason itself
    own = _read_mounts("self")
    mismatches = [
        target
        for kind, source, target in _requested(arguments)
        if not _is_as_requested(kind, source, target, own, actual)
    ]
    return f"{mismatches[0]} was changed while its sandbox was set up: try again" if mismatches else ""


def _requested(arguments: list[str]) -> list[tuple[str, str, str]]:
    """Return the requested mounts (option, source, target) below writable folders, in order."""
    mounts = []
    for at, word in enumerate(arguments):
        if word in ("--bind", "--ro-bind"):
            mounts.append((word, arguments[at + 1], arguments[at + 2]))
        elif word == "--tmpfs":
            mounts.append((word, "", arguments[at + 1]))
    writable = [target for kind, source, target in mounts if kind == "--bind" and source == target]
    last = {mount[2]: mount for mount in mounts}  # covers the earlier ones
    return [mount for mount in last.values() if is_below_any(mount[2], writable)]


def _is_as_requested(kind: str, source: str, target: str, own: dict[str, Mount], actual: dict[str, Mount]) -> bool:
    mount = actual.get(target)
    if mount is None:
        return False
    if source != target:
        return (mount.device, mount.root) != _source_of(target, own)
    return (mount.device, mount.root) == _source_of(target, own) and (kind == "--bind" or mount.read_only)


def _source_of(path: str, own: dict[str, Mount]) -> tuple[str, str]:
    """Return the device of a real path and its path on that device."""
    point = max((point for point in own if is_below(path, point)), key=len)
    mount = own[point]
    relative = os.path.relpath(path, point)
    return mount.device, mount.root if relative == os.curdir else os.path.join(mount.root, relative)


def _mounts_when_ready(pid: int, end_fd: int) -> dict[str, Mount] | None:
    """Return the mounts of a process once the last one is there; None where it ends before."""
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        try:
            mounts = _read_mounts(str(pid))
        except OSError:
            return None
        if READY in mounts:
            return mounts
        if select.select([end_fd], [], [], _POLL)[0]:
            return None
    raise TimeoutError(f"its sandbox was not set up after {_TIMEOUT:.0f} s")


def _read_mounts(pid: str) -> dict[str, Mount]:
    """Return the mounts by mount point; of several at one point the last, which covers the others."""
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        rows = [line.split(" ") for line in table]
    return {_unescape(row[4]): Mount(row[2], _unescape(row[3]), "ro" in row[5].split(",")) for row in rows}


def _unescape(text: str) -> str:
    """Decode the octal escapes of proc(5) for blanks and backslashes."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
