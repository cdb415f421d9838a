"""Finds the secrets that no command of a worker may read, and repositories, below a folder."""

from __future__ import annotations

import itertools
import os
import pwd
import stat
from collections.abc import Iterator

# Below every known home folder.
_HOME_PATHS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".config/gh", ".config/glab-cli", ".config/gcloud", ".config/doctl",
    ".config/op", ".config/hub", ".kube", ".docker", ".netrc", "_netrc", ".git-credentials",
    ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials", ".cargo/credentials",
    ".cargo/credentials.toml", ".terraform.d", ".config/rclone", ".pgpass", ".my.cnf", ".vault-token", ".claude",
    ".claude.json", ".anthropic", ".codex", ".gemini", ".config/anthropic", ".config/openai", ".local/share/keyrings",
    ".local/share/kwalletd", ".password-store", ".mozilla", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history",
    ".node_repl_history", ".local/share/fish/fish_history",
)  # fmt: skip
_SYSTEM_PATHS = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/krb5.keytab", "/etc/wireguard", "/etc/NetworkManager/system-connections",
    "/var/lib/docker", "/var/lib/containerd", "/var/spool/cron", "/var/spool/at", "/var/run/docker.sock",
    "/run/docker.sock", "/boot", "/lost+found",
)  # fmt: skip
_SAMPLES = (".example", ".sample", ".template", ".dist")
# How far a folder is searched for .env files and repositories; the first two apply to a shallow walk.
_DEEPEST = 3
_MOST_AT_THE_TOP = 400
_MOST_FOLDERS = 20_000
_MOST_PASSED_OVER = 2_000  # folders of builds and packages
_BOTTOM = 40  # depth; each folder on the way to a repository is a mount
_BUILD_FOLDERS = {"node_modules", ".venv", "venv", "__pycache__", "target", "dist", "build", ".cache"}
BARE = frozenset({"HEAD", "objects", "refs"})  # a folder with these is a repository for git


def existing(home: str, extra: tuple[str, ...] = ()) -> list[str]:
    """Return the real paths of all secrets that exist; `extra` are the operator's own paths."""
    candidates = [*_SYSTEM_PATHS, *(os.path.expanduser(path) for path in extra if path)]
    for folder in {home, _own_home()} - {""}:
        candidates += [os.path.join(folder, name) for name in _HOME_PATHS]
    keys = [f"/etc/ssh/{name}" for name in names("/etc/ssh") if name.endswith("_key")]
    return sorted({os.path.realpath(path) for path in [*candidates, *keys] if os.path.lexists(path)})


def _own_home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def is_env_file(name: str) -> bool:
    """Return whether a file name is that of a secrets file: `.env`, `.env.local`, `.envrc`; not `.env.example`."""
    return name in (".env", ".envrc") or (name.startswith(".env.") and not name.endswith(_SAMPLES))


def env_file_behind(path: str) -> str:
    """Return the real path of a .env file; empty for a link to anything but a plain, non-executable file.

    A worker may have made the link, and could otherwise choose which path is hidden.
    """
    real = os.path.realpath(path)
    if real == path:
        return "" if os.path.islink(path) else path  # a link that leads to itself
    try:
        mode = os.stat(real).st_mode
    except OSError:
        return ""
    return real if stat.S_ISREG(mode) and not mode & 0o111 else ""


def repositories_in(folder: str, names: list[str]) -> list[str]:
    """Return the `.git` of a folder with these names in it, and the folder itself where it is a bare repository."""
    inside = [os.path.join(folder, ".git")] if ".git" in names else []
    return [*inside, folder] if BARE.issubset(names) else inside


def is_in_build_folder(path: str) -> bool:
    """Return whether a path is in a folder of builds or packages."""
    return not _BUILD_FOLDERS.isdisjoint(path.split(os.sep))


class FolderWalk:
    """Iterates over a folder and those below it as (path, names), breadth first; links are not followed.

    A `deep` walk goes all the way down, through folders of builds and packages last. `truncated` tells afterwards
    whether there were too many folders.
    """

    def __init__(self, top: str, *, deep: bool) -> None:
        self.top = top
        self._deep = deep
        self.truncated = False

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        postponed: list[str] = []
        limit = _MOST_FOLDERS if self._deep else _MOST_AT_THE_TOP
        for number, entry in enumerate(self._below([self.top], postponed)):
            self.truncated = number >= limit
            if self.truncated:
                break
            yield entry
        if self._deep:
            yield from itertools.islice(self._below(postponed, None), _MOST_PASSED_OVER)

    def _below(self, level: list[str], postponed: list[str] | None) -> Iterator[tuple[str, list[str]]]:
        """Yield folders level by level; those of builds and packages go to `postponed` where that is given."""
        depth = 0
        while level and depth <= (_BOTTOM if self._deep else _DEEPEST):
            below: list[str] = []
            for folder in level:
                names, folders = _list_folder(folder)
                yield folder, names
                for name in folders:
                    into = postponed if postponed is not None and name in _BUILD_FOLDERS else below
                    into += [os.path.join(folder, name)] if name != ".git" else []
            level, depth = below, depth + 1


def _list_folder(folder: str) -> tuple[list[str], list[str]]:
    names, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    except OSError:
        pass
    return names, folders


def names(folder: str) -> list[str]:
    """Return the names in a folder; empty where it cannot be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
