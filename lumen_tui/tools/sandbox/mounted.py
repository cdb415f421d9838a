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


def with_barrier(words: list[str], held: int) -> list[str]:
    """The words, and that it waits behind the last mount until there is something to read in `held`."""
    return [*words, "--ro-bind", "/dev/null", READY, *_CLOSED, "--block-fd", str(held)]


def check(words: list[str], pid: int, ended: int) -> str:
    """Why the first process inside, `pid`, must not go on, or empty. `ended` can be read once it has ended."""
    there = _all(pid, ended)
    if there is None:
        return ""  # it did not get that far, and says itself why
    here = _read("self")
    wrong = [target for kind, source, target in _orders(words) if not _stands(kind, source, target, here, there)]
    return f"{wrong[0]} was changed while its walls were put up: try again" if wrong else ""


def _orders(words: list[str]) -> list[tuple[str, str, str]]:
    """What is mounted where others may write, in order."""
    found = []
    for number, word in enumerate(words):
        if word in ("--bind", "--ro-bind"):
            found.append((word, words[number + 1], words[number + 2]))
        elif word == "--tmpfs":
            found.append((word, "", words[number + 1]))
    open_ones = [target for kind, source, target in found if kind == "--bind" and source == target]
    last = {one[2]: one for one in found}  # lies over the others
    return [one for one in last.values() if is_below_any(one[2], open_ones)]


def _stands(kind: str, source: str, target: str, here: dict[str, Mount], there: dict[str, Mount]) -> bool:
    found = there.get(target)
    if found is None:
        return False
    if source != target:
        return (found.device, found.root) != _meant(target, here)
    return (found.device, found.root) == _meant(target, here) and (kind == "--bind" or found.read_only)


def _meant(path: str, here: dict[str, Mount]) -> tuple[str, str]:
    """The device and the place on it of a real path."""
    point = max((point for point in here if is_below(path, point)), key=len)
    mount = here[point]
    rest = os.path.relpath(path, point)
    return mount.device, mount.root if rest == os.curdir else os.path.join(mount.root, rest)


def _all(pid: int, ended: int) -> dict[str, Mount] | None:
    """The mounts of a process once the last one is there; None where it ends before."""
    ends = time.monotonic() + _SECONDS
    while time.monotonic() < ends:
        try:
            found = _read(str(pid))
        except OSError:
            return None
        if READY in found:
            return found
        if select.select([ended], [], [], _LOOK)[0]:
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
