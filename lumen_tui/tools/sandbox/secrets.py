"""What no command of a worker may read, wherever it stands."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator

# Below every home folder that we know of.
_AT_HOME = (
    ".ssh", ".gnupg", ".aws", ".azure", ".config/gh", ".config/glab-cli", ".config/gcloud", ".config/doctl",
    ".config/op", ".config/hub", ".kube", ".docker", ".netrc", "_netrc", ".git-credentials",
    ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials", ".cargo/credentials",
    ".cargo/credentials.toml", ".terraform.d", ".config/rclone", ".pgpass", ".my.cnf", ".vault-token", ".claude",
    ".claude.json", ".anthropic", ".codex", ".gemini", ".config/anthropic", ".config/openai", ".local/share/keyrings",
    ".local/share/kwalletd", ".password-store", ".mozilla", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history",
    ".node_repl_history", ".local/share/fish/fish_history",
)  # fmt: skip
_OF_THE_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/krb5.keytab", "/etc/wireguard", "/etc/NetworkManager/system-connections",
    "/var/lib/docker", "/var/lib/containerd", "/var/spool/cron", "/var/spool/at", "/var/run/docker.sock",
    "/run/docker.sock", "/boot", "/lost+found",
)  # fmt: skip
_SAMPLES = (".example", ".sample", ".template", ".dist")
_DEEPEST, _MOST_FOLDERS = 3, 400  # how far a folder is searched for .env files and repositories
_PASSED_OVER = {"node_modules", ".venv", "venv", "__pycache__", ".git", "target", "dist", "build", ".cache"}


def standing(home: str, more: tuple[str, ...] = ()) -> list[str]:
    """The real paths of all secrets that are there; `more` are the operator's own."""
    wanted = [*_OF_THE_SYSTEM, *(os.path.expanduser(path) for path in more if path)]
    for folder in {home, _own_home()} - {""}:
        wanted += [os.path.join(folder, name) for name in _AT_HOME]
    keys = [f"/etc/ssh/{name}" for name in _names("/etc/ssh") if name.endswith("_key")]
    return sorted({os.path.realpath(path) for path in [*wanted, *keys] if os.path.lexists(path)})


def _own_home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def is_env_file(name: str) -> bool:
    """`.env`, `.env.local`, `.envrc`; not `.env.example`."""
    return name in (".env", ".envrc") or (name.startswith(".env.") and not name.endswith(_SAMPLES))


def env_files(folders: tuple[str, ...]) -> list[str]:
    """The .env files in these folders and a little below them; real paths."""
    found = [
        os.path.join(folder, name) for top in folders for folder, names in walk(top) for name in names
        if is_env_file(name)
    ]  # fmt: skip
    return [path for path in map(_meant, found) if path]


def _meant(path: str) -> str:
    """Where the content of a .env file stands. A worker may have made the link: one to no plain file counts for none,
    or whoever hides what it leads to would make, or cover, what the worker likes."""
    real = os.path.realpath(path)
    if real == path:
        return path
    try:
        mode = os.stat(real).st_mode
    except OSError:
        return ""
    return real if stat.S_ISREG(mode) and not mode & 0o111 else ""


def repositories(folders: tuple[str, ...]) -> list[str]:
    """Every `.git` in these folders and a little below them."""
    return [
        os.path.join(folder, ".git") for top in folders for folder, names in walk(top) if ".git" in names
    ]  # fmt: skip


def walk(top: str) -> Iterator[tuple[str, list[str]]]:
    """Folders with the names in them, breadth first, a few levels deep; links are not followed."""
    level = [top]
    looked_at = 0
    for _ in range(_DEEPEST + 1):
        below: list[str] = []
        for folder in level:
            looked_at += 1
            if looked_at > _MOST_FOLDERS:
                return
            names, folders = _look(folder)
            yield folder, names
            below += [os.path.join(folder, name) for name in folders if name not in _PASSED_OVER]
        level = below


def _look(folder: str) -> tuple[list[str], list[str]]:
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


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def sockets() -> list[str]:
    """The files of all UNIX sockets that somebody listens on: whoever may connect may give orders there."""
    found = set()
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as listed:
            for line in listed:
                path = line.rstrip("\n").partition("/")
                if path[1] and " @" not in path[0]:
                    found.add("/" + path[2])
    except OSError:
        return []
    return sorted(os.path.realpath(path) for path in found if os.path.lexists(path))
