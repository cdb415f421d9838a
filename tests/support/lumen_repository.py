"""A repository to work in, and everything by which one brings programs along: each would leave a mark."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

_HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit",
    "pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg", "push-to-checkout", "reference-transaction",
    "sendemail-validate", "update",
)  # fmt: skip


class Repository:
    """`repository("commit", ...)` runs git in it without anybody's configuration."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        self("init", "-q", "-b", "main")

    def __call__(self, *words: str, data: bytes = b"") -> str:
        environ = {
            "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "t",
            "GIT_COMMITTER_EMAIL": "t@example.org", "GIT_ALLOW_PROTOCOL": "file",
        }  # fmt: skip
        ran = subprocess.run(["git", *words], cwd=self.root, env=environ, input=data, capture_output=True, check=True)
        return ran.stdout.decode(errors="surrogateescape").strip()

    def write(self, name: str, content: str | bytes) -> Path:
        """Write one file, with its folders."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def commit(self, **files: str | bytes) -> str:
        """Commit these files (`a__txt` is a.txt) and all else; return the commit."""
        for name, content in files.items():
            self.write(name.replace("__", "."), content)
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "a change")
        return self("rev-parse", "HEAD")

    def append(self, name: str, text: str) -> None:
        """Append to a file of the repository, such as .git/config."""
        with (self.root / name).open("a") as stream:
            stream.write(text)


class Canary:
    """A program that leaves a mark where it runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.mark = folder / "ran"
        self.program = folder / "program.sh"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\ncat 2>/dev/null\nexit 0\n')
        self.program.chmod(0o755)

    @property
    def sang(self) -> str:
        """What ran; empty where nothing did."""
        return self.mark.read_text() if self.mark.exists() else ""


def _setting(name: str, attributes: str = "") -> Callable[[Repository, Canary], None]:
    def plant(repository: Repository, canary: Canary) -> None:
        repository("config", name, str(canary.program))
        if attributes:
            repository.write(".gitattributes", f"* {attributes}\n")

    return plant


def _hooks(repository: Repository, canary: Canary) -> None:
    for name in _HOOKS:
        hook = repository.write(f".git/hooks/{name}", canary.program.read_text())
        hook.chmod(0o755)


def _hooks_elsewhere(repository: Repository, canary: Canary) -> None:
    _hooks(repository, canary)
    (repository.root / ".git/hooks").rename(repository.root / "own-hooks")
    repository("config", "core.hooksPath", "own-hooks")


def _filter(kind: str) -> Callable[[Repository, Canary], None]:
    def plant(repository: Repository, canary: Canary) -> None:
        repository("config", f"filter.evil.{kind}", f"{canary.program} %f")
        repository("config", "filter.evil.required", "true")
        repository.write(".gitattributes", "* filter=evil\n")

    return plant


def _included(condition: str) -> Callable[[Repository, Canary], None]:
    def plant(repository: Repository, canary: Canary) -> None:
        repository.write(
            "more.cfg", f'[core]\n\tfsmonitor = {canary.program}\n[filter "evil"]\n\tsmudge = {canary.program}\n'
            f"\tclean = {canary.program}\n[alias]\n\tstatus = !{canary.program}\n"
        )  # fmt: skip
        repository.write(".gitattributes", "* filter=evil\n")
        repository.append(".git/config", f"[{condition}]\n\tpath = {repository.root / 'more.cfg'}\n")

    return plant


def _alias(repository: Repository, canary: Canary) -> None:
    for name in ("status", "rev-parse", "diff", "ls-files", "commit-tree", "update-ref", "read-tree", "push"):
        repository("config", f"alias.{name}", f"!{canary.program}")


def _pagers(repository: Repository, canary: Canary) -> None:
    for name in ("status", "diff", "log", "ls-files", "config"):
        repository("config", f"pager.{name}", str(canary.program))


def _remote(url: str) -> Callable[[Repository, Canary], None]:
    def plant(repository: Repository, canary: Canary) -> None:
        repository("config", "remote.origin.url", url.replace("PROGRAM", str(canary.program)))
        repository("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
        for name in ("uploadpack", "receivepack", "vcs"):
            repository("config", f"remote.origin.{name}", str(canary.program))
        repository("config", "branch.main.remote", "origin")

    return plant


def _partial(repository: Repository, canary: Canary) -> None:
    _remote("ext::PROGRAM")(repository, canary)
    repository("config", "extensions.partialClone", "origin")
    repository("config", "core.repositoryFormatVersion", "1")
    repository("config", "remote.origin.promisor", "true")
    repository("config", "protocol.ext.allow", "always")


def _signing(repository: Repository, canary: Canary) -> None:
    for name in ("commit.gpgSign", "tag.gpgSign", "push.gpgSign", "log.showSignature"):
        repository("config", name, "true")
    for name in ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "gpg.openpgp.program"):
        repository("config", name, str(canary.program))


def _submodule(repository: Repository, canary: Canary) -> None:
    head = repository("rev-parse", "HEAD")
    repository.write(".gitmodules", f'[submodule "sub"]\n\tpath = sub\n\turl = ext::{canary.program}\n')
    repository("update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    repository("config", "submodule.sub.url", f"ext::{canary.program}")
    repository("config", "submodule.sub.update", f"!{canary.program}")
    repository("config", "submodule.recurse", "true")


def _inner_repository(repository: Repository, canary: Canary) -> None:
    inner = Repository(repository.root / "inner")
    inner.commit(a__txt="inner\n")
    _hooks(inner, canary)
    inner("config", "core.fsmonitor", str(canary.program))


PLANTS: dict[str, Callable[[Repository, Canary], None]] = {
    "hooks": _hooks,
    "hooks elsewhere": _hooks_elsewhere,
    "filter clean": _filter("clean"),
    "filter smudge": _filter("smudge"),
    "filter process": _filter("process"),
    "fsmonitor": _setting("core.fsmonitor"),
    "textconv": _setting("diff.evil.textconv", "diff=evil"),
    "external diff of a driver": _setting("diff.evil.command", "diff=evil"),
    "external diff": _setting("diff.external"),
    "merge driver": _setting("merge.evil.driver", "merge=evil"),
    "signing": _signing,
    "credential helper": _setting("credential.helper"),
    "askpass": _setting("core.askPass"),
    "ssh command": _setting("core.sshCommand"),
    "git proxy": _setting("core.gitProxy"),
    "alternate refs": _setting("core.alternateRefsCommand"),
    "pager": _setting("core.pager"),
    "pagers of commands": _pagers,
    "editor": _setting("core.editor"),
    "alias": _alias,
    "include": _included("include"),
    "includeIf": _included('includeIf "gitdir:**"'),
    "ext remote": _remote("ext::PROGRAM %S"),
    "remote helper": _remote("evil::here"),
    "partial clone": _partial,
    "submodule": _submodule,
    "repository inside": _inner_repository,
    "pack objects hook": _setting("uploadpack.packObjectsHook"),
    "trailer command": _setting("trailer.sign.command"),
}
