"""Which settings file of a project everybody shares and which is this machine's, and that git leaves the second alone.

Our hooks name a program and a state folder by their paths, which mean nothing on another machine.
"""

from __future__ import annotations

import os
from pathlib import Path

from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage import files
from lumen_tui.storage.git import Git, GitFailed

_FOLDER, _SHARED, _LOCAL = ".claude", "settings.json", "settings.local.json"
_LARGEST = 1024 * 1024  # bytes of a list of what git leaves alone


def local(project: Path) -> Path:
    """Return the settings file of a project that is this machine's alone."""
    return project / _FOLDER / _LOCAL


def shared(project: Path) -> Path:
    """Return the settings file of a project that is committed, where ours were put by earlier versions."""
    return project / _FOLDER / _SHARED


def check(path: Path) -> None:
    """Raise ActionError for the file that a project shares; the user's own in the home folder is nobody else's."""
    own = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / _FOLDER)
    if path.name == _SHARED and path.parent.name == _FOLDER and path.parent.resolve() != own.resolve():
        raise ActionError(
            f"{path} is shared with everybody who has the project, and our hooks name paths of this machine: leave "
            f"--settings out, and they go to {_LOCAL}"
        )


def keep_out_of_git(path: Path) -> str:
    """Let git leave a new file alone; return what was done or has to be, an empty text where it does already."""
    git = Git(str(path.parent))
    try:
        if not (line := _line(git, path)):
            return ""
        if git.line("ls-files", "--", path.name):
            return f"git follows {path.name}, and it names paths of this machine: `git rm --cached {path.name}` there"
        if _ignored(git, path.name):
            return ""
        exclude = _exclude(git)
        before = _read(exclude)
        _write(exclude, f"{before}{'' if before.endswith(chr(10)) or not before else chr(10)}{line}\n")
    except (OSError, ActionError, files.StoreError) as error:
        return f"git may follow {path.name} ({error}): put it into .gitignore, as it names paths of this machine"
    return f"git leaves {path.name} alone (a line in {exclude})"


def forget(path: Path) -> None:
    """Take our line out again, where the file is gone; whatever keeps it there does no harm."""
    if path.exists() or not path.parent.is_dir():
        return
    git = Git(str(path.parent))
    try:
        if not (line := _line(git, path)):
            return
        exclude = _exclude(git)
        before = _read(exclude)
        if f"{line}\n" in before.splitlines(keepends=True):
            _write(exclude, "".join(other for other in before.splitlines(keepends=True) if other != f"{line}\n"))
    except (OSError, ActionError, files.StoreError):
        pass


def _line(git: Git, path: Path) -> str:
    """Return the line that names a file to git; empty outside of a repository."""
    top = git.line("rev-parse", "--show-toplevel")
    where = path.parent.resolve()
    return f"/{(where / path.name).relative_to(Path(top).resolve())}" if top and where.is_relative_to(top) else ""


def _ignored(git: Git, name: str) -> bool:
    try:
        git("check-ignore", "--quiet", "--", name)
    except GitFailed:
        return False
    return True


def _exclude(git: Git) -> Path:
    path, folder = Path(git.place("info/exclude")), Path(git.place("."))
    if not path.is_relative_to(folder):
        raise ActionError(f"{path} is outside of the repository")
    return path


def _read(path: Path) -> str:
    return (files.read(path, _LARGEST) or b"").decode("utf-8", "surrogateescape")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644

    def fill(fd: int) -> None:
        files.write_all(fd, text.encode("utf-8", "surrogateescape"))
        os.fchmod(fd, mode)

    files.take_place(files.write_sibling(path, fill), str(path))
