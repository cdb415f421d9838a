"""Runs git, and none of the programs that a repository names: the only module that starts it.

Hooks, filters, monitors, text converters, diff and merge drivers, signing, pagers, editors, credential and transport
helpers are configuration that a repository brings along, and whoever may write to it may change it. Those with a fixed
name are overridden through the environment, which outranks every file. Those with free names (filters, drivers) are
only safe where git reads no configuration of the repository at all: `apart` shares its objects and has settings of its
own. No protocol is allowed, so that no remote helper starts; the user's and the system's configuration is not read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from lumen_tui.model.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

SECONDS = 20.0  # for one command, unless somebody waits for it
OBJECT_FORMATS = ("sha1", "sha256")
HEX = frozenset("0123456789abcdef")
_MOST_MESSAGE = 200
_AUTHOR = ("lumen", "lumen@localhost")
# Settings with a fixed name that run a program or lead elsewhere.
_OVERRIDES = {
    "core.fsmonitor": "false", "core.hooksPath": "/dev/null", "core.pager": "cat", "core.alternateRefsCommand": "true",
    "core.sshCommand": "false", "core.askPass": "false", "core.editor": "false", "core.gitProxy": "", "gc.auto": "0",
    "core.attributesFile": "/dev/null", "core.fsync": "all", "protocol.allow": "never", "log.showSignature": "false",
    "commit.gpgSign": "false", "tag.gpgSign": "false", "push.gpgSign": "false", "gpg.program": "false",
    "gpg.openpgp.program": "false", "gpg.x509.program": "false", "gpg.ssh.program": "false",
    "diff.external": "", "diff.submodule": "short", "diff.ignoreSubmodules": "all",
    "submodule.recurse": "false", "credential.helper": "", "sequence.editor": "false", "maintenance.auto": "false",
    "init.templateDir": "", "safe.bareRepository": "explicit", "core.untrackedCache": "false",
    "core.splitIndex": "false", "index.sparse": "false",
}  # fmt: skip

_TRANSPORT = ("core.sshCommand", "core.askPass", "credential.helper", "protocol.allow", "safe.bareRepository")
_OF_THE_USER = ("HOME", "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")


class GitFailed(OSError):
    """A git command failed; the text is its last message, safe to show."""


class GitMissing(GitFailed):
    """git cannot be started."""


class GitTooSlow(GitFailed):
    """git did not end in time."""


class Git:
    """git in one folder. With `seconds` there is a deadline for everything together, else one for each command."""

    def __init__(self, folder: str, *, path: str = "", seconds: float = 0.0, settings: Sequence[str] = ()) -> None:
        """`path` is the PATH to find git in; `settings` are `name=value`, in force beside the overrides."""
        self.folder = os.path.abspath(folder)
        self._settings = tuple(settings)
        self._environ = {"PATH": path or os.environ.get("PATH", os.defpath), **_environment()}
        self._end = time.monotonic() + seconds if seconds else 0.0

    def at(self, *, settings: Sequence[str] = (), seconds: float = 0.0, **variables: str) -> Git:
        """Return git in the same folder with these settings and variables (GIT_DIR, GIT_INDEX_FILE, ...)."""
        other = Git(self.folder, path=self._environ["PATH"], seconds=seconds, settings=settings)
        other._end = self._end if not seconds else other._end
        other._environ = {**self._environ, **variables}
        return other

    def __call__(self, *words: str, data: bytes = b"", seconds: float = 0.0) -> bytes:
        """Return what the command prints. GitFailed where it does not end well."""
        return self._run(words, data, seconds, None).stdout or b""

    def into(self, out: int, *words: str) -> None:
        """Write what the command prints to an open file, however much that is."""
        self._run(words, b"", 0.0, out)

    def line(self, *words: str) -> str:
        """Return one line of the answer, safe to show; empty where git has none."""
        try:
            return line_of(self(*words))
        except (GitMissing, GitTooSlow):
            raise
        except GitFailed:
            return ""

    def _run(
        self, words: Sequence[str], data: bytes, seconds: float, out: int | None
    ) -> subprocess.CompletedProcess[bytes]:
        import subprocess  # 10 ms that only those pay who need it

        options = [word for setting in self._settings for word in ("-c", setting)]
        limit = seconds or (max(0.01, self._end - time.monotonic()) if self._end else SECONDS)
        try:
            return subprocess.run(
                ["git", "--no-pager", "--no-optional-locks", *options, *words],
                cwd=self.folder,
                env=self._environ,
                input=data,
                stdout=subprocess.PIPE if out is None else out,
                stderr=subprocess.PIPE,
                timeout=limit,
                check=True,
                umask=0o077,
            )
        except subprocess.TimeoutExpired as error:
            raise GitTooSlow(f"git {words[0]} took longer than {limit:g} s") from error
        except subprocess.CalledProcessError as error:
            raise GitFailed(_last_message(error.stderr)) from error
        except OSError as error:
            if not os.path.isdir(self.folder):
                raise GitFailed(f"{safe(self.folder)} is gone") from error
            raise GitMissing(f"git cannot be run: {error.strerror}") from error

    @contextmanager
    def apart(self, root: str, settings: Sequence[str]) -> Iterator[Git]:
        """Yield git on the same objects, index and working tree, with these settings and no others."""
        import tempfile  # 2 ms, of which most commands of git need nothing

        object_format = self.line("rev-parse", "--show-object-format")
        with tempfile.TemporaryDirectory(prefix="lumen-git-") as git_dir:
            make_bare(self, git_dir, object_format)
            yield self.at(
                settings=settings,
                GIT_DIR=git_dir,
                GIT_WORK_TREE=root,
                GIT_OBJECT_DIRECTORY=self.place("objects"),
                GIT_INDEX_FILE=self.place("index"),
            )

    def with_transport(self) -> Git:
        """Return git that may reach a server by https and ssh, with the user's own configuration and credentials.

        For repositories made by `apart` alone: what such a configuration says of remotes and hooks is not in force.
        """
        other = self.at(GIT_ALLOW_PROTOCOL="https:ssh", GIT_SSH_COMMAND="ssh -oBatchMode=yes")
        other._environ |= {name: os.environ[name] for name in _OF_THE_USER if name in os.environ}
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "XDG_CONFIG_HOME", "GIT_ASKPASS"):
            other._environ.pop(name, None)
        overrides = {name: value for name, value in _OVERRIDES.items() if name not in _TRANSPORT}
        other._environ |= _numbered(overrides)
        return other

    def place(self, name: str) -> str:
        """Return the real path of a part of the git folder, such as `objects`."""
        path = os.fsdecode(self("rev-parse", "--git-path", name)).removesuffix("\n")
        return os.path.realpath(os.path.join(self.folder, path))


def make_bare(git: Git, git_dir: str, object_format: str) -> None:
    """Make a bare repository without a template. GitFailed for a format that this program does not know."""
    if object_format not in OBJECT_FORMATS:
        raise GitFailed(f"the repository names its objects by {object_format or 'something unknown'}")
    git("init", "--bare", "--quiet", "--template=", f"--object-format={object_format}", git_dir)


def line_of(output: bytes) -> str:
    """Return the answer of git without the line's end, safe to show."""
    return safe(output.decode("utf-8", "replace").strip())


def is_hash(text: str) -> bool:
    """Return whether a text is the full name of an object."""
    return len(text) in (40, 64) and set(text) <= HEX


def _last_message(stderr: bytes) -> str:
    messages = stderr.decode("utf-8", "replace").strip().splitlines()
    fatal = [line for line in messages if line.startswith(("fatal: ", "error: "))]
    return safe((fatal or messages or ["git failed"])[-1])[:_MOST_MESSAGE]


def _environment() -> dict[str, str]:
    """Return what keeps git from running what a configuration names, and from reading the user's and the system's."""
    name, mail = _AUTHOR
    variables = {
        "LC_ALL": "C.UTF-8",
        "HOME": "/nonexistent",
        "XDG_CONFIG_HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_ASKPASS": "false",
        "GIT_SSH_COMMAND": "false",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": mail,
    }
    return variables | _numbered(_OVERRIDES)


def _numbered(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as git reads them from the environment."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"], variables[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return variables
