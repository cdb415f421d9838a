"""Asks git what changed in a working tree and what a name stands for, without running what the repository configures.

Hooks, pagers, diff drivers, filters and monitors are configuration that a repository brings along, and each is kept
from running: overridden, or the repository is not looked into. It may change between the check and its use, and there
is no sandbox here: so a diff, which converts files, sees the repository's objects and index and none of its
configuration. What cannot be found out in time is left out, with the reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lumen_tui.model.text import safe
from lumen_tui.model.views import NO_REPOSITORY, Changes
from lumen_tui.storage import directories

SECONDS = 3.0  # for everything together
MOST_FILES = 100
_MOST_STAT = 4000  # characters
_HEX = frozenset("0123456789abcdef")
_TAKEN_OVER = re.compile(r"(core\.(?:filemode|autocrlf|ignorecase|symlinks|eol))\n(true|false|input|lf|crlf|native)")

# Settings with a fixed name that run a program. The environment outranks every file.
_OVERRIDES = {
    "core.fsmonitor": "false", "core.hooksPath": "/dev/null", "core.pager": "cat", "core.alternateRefsCommand": "true",
    "core.sshCommand": "false", "core.askPass": "false", "core.editor": "false", "protocol.allow": "never",
    "log.showSignature": "false", "gpg.program": "false", "gpg.openpgp.program": "false", "gpg.x509.program": "false",
    "gpg.ssh.program": "false", "diff.submodule": "short", "diff.ignoreSubmodules": "all", "submodule.recurse": "false",
    "credential.helper": "", "safe.bareRepository": "explicit",
}  # fmt: skip
# Those with free names cannot be overridden: a repository that has one is not looked into.
_OWN_PROGRAMS = re.compile(
    r"filter\..*\.(?:clean|smudge|process)|diff\..*\.(?:command|textconv)|gpg\..*command|remote\..*\.(?:vcs|uploadpack)"
    r"|extensions\.partialclone",
    re.IGNORECASE,
)


class _Git:
    """git in one folder with a deadline. Raises subprocess.SubprocessError or OSError where it gives no answer."""

    def __init__(self, folder: str, environ: Mapping[str, str], seconds: float) -> None:
        self._folder, self._settings = os.path.abspath(folder), list[str]()
        self._environ = {"PATH": environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **_environment()}
        self._end = time.monotonic() + seconds

    def __call__(self, *words: str) -> bytes:
        command = ["git", "--no-pager", "--no-optional-locks", *self._settings, *words]
        remaining = max(0.01, self._end - time.monotonic())
        return subprocess.run(
            command,
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=remaining,
            check=True,
        ).stdout

    @contextmanager
    def apart(self, root: str, settings: list[str]) -> Iterator[_Git]:
        """git on the same objects, index and working tree, with these settings and no others."""
        object_format = _line(self("rev-parse", "--show-object-format"))
        with tempfile.TemporaryDirectory(prefix="lumen-git-") as git_dir:
            self("init", "--bare", "--quiet", "--template=", f"--object-format={object_format}", git_dir)
            isolated = _Git(self._folder, self._environ, self._end - time.monotonic())
            isolated._settings = [word for setting in settings for word in ("-c", setting)]
            isolated._environ |= {
                "GIT_DIR": git_dir,
                "GIT_WORK_TREE": root,
                "GIT_OBJECT_DIRECTORY": self._place("objects"),
                "GIT_INDEX_FILE": self._place("index"),
            }
            yield isolated

    def _place(self, name: str) -> str:
        path = os.fsdecode(self("rev-parse", "--git-path", name)).removesuffix("\n")
        return os.path.join(self._folder, path)


def changes(
    folder: str, *, base: str = "", without: str = "", environ: Mapping[str, str], seconds: float = SECONDS
) -> Changes:
    """Return the changes in the repository around `folder` since `base` (a commit, else HEAD), new files included.

    `without` is a folder whose changes do not count. Never raises.
    """
    if not folder or not os.path.isdir(folder):
        return Changes(why="no folder")
    git = _Git(folder, environ, seconds)
    try:
        return _look(git, base, without)
    except subprocess.TimeoutExpired:
        return Changes(why=f"git took longer than {seconds:g} s")
    except subprocess.CalledProcessError as error:
        return Changes(why=_last_message(error) if directories.holder(folder, ".git") else NO_REPOSITORY)
    except OSError as error:
        return Changes(why=f"git cannot be run: {error.strerror}")


class UnknownRevision(Exception):
    """A name that stands for nothing, or git could not say; the text gives the reason."""


def revision(folder: str, name: str, *, environ: Mapping[str, str], seconds: float = SECONDS) -> str:
    """Return the hash that a name, such as `main`, stands for in the repository around `folder`."""
    git = _Git(folder, environ, seconds)
    if name.startswith("-"):
        raise UnknownRevision(f"{safe(name[:80])} is an option, not a name")
    try:
        if program := _own_program(_settings(git)):
            raise UnknownRevision(f"the repository's configuration sets {program}, which runs a program")
        return _line(git("rev-parse", "--verify", name))
    except subprocess.TimeoutExpired as error:
        raise UnknownRevision(f"git took longer than {seconds:g} s") from error
    except subprocess.CalledProcessError as error:
        raise UnknownRevision(_last_message(error)) from error
    except FileNotFoundError as error:
        raise UnknownRevision(f"git is not installed here, or {folder} is gone: install the package `git`") from error
    except OSError as error:
        raise UnknownRevision(f"git cannot be run: {error.strerror}") from error


def _last_message(error: subprocess.CalledProcessError) -> str:
    messages = error.stderr.decode("utf-8", "replace").strip().splitlines()
    return safe(messages[-1] if messages else "git failed")[:200]


def _settings(git: _Git) -> list[str]:
    """Return the settings that the repository brings along, each as its name, a newline and its value."""
    return git("config", "--list", "-z").decode("utf-8", "replace").split("\0")


def _look(git: _Git, base: str, without: str) -> Changes:
    root = _line(git("rev-parse", "--show-toplevel"))
    paths = ("--", ":/", *_excluded(root, without))
    listed = _settings(git)
    if program := _own_program(listed):
        return Changes(root=root, why=f"the repository's configuration sets {program}, which runs a program")
    head = _try(git, "rev-parse", "--verify", "--quiet", "HEAD")
    base_commit = _known(git, base) or head
    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--no-renames")
    stat = changed = b""
    if base_commit:
        settings = ["=".join(match.groups()) for match in map(_TAKEN_OVER.fullmatch, listed) if match]
        with git.apart(root, settings) as isolated:
            stat = isolated("diff", *options, "--stat=100,70,40", base_commit, *paths)
            changed = isolated("diff", *options, "--name-only", "-z", base_commit, *paths)
    untracked = git("ls-files", "--others", "--exclude-standard", "-z", "--full-name", *paths)
    names = [safe(name.decode("utf-8", "replace")) for name in (changed + untracked).split(b"\0") if name]
    return Changes(
        root=root,
        branch=_try(git, "symbolic-ref", "--quiet", "--short", "HEAD"),
        head=head,
        base=base_commit,
        stat=safe(stat.decode("utf-8", "replace")).rstrip()[-_MOST_STAT:],
        files=tuple(names[:MOST_FILES]),
        more_files=max(0, len(names) - MOST_FILES),
    )


def _environment() -> dict[str, str]:
    """Return what keeps git from running what a configuration names, and from reading the user's and the system's."""
    variables = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_ASKPASS": "false",
        "GIT_CONFIG_COUNT": str(len(_OVERRIDES)),
        "GIT_ATTR_NOSYSTEM": "1",
    }
    for number, (key, value) in enumerate(_OVERRIDES.items()):
        variables[f"GIT_CONFIG_KEY_{number}"], variables[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return variables


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


def _line(output: bytes) -> str:
    return safe(output.decode("utf-8", "replace").strip())


def _try(git: _Git, *words: str) -> str:
    """Return one line of git's answer, empty where it has none (a repository without commits, a detached HEAD)."""
    try:
        return _line(git(*words))
    except subprocess.CalledProcessError:
        return ""


def _known(git: _Git, base: str) -> str:
    """`base` where it is a commit that is still there."""
    if not base or not set(base) <= _HEX:
        return ""
    return _try(git, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")
