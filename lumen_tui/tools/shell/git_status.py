"""Asks git what changed in a working tree and what a name stands for, without running what the repository configures.

Hooks, pagers, diff drivers, filters and monitors are configuration that a repository brings along, and each is kept
from running: overridden, or the repository is not looked into. It may change between the check and its use, and there
is no sandbox here: so a diff, which converts files, sees the repository's objects and index and none of its
configuration. What cannot be found out in time is left out, with the reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import safe
from lumen_tui.model.views import NO_REPOSITORY, Changes
from lumen_tui.storage import directories
from lumen_tui.storage.git import HEX, Git, GitFailed, GitMissing, GitTooSlow, line_of

SECONDS = 3.0  # for everything together
MOST_FILES = 100
_SIDES = ("behind", "ahead")  # as rev-list counts them
_MOST_STAT = 4000  # characters
_TAKEN_OVER = lazy_re(
    r"(core\.(?:filemode|autocrlf|ignorecase|symlinks|eol|safecrlf))\n(true|false|input|lf|crlf|native)"
)
# What runs a program and has a free name cannot be overridden: a repository that has one is not looked into.
_OWN_PROGRAMS = lazy_re(
    r"filter\..*\.(?:clean|smudge|process)|diff\..*\.(?:command|textconv)|gpg\..*command|remote\..*\.(?:vcs|uploadpack)"
    r"|extensions\.partialclone",
    re.IGNORECASE,
)


def changes(
    folder: str, *, base: str = "", without: str = "", environ: Mapping[str, str], seconds: float = SECONDS
) -> Changes:
    """Return the changes in the repository around `folder` since `base` (a commit, else HEAD), new files included.

    `without` is a folder whose changes do not count. Never raises.
    """
    if not folder or not os.path.isdir(folder):
        return Changes(why="no folder")
    git = Git(folder, path=environ.get("PATH", os.defpath), seconds=seconds)
    try:
        return _look(git, base, without)
    except GitTooSlow:
        return Changes(why=f"git took longer than {seconds:g} s")
    except GitMissing as error:
        return Changes(why=str(error))
    except GitFailed as error:
        return Changes(why=str(error) if directories.holder(folder, ".git") else NO_REPOSITORY)
    except OSError as error:
        return Changes(why=f"git cannot be run: {error.strerror}")


def standing(folder: str, *, environ: Mapping[str, str], seconds: float = SECONDS) -> str:
    """Return where the checkout around `folder` stands: `main, 2 commits ahead of origin, clean`; empty for none."""
    state = changes(folder, environ=environ, seconds=seconds)
    if not state.head or state.why:
        return ""
    git = Git(folder, path=environ.get("PATH", os.defpath), seconds=seconds)
    try:
        ahead = _beside_origin(git, state.branch)
    except GitFailed:
        ahead = ""
    count = len(state.files) + state.more_files
    changed = f"{count} changed file{'s' if count > 1 else ''}" if count else "clean"
    return ", ".join(part for part in (state.branch or f"at {state.head[:8]}", ahead, changed) if part)


def _beside_origin(git: Git, branch: str) -> str:
    """Return how a branch differs from the one of its name at origin, as far as that was fetched."""
    counts = git.line("rev-list", "--left-right", "--count", f"refs/remotes/origin/{branch}...HEAD").split()
    if not branch or len(counts) != len(_SIDES):
        return ""
    if counts == ["0", "0"]:
        return "level with origin"
    behind, ahead = (
        f"{count} commit{'s' if count != '1' else ''} {side}" for count, side in zip(counts, _SIDES, strict=True)
    )
    return f"{' and '.join(text for text in (ahead, behind) if not text.startswith('0 '))} of origin"


class UnknownRevision(Exception):
    """A name that stands for nothing, or git could not say; the text gives the reason."""


def revision(folder: str, name: str, *, environ: Mapping[str, str], seconds: float = SECONDS) -> str:
    """Return the hash that a name, such as `main`, stands for in the repository around `folder`."""
    git = Git(folder, path=environ.get("PATH", os.defpath), seconds=seconds)
    if name.startswith("-"):
        raise UnknownRevision(f"{safe(name[:80])} is an option, not a name")
    try:
        if program := _own_program(_settings(git)):
            raise UnknownRevision(f"the repository's configuration sets {program}, which runs a program")
        return line_of(git("rev-parse", "--verify", name))
    except GitTooSlow as error:
        raise UnknownRevision(f"git took longer than {seconds:g} s") from error
    except GitMissing as error:
        absent = isinstance(error.__cause__, FileNotFoundError)
        raise UnknownRevision(
            "git is not installed here: install the package `git`" if absent else str(error)
        ) from error
    except GitFailed as error:
        raise UnknownRevision(str(error)) from error


def conversions(listed: list[str]) -> list[str]:
    """Return, as `name=value`, the settings by which a working tree differs from its objects and which run nothing."""
    return ["=".join(match.groups()) for match in map(_TAKEN_OVER.fullmatch, listed) if match]


def _settings(git: Git) -> list[str]:
    """Return the settings that the repository brings along, each as its name, a newline and its value."""
    return git("config", "--list", "-z").decode("utf-8", "replace").split("\0")


def _look(git: Git, base: str, without: str) -> Changes:
    root = line_of(git("rev-parse", "--show-toplevel"))
    paths = ("--", ":/", *_excluded(root, without))
    listed = _settings(git)
    if program := _own_program(listed):
        return Changes(root=root, why=f"the repository's configuration sets {program}, which runs a program")
    head = git.line("rev-parse", "--verify", "--quiet", "HEAD")
    base_commit = _known(git, base) or head
    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--no-renames")
    stat = changed = b""
    if base_commit:
        with git.apart(root, conversions(listed)) as isolated:
            stat = isolated("diff", *options, "--stat=100,70,40", base_commit, *paths)
            changed = isolated("diff", *options, "--name-only", "-z", base_commit, *paths)
    untracked = git("ls-files", "--others", "--exclude-standard", "-z", "--full-name", *paths)
    names = [safe(name.decode("utf-8", "replace")) for name in (changed + untracked).split(b"\0") if name]
    return Changes(
        root=root,
        branch=git.line("symbolic-ref", "--quiet", "--short", "HEAD"),
        head=head,
        base=base_commit,
        stat=safe(stat.decode("utf-8", "replace")).rstrip()[-_MOST_STAT:],
        files=tuple(names[:MOST_FILES]),
        more_files=max(0, len(names) - MOST_FILES),
    )


def _excluded(root: str, without: str) -> list[str]:
    """Return the pathspec that leaves a folder out, where it lies in the repository."""
    inside = os.path.relpath(os.path.realpath(without), os.path.realpath(root)) if without else os.pardir
    if inside == os.curdir or inside.split(os.sep)[0] == os.pardir:
        return []
    return [f":(top,exclude,literal){inside}"]


def _own_program(listed: list[str]) -> str:
    """Return the first setting of the repository that names a program, or the empty string."""
    for name in (setting.partition("\n")[0] for setting in listed):
        if _OWN_PROGRAMS.fullmatch(name):
            return safe(repr(name[:80]))
    return ""


def _known(git: Git, base: str) -> str:
    """`base` where it is a commit that is still there."""
    if not base or not set(base) <= HEX:
        return ""
    return git.line("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")
