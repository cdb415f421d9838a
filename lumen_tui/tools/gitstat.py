"""What changed in a working tree, asked of git without running anything that the repository names.

Hooks, pagers, diff drivers, filters and monitors are configuration that a repository brings along; `gitread`
says how each is kept from running. What cannot be found out in time is left out, with the reason.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping

from msgspec import Struct

from lumen_tui.model.text import safe
from lumen_tui.tools import gitread

SECONDS = 3.0  # for everything together
MOST_FILES = 100
_MOST_STAT = 4000  # characters
_HEX = frozenset("0123456789abcdef")


class GitStat(Struct, frozen=True):
    """`why` says why nothing is known; it is empty where `stat` and `files` are what git said."""

    root: str = ""
    branch: str = ""
    head: str = ""  # the commit on which the working tree stands
    base: str = ""  # what it was compared with
    stat: str = ""
    files: tuple[str, ...] = ()
    more_files: int = 0
    why: str = ""


class _Git:
    """git in one folder with a deadline. Raises subprocess.SubprocessError or OSError where it gives no answer."""

    def __init__(self, folder: str, environ: Mapping[str, str], seconds: float) -> None:
        self._folder = folder
        self._environ = {"PATH": environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **gitread.environment()}
        self._end = time.monotonic() + seconds

    def __call__(self, *words: str) -> bytes:
        command = ["git", "--no-pager", "--no-optional-locks", *words]
        left = max(0.01, self._end - time.monotonic())
        return subprocess.run(
            command, cwd=self._folder, env=self._environ, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=left, check=True,
        ).stdout  # fmt: skip


def look(
    folder: str, *, base: str = "", without: str = "", environ: Mapping[str, str], seconds: float = SECONDS
) -> GitStat:  # fmt: skip
    """What is different in the repository around `folder` from `base` (a commit, else HEAD), new files included.

    `without` is a folder whose changes do not count. Never raises.
    """
    if not folder or not os.path.isdir(folder):
        return GitStat(why="no folder")
    git = _Git(folder, environ, seconds)
    try:
        return _look(git, base, without)
    except subprocess.TimeoutExpired:
        return GitStat(why=f"git took longer than {seconds:g} s")
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().splitlines()
        missing = any("not a git repository" in line for line in said)
        return GitStat(why="not a git repository" if missing else safe(said[-1] if said else "git failed")[:200])
    except OSError as error:
        return GitStat(why=f"git cannot be run: {error.strerror}")


def _look(git: _Git, base: str, without: str) -> GitStat:
    root = _line(git("rev-parse", "--show-toplevel"))
    paths = ("--", ":/", *_excluded(root, without))
    if program := _own_program(git("config", "--list", "--name-only", "-z")):
        return GitStat(root=root, why=f"the repository's configuration sets {program}, which runs a program")
    head = _try(git, "rev-parse", "--verify", "--quiet", "HEAD")
    start = _known(git, base) or head
    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--no-renames")
    stat = changed = b""
    if start:
        stat = git("diff", *options, "--stat=100,70,40", start, *paths)
        changed = git("diff", *options, "--name-only", "-z", start, *paths)
    new = git("ls-files", "--others", "--exclude-standard", "-z", "--full-name", *paths)
    names = [safe(name.decode("utf-8", "replace")) for name in (changed + new).split(b"\0") if name]
    return GitStat(
        root=root, branch=_try(git, "symbolic-ref", "--quiet", "--short", "HEAD"), head=head, base=start,
        stat=safe(stat.decode("utf-8", "replace")).rstrip()[-_MOST_STAT:], files=tuple(names[:MOST_FILES]),
        more_files=max(0, len(names) - MOST_FILES),
    )  # fmt: skip


def _excluded(root: str, without: str) -> list[str]:
    """The pathspec that leaves a folder out, where it lies in the repository."""
    inside = os.path.relpath(os.path.realpath(without), os.path.realpath(root)) if without else os.pardir
    if inside == os.curdir or inside.split(os.sep)[0] == os.pardir:
        return []
    return [f":(top,exclude,literal){inside}"]


def _own_program(names: bytes) -> str:
    """The first setting of the repository that names a program, or the empty string."""
    for name in names.decode("utf-8", "replace").split("\0"):
        if gitread._OWN_PROGRAMS.fullmatch(name):
            return safe(repr(name[:80]))
    return ""


def _line(said: bytes) -> str:
    return safe(said.decode("utf-8", "replace").strip())


def _try(git: _Git, *words: str) -> str:
    """One line of git's answer, empty where it has none (a repository without commits, a detached HEAD)."""
    try:
        return _line(git(*words))
    except subprocess.CalledProcessError:
        return ""


def _known(git: _Git, base: str) -> str:
    """`base` where it is a commit that is still there."""
    if not base or not set(base) <= _HEX:
        return ""
    return _try(git, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")
