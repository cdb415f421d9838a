"""Which command lines do what they say, and which run whatever is in files at that moment.

`make test` is as harmless as the Makefile, and a worker may write that. Fails closed: what is not known runs files.

The tables name options of programs that neither load code, nor run a program, nor read what to do from a file. Programs
of which all options are like that are in `ALL`; of the others only the options in `OPTIONS` are known. Names count in
full: the programs would take any beginning of one, and so hide `--compress-program` behind `--comp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from lumen_tui.model.patterns import lazy_re


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class ProgramOptions(NamedTuple):
    """`valued` takes the rest of its word, or the next one, as its value; `operand_never` begins no other word."""

    flags: str
    valued: str = ""
    long: str = ""
    operand_never: str = ""


ALL = _names(
    "basename cat cd chgrp chmod chown cmp comm cp cut date df dirname echo false free groups gunzip gzip head id "
    "kill ln ls md5sum mkdir mv nproc od paste printf ps pwd readlink realpath rev rm rmdir seq sha1sum sha256sum "
    "sha512sum sleep stat tac tail tee touch tr tree true truncate uname uniq uptime which whoami xxd zcat"
)
OPTIONS = {
    "curl": ProgramOptions(
        "sSLfOIivkGJRN46#0",
        "oXdHAebcuFTmrwzC",
        "silent show-error location fail fail-with-body output remote-name remote-name-all remote-header-name head "
        "include verbose insecure request data data-ascii data-raw data-binary data-urlencode json header user-agent "
        "referer cookie cookie-jar user get form form-string upload-file max-time connect-timeout range write-out "
        "compressed retry retry-delay retry-max-time create-dirs url http1.1 http2 ipv4 ipv6 no-progress-meter "
        "progress-bar remote-time continue-at time-cond max-redirs no-buffer limit-rate",
    ),
    "diff": ProgramOptions(
        "abBcdeEinNpqrstTuwy0123456789",
        "CUWxI",
        "brief unified context recursive new-file ignore-case ignore-all-space ignore-space-change ignore-blank-lines "
        "side-by-side width text report-identical-files exclude ignore-matching-lines color minimal normal label",
    ),
    "du": ProgramOptions(
        "abchDHkLlmPsSx0",
        "dtB",
        "all apparent-size bytes total max-depth human-readable inodes separate-dirs si summarize threshold time "
        "one-file-system exclude block-size dereference",
    ),
    "file": ProgramOptions("bihLNrvk0s", "", "brief mime mime-type mime-encoding dereference no-pad keep-going"),
    "grep": ProgramOptions(
        "EFGPivwxcLlqsonHhbraRIzUTy0123456789",
        "eABCmdD",
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case invert-match word-regexp line-regexp count "
        "files-without-match files-with-matches max-count only-matching quiet silent no-messages line-number "
        "byte-offset with-filename no-filename recursive dereference-recursive include exclude exclude-dir text regexp "
        "after-context before-context context binary-files color null null-data initial-tab",
    ),
    "install": ProgramOptions(
        "bcCdDpTv",
        "gmoSt",
        "backup compare directory group mode owner preserve-timestamps suffix target-directory no-target-directory "
        "verbose",
    ),
    "sort": ProgramOptions(
        "bdfghiMnrRVcCmsuz",
        "ktoST",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort month-sort "
        "numeric-sort random-sort reverse version-sort check key stable field-separator unique zero-terminated merge "
        "output buffer-size temporary-directory parallel",
    ),
    "strings": ProgramOptions(
        "afwd", "nteo", "all data bytes radix encoding print-file-name include-all-whitespace", "@"
    ),
    "wc": ProgramOptions("cmlLw", "", "bytes chars lines words max-line-length total"),
}

_SEEN = "pnsuSGbwzLMCrRDiEFcmt0123456789"  # of commits
GIT = {
    "add": ProgramOptions("AnufvN"),
    "blame": ProgramOptions("blwscefptnMC", "L"),
    "branch": ProgramOptions("adDfmMcCrvqtl", "u"),
    "checkout": ProgramOptions("fqtdl", "bB"),
    "cherry-pick": ProgramOptions("nx", "m"),
    "clean": ProgramOptions("dfnqxX"),
    "commit": ProgramOptions("aqsvnio", "mC"),
    "describe": ProgramOptions(""),
    "diff": ProgramOptions(_SEEN, "U"),
    "fetch": ProgramOptions("aptnqvfk46", "j"),
    "init": ProgramOptions("q", "b"),
    "log": ProgramOptions(_SEEN, "U"),
    "ls-files": ProgramOptions("cdmosuztv", "x"),
    "merge": ProgramOptions("nq", "mX"),
    "mv": ProgramOptions("fknv"),
    "pull": ProgramOptions("qvfanrpt46", "X"),
    "push": ProgramOptions("qvnufd46", "o"),
    "remote": ProgramOptions("vf", "tm"),
    "reset": ProgramOptions("qN"),
    "restore": ProgramOptions("WSq", "s"),
    "rev-parse": ProgramOptions(""),
    "revert": ProgramOptions("n", "m"),
    "rm": ProgramOptions("rfnq"),
    "shortlog": ProgramOptions("nse"),
    "show": ProgramOptions(_SEEN, "U"),
    "stash": ProgramOptions("uakqS", "m"),
    "status": ProgramOptions("sbuvz"),
    "switch": ProgramOptions("qdft", "cC"),
    "tag": ProgramOptions("adflnv", "m"),
    "worktree": ProgramOptions("fdqv", "bB"),
}
GIT_LONG = _names(
    "abbrev abbrev-commit abort after all allow-empty allow-empty-message always amend annotate atomic author "
    "autostash before branches cached color continue contains copy date decorate deepen delete delete-merged depth "
    "detach diff-filter dirty dry-run exact-match exclude-standard fast-forward ff ff-only first-parent fixup follow "
    "force force-with-lease format graph grep hard ignored ignore-all-space ignore-space-change include-untracked "
    "initial-branch keep keep-index left-right list long mainline match max-count merge merges message merged mixed "
    "modified move name-only name-status no-abbrev-commit no-color no-commit no-decorate no-edit no-ff no-merged no- "
    "merges no-patch no-rebase no-stat no-tags no-track no-verify numbered numstat oneline onto others orphan ours "
    "parents patch points-at porcelain pretty prune prune-tags push-option quiet quit raw rebase recursive relative "
    "remotes reuse-message reverse set-upstream set-upstream-to shallow-since short shortstat show-current show-email "
    "show-toplevel signoff since skip soft source squash stage staged stat staged subject summary tags theirs topo- "
    "order track unified unset-upstream until untracked untracked-files update update-refs verbose verify word-diff "
    "worktree"
)
GIT_SAYS = ("-m", "-C", "--message", "--reuse-message", "--no-edit", "--fixup")  # a commit without asks an editor

SYSTEMCTL = _names("start stop restart reload try-restart reload-or-restart is-active is-enabled is-failed")
SYSTEMCTL_SHOWS = _names("status show list-units list-timers list-sockets list-unit-files")  # through a pager
SYSTEMCTL_LONG = _names("no-pager quiet no-block no-wall wait user system all plain no-legend full")

# Not among the programs, on purpose: interpreters, build tools, test runners, package managers, sed, awk, tar, unzip,
# rsync and xargs (which can be told to run programs, or unpack what is in a file), ssh, sudo, env, docker.
_TAKES_WHAT_IS_THERE = lazy_re(r"[$`*?\[\]<~(){}!\\\"']")  # variables, patterns, input; quotes hide where words end
_NAMES_A_PROGRAM = lazy_re(r"--?(?!-?no-)[\w-]*(?:exec|program|command|pack|pager)")  # as of sort and of git push
_GOES_BY = {
    "make": ("GNUmakefile", "makefile", "Makefile"), "npm": ("package.json",), "npx": ("package.json",),
    "yarn": ("package.json",), "pnpm": ("package.json",), "just": ("justfile", "Justfile"),
    "cargo": ("Cargo.toml", "build.rs"),
    "pytest": ("conftest.py", "pyproject.toml", "pytest.ini", "setup.cfg"), "tox": ("tox.ini", "pyproject.toml"),
    "ninja": ("build.ninja",), "rake": ("Rakefile",), "docker": ("Dockerfile",), "terraform": ("main.tf",),
    "ansible-playbook": ("ansible.cfg",), "gradle": ("build.gradle", "build.gradle.kts"), "mvn": ("pom.xml",),
}  # fmt: skip
_MOST_FILES = 60
_ONE_OUTPUT = lazy_re(r"\d?>&\d")
_BLANKS = lazy_re(r"[ \t]+")  # all that a shell takes for such
_JOINS = lazy_re(r"[;&|\n]+")
_HELPED = lazy_re(r"::|%G")  # git starts a helper for such an address, and a program that looks at signatures
_IS_PATH = lazy_re(r"[./]|file:")
_NAME = lazy_re(r"[A-Za-z0-9_.+-]+")


def runs_files(command: str) -> str:
    """What in a command line runs, or goes by, what is in files: a program's name; empty where nothing does."""
    for part in _JOINS.split(_plain(command)):
        words = [word for word in _BLANKS.split(part) if word]
        if words and (program := _runner(words)):
            return program
    return ""


def files_of(command: str) -> list[str]:
    """Return the names of files that a command line runs or goes by, as far as they are in it or are its program's
    own; empty where it does what it says. Not all of them need be there."""
    if not runs_files(command):
        return []
    names = []
    for part in _JOINS.split(_plain(command)):
        words = [word for word in _BLANKS.split(part) if word]
        names += [name for word in words if (name := word.rpartition("=")[2]) and not name.startswith("-")]
        names += _GOES_BY.get(words[0].rpartition("/")[2], ()) if words else ()
    return list(dict.fromkeys(names))[:_MOST_FILES]


def _plain(command: str) -> str:
    """Return the line with quoted texts as one plain word each, where nothing in them is replaced."""
    line = _ONE_OUTPUT.sub("", command)
    return re.sub(r"'[^']*'|\"[^\"$`\\]*\"", lambda text: re.sub(r"[^\w./@:=-]", "_", text[0][1:-1]) or "_", line)


def _runner(words: list[str]) -> str:
    first = words[0]
    if not _NAME.fullmatch(first):
        return first.partition("=")[0][:60]  # a path, a variable that is set, or what is put together only then
    if any(_TAKES_WHAT_IS_THERE.search(word) for word in words):
        return f"{first} with what is put in only then"
    if any(_NAMES_A_PROGRAM.match(word) for word in words):
        return f"{first} with a program of its own"
    if first in ALL:
        return ""
    if option := _strange(words):
        return f"{first} with {option[:60]}"
    return "" if first in _KNOWN else first


_KNOWN = frozenset(("git", "systemctl", *OPTIONS))


def _strange(words: list[str]) -> str:
    """Return the first word of a program of which not all options are harmless that is not known to be; else empty."""
    first, *arguments = words
    if first == "git":
        return _strange_git(arguments)
    if first == "systemctl":
        return _strange_systemctl(arguments)
    options = OPTIONS.get(first)
    return _unknown(arguments, options, options.long.split()) if options else ""


def _unknown(words: list[str], options: ProgramOptions, long: Iterable[str]) -> str:
    """Return the first word that is an option and not among these, or an operand that is more than that."""
    for word in words:
        if word.startswith("--"):
            fits = word == "--" or word[2:].partition("=")[0] in long
        elif word.startswith("-"):
            fits = _cluster_fits(word[1:], options)
        else:
            fits = not (options.operand_never and word.startswith(options.operand_never))
        if not fits:
            return word
    return ""


def _cluster_fits(letters: str, options: ProgramOptions) -> bool:
    """Return whether `-abc` holds harmless options only; what follows a letter that takes a value is that value."""
    for letter in letters:
        if letter in options.valued:
            return True
        if letter not in options.flags:
            return False
    return True


def _strange_git(words: list[str]) -> str:
    name = words[0] if words else ""
    if name not in GIT:
        return "a setting"
    if helped := next((word for word in words if _HELPED.search(word)), ""):
        return helped
    if name in ("push", "pull", "fetch") and (path := next((word for word in words if _IS_PATH.match(word)), "")):
        return path  # the hooks of a repository at hand run as well
    if name == "commit" and not any(_says(word) for word in words):
        return "an editor"
    return _unknown(words[1:], GIT[name], GIT_LONG)


def _says(word: str) -> bool:
    """Return whether the word brings the message of a commit with it."""
    cluster = word.startswith("-") and not word.startswith("--") and ("m" in word or "C" in word)
    return cluster or word.partition("=")[0] in GIT_SAYS


def _strange_systemctl(words: list[str]) -> str:
    """Return a verb that is not known, a unit by its path, an option; what is paged must say that it is not to be."""
    verb = next((word for word in words if not word.startswith("-")), "")
    if verb not in SYSTEMCTL and not (verb in SYSTEMCTL_SHOWS and "--no-pager" in words):
        return verb or "nothing"
    if path := next((word for word in words if "/" in word), ""):
        return path
    return _unknown(words, ProgramOptions("q"), SYSTEMCTL_LONG)
