"""Looks at the operator's repository from which a worktree is made, and runs nothing of it."""

from __future__ import annotations

import os

from msgspec import Struct

from lumen_tui.model.digests import sha256
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import directories
from lumen_tui.storage.git import Git, GitFailed, GitMissing, GitTooSlow, is_hash
from lumen_tui.tools.shell.git_status import conversions

_SECONDS = 10.0  # for everything together
_PLACE = ("--show-object-format", "--path-format=absolute", "--git-common-dir")
_MOST_EXCLUDES = 100_000  # bytes of info/exclude


class Unfit(Exception):
    """A folder from which no worktree or copy can be made; the text says why and what to do."""


class Base(Struct, frozen=True):
    """The operator's repository as it was found."""

    top: str  # a real path
    common: str  # its git folder, a real path
    commit: str
    branch: str
    object_format: str
    settings: tuple[str, ...]  # conversions of line ends, as `name=value`
    excludes: bytes
    shallow: bytes

    @property
    def key(self) -> str:
        """The name of its pool: another one where files would be checked out in another way."""
        parts = (self.top, self.common, self.object_format, *self.settings)
        return sha256("\0".join(parts).encode(errors="surrogateescape"))[:20]


def find(folder: str, path: str) -> Base | None:
    """Return the repository around `folder`; None where there is none, or one without a commit. Raise Unfit."""
    real = os.path.realpath(folder)
    if ".git" in real.split(os.sep):
        raise Unfit(f"{one_line(folder, 200)} is inside of a .git folder: give the folder that you work in")
    top = directories.holder(real, ".git")
    if not top:
        if os.path.isfile(os.path.join(real, "HEAD")) and os.path.isdir(os.path.join(real, "objects")):
            raise Unfit(f"{one_line(folder, 200)} is a bare repository: give a folder with a working tree")
        return None
    try:
        return _look(Git(top, path=path, seconds=_SECONDS), top)
    except GitMissing:
        return None  # a copy needs no git
    except GitFailed as error:
        raise Unfit(f'git cannot use {one_line(top, 200)}: {error}; isolate = "copy" needs no git') from error


def _look(git: Git, top: str) -> Base | None:
    try:  # one process: a task waits for it
        answer = os.fsdecode(git("rev-parse", *_PLACE, "HEAD^{commit}", "--symbolic-full-name", "HEAD"))
    except (GitMissing, GitTooSlow):
        raise
    except GitFailed:
        git("rev-parse", *_PLACE)  # fails where it is not about the commit
        if is_hash(git.line("rev-parse", "--verify", "--quiet", "HEAD")):
            raise GitFailed("the commit that is checked out cannot be read; `git fsck` names what is damaged") from None
        return None
    object_format, _, common_and_head = answer.removesuffix("\n").partition("\n")
    common, commit, ref = common_and_head.rsplit("\n", 2)
    listed = git("config", "--list", "-z").decode("utf-8", "replace").split("\0")
    return Base(
        top=top,
        common=os.path.realpath(common),
        commit=commit,
        branch="" if ref == "HEAD" else safe(ref.removeprefix("refs/heads/")),
        object_format=object_format,
        settings=tuple(sorted({setting for setting in conversions(listed) if _is_of_content(setting)})),
        excludes=_read(os.path.join(common, "info", "exclude"))[:_MOST_EXCLUDES],
        shallow=_read(os.path.join(common, "shallow")),
    )


def _is_of_content(setting: str) -> bool:
    """Return whether a setting changes bytes; what a file system can do is found out where the worktree lies."""
    return setting.partition("=")[0].lower() in ("core.autocrlf", "core.eol")


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as stream:
        return stream.read(16 * 1024 * 1024)
