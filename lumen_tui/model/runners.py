"""Which command lines do what they say, and which run whatever stands in files at that moment.

`make test` is as harmless as the Makefile, and a worker may write that. Fails closed: what is not known runs files.
"""

from __future__ import annotations

import re

# Programs that do what their words say. Not among them, on purpose: interpreters, build tools, test runners, package
# managers, sed, awk, tar, rsync and xargs (which can be told to run programs), ssh, sudo, env, docker.
_DO_AS_TOLD = (
    "basename", "cat", "cd", "chgrp", "chmod", "chown", "cmp", "comm", "cp", "curl", "cut", "date", "df", "diff",
    "dirname", "du", "echo", "false", "file", "free", "grep", "groups", "gunzip", "gzip", "head", "id", "install",
    "kill", "ln", "ls", "md5sum", "mkdir", "mv", "nproc", "od", "paste", "printf", "ps", "pwd", "readlink", "realpath",
    "rev", "rm", "rmdir", "seq", "sha1sum", "sha256sum", "sha512sum", "sleep", "sort", "stat", "strings", "systemctl",
    "tac", "tail", "tee", "touch", "tr", "tree", "true", "truncate", "uname", "uniq", "unzip", "uptime", "wc", "which",
    "whoami", "xxd", "zcat",
)  # fmt: skip
_GIT = (
    "add", "blame", "branch", "checkout", "cherry-pick", "clean", "commit", "describe", "diff", "fetch", "init", "log",
    "ls-files", "merge", "mv", "pull", "push", "remote", "reset", "restore", "rev-parse", "revert", "rm", "shortlog",
    "show", "stash", "status", "switch", "tag", "worktree",
)  # fmt: skip
_TAKES_WHAT_IS_THERE = re.compile(r"[$`*?\[\]<~(){}!\\\"']")  # variables, patterns, input; quotes hide where words end
_NAMES_A_PROGRAM = re.compile(r"--?[\w-]*(?:exec|program|command|pack|pager)")  # as of sort and of git push
_ONE_OUTPUT = re.compile(r"\d?>&\d")
_BLANKS = re.compile(r"[ \t]+")  # all that a shell takes for such
_JOINS = re.compile(r"[;&|\n]+")
_NAME = re.compile(r"[A-Za-z0-9_.+-]+")


def runs_files(command: str) -> str:
    """What in a command line runs, or goes by, what stands in files: a program's name; empty where nothing does."""
    for part in _JOINS.split(_plain(command)):
        words = [word for word in _BLANKS.split(part) if word]
        if words and (found := _runner(words)):
            return found
    return ""


def _plain(command: str) -> str:
    """The line with quoted texts as one plain word each, where nothing in them is replaced."""
    line = _ONE_OUTPUT.sub("", command)
    return re.sub(r"'[^']*'|\"[^\"$`\\]*\"", lambda text: re.sub(r"[^\w./-]", "_", text[0][1:-1]) or "_", line)


def _runner(words: list[str]) -> str:
    first = words[0]
    if not _NAME.fullmatch(first):
        return first.partition("=")[0][:60]  # a path, a variable that is set, or what is put together only then
    if any(_TAKES_WHAT_IS_THERE.search(word) for word in words):
        return f"{first} with what is put in only then"
    if any(_NAMES_A_PROGRAM.match(word) for word in words):
        return f"{first} with a program of its own"
    if first == "git":
        return "" if len(words) > 1 and words[1] in _GIT else "git with a setting"
    return "" if first in _DO_AS_TOLD else first
