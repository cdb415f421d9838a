"""Versions in a git repository of their own, evolved/versions.git: one commit and one tag for each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from lumen_tui.storage import directories
from lumen_tui.storage.layout import Layout

_SECONDS = 20.0  # for one call of git
_BRANCH = "refs/heads/main"


class GitFailed(OSError):
    """A git command failed."""


class GitVersions:
    """Stores versions by git's plumbing commands, so that no index, hook, attribute or setting of a user takes part."""

    def __init__(self, layout: Layout) -> None:
        self._folder = layout.versions_git

    @staticmethod
    def works(layout: Layout) -> bool:
        """Return whether git is installed."""
        return shutil.which("git") is not None

    def _git(self, *words: str, data: bytes = b"", check: bool = True) -> bytes:
        import subprocess  # 10 ms that only a new version pays

        environ = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "GIT_DIR": str(self._folder),
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "GIT_AUTHOR_NAME": "lumen",
            "GIT_AUTHOR_EMAIL": "lumen@localhost",
            "GIT_COMMITTER_NAME": "lumen",
            "GIT_COMMITTER_EMAIL": "lumen@localhost",
        }
        command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsync=all", "-c", "gc.auto=0", *words]
        try:
            ran = subprocess.run(
                command,
                input=data,
                env=environ,
                capture_output=True,
                timeout=_SECONDS,
                cwd=self._folder.parent,
                umask=0o077,
            )
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"git {words[0]} took longer than {_SECONDS:.0f} s") from error
        if ran.returncode and check:
            raise GitFailed(f"git {words[0]}: {ran.stderr.decode(errors='replace').strip()[:200]}")
        return ran.stdout if not ran.returncode else b""

    def store(self, number: int, texts: Mapping[str, bytes], reason: str) -> None:
        """Store these files as one commit with a tag."""
        if not (self._folder / "HEAD").exists():
            directories.make_folder(self._folder)
            self._git("init", "-q", "--bare", "--template=")
        tree = self._tree(texts)
        parent = self._git("rev-parse", "-q", "--verify", _BRANCH, check=False).decode().strip()
        message = f"version {number}: {reason}\n".encode()
        commit = self._git("commit-tree", tree, *(("-p", parent) if parent else ()), data=message).decode().strip()
        self._git("update-ref", _BRANCH, commit)
        self._git("update-ref", f"refs/tags/v{number}", commit)

    def _tree(self, texts: Mapping[str, bytes]) -> str:
        """Write the blobs and their trees, one for each folder; return the hash of the root."""
        folders: dict[str, list[str]] = {"": []}
        for target, data in texts.items():
            folder, _, name = target.rpartition("/")
            blob = self._git("hash-object", "-w", "--stdin", "--no-filters", data=data).decode().strip()
            folders.setdefault(folder, []).append(f"100644 blob {blob}\t{name}\n")
        for folder in sorted(folders, reverse=True):
            if folder:
                tree_hash = self._git("mktree", data="".join(folders[folder]).encode()).decode().strip()
                folders[""].append(f"040000 tree {tree_hash}\t{folder}\n")
        return self._git("mktree", data="".join(folders[""]).encode()).decode().strip()

    def read(self, number: int, target: str) -> bytes | None:
        """Return one file of a version; None where it is not stored."""
        if not (self._folder / "HEAD").exists():
            return None
        try:
            return self._git("cat-file", "blob", f"refs/tags/v{number}:{target}")
        except GitFailed:
            return None
