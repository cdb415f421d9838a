"""git for the read-only shell: six subcommands, options from a table, and a repository that runs nothing.

A repository's own configuration can name programs (diff drivers, filters, fsmonitor, gpg). The ones with a
fixed name are overridden from the environment, which outranks every file; filters have free names, so a
repository that sets one is refused. The user's and the system's configuration is not read at all.
"""

from __future__ import annotations

import os
import re
import subprocess

from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files.below import is_below
from lumen_tui.tools.files.paths import forbidden
from lumen_tui.tools.shell.programs import Program, parse

_OVERRIDES = {
    "core.fsmonitor": "false", "core.hooksPath": "/dev/null", "core.pager": "cat", "core.alternateRefsCommand": "true",
    "core.sshCommand": "false", "core.askPass": "false", "core.editor": "false", "protocol.allow": "never",
    "log.showSignature": "false", "gpg.program": "false", "gpg.openpgp.program": "false", "gpg.x509.program": "false",
    "gpg.ssh.program": "false", "diff.submodule": "short", "diff.ignoreSubmodules": "all", "submodule.recurse": "false",
    "credential.helper": "", "safe.bareRepository": "explicit",
}  # fmt: skip
_OWN_PROGRAMS = re.compile(
    r"filter\..*\.(?:clean|smudge|process)|diff\..*\.(?:command|textconv)|gpg\..*command|remote\..*\.(?:vcs|uploadpack)"
    r"|extensions\.partialclone",
    re.IGNORECASE,
)
_COMMON = (
    "oneline decorate no-decorate graph all branches tags stat shortstat numstat name-only name-status summary patch "
    "no-patch abbrev-commit date since until after before author committer grep format pretty max-count skip reverse "
    "no-merges merges first-parent follow topo-order date-order word-diff color no-color unified ignore-all-space "
    "ignore-space-change find-renames no-renames diff-filter cached staged relative left-right cherry-pick all-match "
    "invert-grep regexp-ignore-case raw minimal patience histogram no-prefix"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOG = Program("pscvwbiEFMRzU", "nSGL", _words(_COMMON), number=True)
_SUBCOMMANDS: dict[str, Program] = {
    "log": _LOG,
    "show": _LOG,
    "diff": _LOG,
    "status": Program("sbvz", "", _words("short branch porcelain long untracked-files ignored")),
    "blame": Program("lswtfnpMC", "L", _words("porcelain date since abbrev show-email show-name")),
    "ls-files": Program("cdmostvz", "x", _words("cached deleted modified others stage exclude-standard full-name")),
    "shortlog": Program("nse", "", _words("summary numbered email since until all no-merges")),
    "rev-parse": Program("", "", _words("show-toplevel abbrev-ref is-inside-work-tree short verify")),
}  # fmt: skip
_NO_DRIVERS = ("log", "show", "diff")


def prepare(context: Context, argv: list[str], cwd: str) -> tuple[list[str], str]:
    """The command that really runs and its folder; ToolError where it is not a read-only one."""
    rest, where = _leading(argv[1:], cwd)
    if not rest or rest[0] not in _SUBCOMMANDS:
        named = rest[0][:40] if rest else "nothing"
        raise ToolError(f"git {named!r} is not allowed here: only {', '.join(_SUBCOMMANDS)}, and -C before them")
    name, *arguments = rest
    if any("%G" in argument for argument in arguments):
        raise ToolError("git formats with %G run a signature program and are not allowed")
    operands = list(parse(f"git {name}", _SUBCOMMANDS[name], arguments))
    if why := forbidden(context, os.path.realpath(where)):
        raise ToolError(why)
    _check_repository(context, where)
    if name == "diff":
        _check_inside(context, os.path.realpath(where), operands)
    if name == "shortlog" and not [a for a in arguments if not a.startswith("-")]:
        arguments.append("HEAD")  # without a revision it reads its standard input
    drivers = ["--no-ext-diff", "--no-textconv"] if name in _NO_DRIVERS else []
    quiet = ["--ignore-submodules=all"] if name in ("status", "diff") else []
    return ["git", "--no-pager", "--no-optional-locks", name, *drivers, *quiet, *arguments], where


def _leading(arguments: list[str], cwd: str) -> tuple[list[str], str]:
    """Take `--no-pager` and `-C folder` off the front."""
    where = cwd
    while arguments and arguments[0] in ("--no-pager", "-C"):
        if arguments[0] == "-C" and len(arguments) > 1:
            where = os.path.join(where, arguments[1])
            arguments = arguments[1:]
        arguments = arguments[1:]
    return arguments, where


def environment() -> dict[str, str]:
    """What every git of the read-only shell gets."""
    found = {
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_ASKPASS": "false",
        "GIT_CONFIG_COUNT": str(len(_OVERRIDES)), "GIT_ATTR_NOSYSTEM": "1",
    }  # fmt: skip
    for number, (key, value) in enumerate(_OVERRIDES.items()):
        found[f"GIT_CONFIG_KEY_{number}"], found[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return found


def _ask(context: Context, where: str, *words: str) -> str:
    """What git says, empty where it fails."""
    env = {"PATH": context.environ.get("PATH", os.defpath), **environment()}
    try:
        said = subprocess.run(
            ["git", *words], cwd=where, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise ToolError(f"git is not installed here, or {where} is gone: install the package `git`") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"git cannot be asked about {where}: {error}") from error
    return said.stdout.decode("utf-8", "replace")


def _check_inside(context: Context, where: str, operands: list[str]) -> None:
    """ToolError where git would compare any two files: it does where there is no repository, or a path leads out."""
    top = _ask(context, where, "rev-parse", "--show-toplevel").rstrip("\n")
    if not top:
        raise ToolError("git diff needs a repository here: diff compares files")
    for operand in operands:
        if not is_below(os.path.normpath(os.path.join(where, operand)), top):
            raise ToolError(f"git diff {operand[:80]!r} is outside the repository {top}: diff compares files")


def _check_repository(context: Context, where: str) -> None:
    """ToolError where the repository's own configuration names programs that git would run."""
    for name in _ask(context, where, "config", "--list", "--name-only", "-z").split("\0"):
        if _OWN_PROGRAMS.fullmatch(name):
            raise ToolError(f"the repository's configuration sets {name[:80]!r}, which runs a program: not read here")
