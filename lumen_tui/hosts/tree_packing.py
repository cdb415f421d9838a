"""The folder of a task that works apart, as it goes to a host: files and links, their modes, and nothing of git.

It is made here as for a worker of this machine, and what the host sends of it comes back into it. So what was changed
is told, shown and accepted in the one way that there is, and the operator's folder is written by nobody else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model.changelist import FileChange
from lumen_tui.model.frames import TreeFile
from lumen_tui.model.isolation import Isolation, mode_of
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import load_role
from lumen_tui.tools.files import opening
from lumen_tui.tools.isolation import copies, living, records
from lumen_tui.tools.isolation.placing import Unplaceable, name_of
from lumen_tui.tools.sandbox import secrets
from lumen_tui.tools.sandbox.secrets import is_env_file

MOST_FILE = 64 * 1024 * 1024  # bytes of one file
MOST_FILES = 20_000


class TreeTooLarge(Exception):
    """A folder has more in it than goes to a host; the text says what."""


class TreePack(Struct, frozen=True):
    """A task's folder as it goes out; `top` is the operator's folder and `below` the task's own in it.

    Without a `top` it stands for no folder of the operator's: it holds what the task itself has made.
    """

    top: str
    below: str
    files: tuple[TreeFile, ...]


def take(layout: Layout, spec: Spec, environ: Mapping[str, str]) -> Isolation | None:
    """Return where a task that changes files works, which is made where it is not yet; None for any other task.

    A task on a host never changes files in place: who changes files and is told of no way to work apart has a worktree,
    or a copy. Unfit, OSError, and what reading its role raises.
    """
    role, config = load_role(layout, spec.role), load_config(layout)[0]
    mode = mode_of(spec, role, config.workers.isolate) or ("worktree" if role.changes_files and spec.folder else "")
    if not mode or not spec.folder:
        return None
    hidden = tuple(secrets.existing(environ.get("HOME", ""), config.sandbox.hidden))
    path = environ.get("PATH", os.defpath)
    return living.take(
        living.IsolationRequest(layout, layout.task(spec.id), mode, spec.folder, hidden, path), lambda: None
    )


def packed(folder: Path, isolation: Isolation | None, most: int) -> bytes:
    """Return the folder of the task in `folder`, of `most` bytes. TreeTooLarge, OSError."""
    top, below = (isolation.top, isolation.below) if isolation else ("", "")
    entries: list[TreeFile] = []
    total = 0
    for entry in _entries(folder / living.TREE):
        entries.append(entry)
        total += len(entry.data)
        if total > most or len(entries) > MOST_FILES:
            raise TreeTooLarge(
                f"{one_line(top or folder.name, 200)} is too large for a host: {MOST_FILES:,} files and "
                f"{most // 1024**2} MiB at most"
            )
    return msgspec.msgpack.encode(TreePack(top, below, tuple(entries)))


def _entries(tree: Path) -> Iterator[TreeFile]:
    """Yield the files and links of a folder, without those that hold keys."""
    for name in names(tree):
        if not is_env_file(os.path.basename(name)) and (entry := read_entry(tree, name)):
            yield entry


def names(tree: Path) -> list[str]:
    """Return the paths, below a folder, of the files and links in it that are no part of git. OSError."""
    return sorted(name for name in copies.present(tree) if _may_go(name))


def _may_go(name: str) -> bool:
    try:
        checked_name(TreeFile(os.fsencode(name)))
    except Unplaceable:
        return False
    return True


def read_entry(tree: Path, name: str) -> TreeFile | None:
    """Return one file or link of a folder; without its content where that is too large, None where it is gone."""
    path = os.path.join(os.path.realpath(tree), name)
    try:
        side = records.side_of(path)
    except IsADirectoryError:
        return None
    if side is None:
        return None
    known = TreeFile(os.fsencode(name), side.mode, side.link, side.sha256, side.size)
    if side.link:
        return msgspec.structs.replace(known, data=os.fsencode(os.readlink(path)))
    if side.size > MOST_FILE:
        return known
    with os.fdopen(opening.file(path), "rb") as stream:
        data = stream.read(side.size + 1)
    now = records.side_of_bytes(data, mode=side.mode)  # of what was read, if it is being written right now
    return msgspec.structs.replace(known, sha256=now.sha256, size=now.size, data=data)


def unpack(data: bytes, folder: Path) -> None:
    """Lay the folder of a task out in `folder`, which is new, with what a worker finds a folder of its own by.

    Unplaceable for a name that leads out of it, OSError, msgspec.DecodeError.
    """
    pack = msgspec.msgpack.decode(data, type=TreePack)
    tree = folder / living.TREE
    manifest = {}
    for entry in sorted(pack.files, key=lambda entry: entry.link):  # links last: nothing is written through one
        name = checked_name(entry)
        target = tree / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if entry.link:
            os.symlink(os.fsdecode(entry.data), target)
        else:
            _write_new(target, entry)
        manifest[name] = records.side_of_bytes(entry.data, mode=entry.mode & 0o777)
        manifest[name] = msgspec.structs.replace(manifest[name], link=entry.link)
    directories.make_folder(tree)
    copies.write_manifest(folder, manifest)
    if not pack.top:
        return
    note = "It is a copy on another host, without the history of its repository."
    records.write_isolation(folder, Isolation("copy", pack.top, pack.below, state="ready", notes=(note,)))


def checked_name(entry: TreeFile) -> str:
    """Return the path of an entry below its folder. Unplaceable where it is none, or a part of git."""
    import base64

    return name_of(FileChange("", raw=base64.b64encode(entry.name).decode()))


def _write_new(target: Path, entry: TreeFile) -> None:
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as stream:
        stream.write(entry.data)
        os.fchmod(fd, entry.mode & 0o777 | 0o600)
