"""Options of programs that neither load code, nor run a program, nor read what to do from a file.

Programs of which all options are like that stand in ALL; of the others only the options in OPTIONS are known. Names
count in full: the programs would take any beginning of one, and so hide `--compress-program` behind `--comp`.
"""

from __future__ import annotations

from typing import NamedTuple


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Options(NamedTuple):
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
    "curl": Options(
        "sSLfOIivkGJRN46#0", "oXdHAebcuFTmrwzC",
        "silent show-error location fail fail-with-body output remote-name remote-name-all remote-header-name head "
        "include verbose insecure request data data-ascii data-raw data-binary data-urlencode json header user-agent "
        "referer cookie cookie-jar user get form form-string upload-file max-time connect-timeout range write-out "
        "compressed retry retry-delay retry-max-time create-dirs url http1.1 http2 ipv4 ipv6 no-progress-meter "
        "progress-bar remote-time continue-at time-cond max-redirs no-buffer limit-rate",
    ),
    "diff": Options(
        "abBcdeEinNpqrstTuwy0123456789", "CUWxI",
        "brief unified context recursive new-file ignore-case ignore-all-space ignore-space-change ignore-blank-lines "
        "side-by-side width text report-identical-files exclude ignore-matching-lines color minimal normal label",
    ),
    "du": Options(
        "abchDHkLlmPsSx0", "dtB",
        "all apparent-size bytes total max-depth human-readable inodes separate-dirs si summarize threshold time "
        "one-file-system exclude block-size dereference",
    ),
    "file": Options("bihLNrvk0s", "", "brief mime mime-type mime-encoding dereference no-pad keep-going"),
    "grep": Options(
        "EFGPivwxcLlqsonHhbraRIzUTy0123456789", "eABCmdD",
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case invert-match word-regexp line-regexp count "
        "files-without-match files-with-matches max-count only-matching quiet silent no-messages line-number "
        "byte-offset with-filename no-filename recursive dereference-recursive include exclude exclude-dir text regexp "
        "after-context before-context context binary-files color null null-data initial-tab",
    ),
    "install": Options(
        "bcCdDpTv", "gmoSt",
        "backup compare directory group mode owner preserve-timestamps suffix target-directory no-target-directory "
        "verbose",
    ),
    "sort": Options(
        "bdfghiMnrRVcCmsuz", "ktoST",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort month-sort "
        "numeric-sort random-sort reverse version-sort check key stable field-separator unique zero-terminated merge "
        "output buffer-size temporary-directory parallel",
    ),
    "strings": Options("afwd", "nteo", "all data bytes radix encoding print-file-name include-all-whitespace", "@"),
    "wc": Options("cmlLw", "", "bytes chars lines words max-line-length total"),
}  # fmt: skip

_SEEN = "pnsuSGbwzLMCrRDiEFcmt0123456789"  # of commits
GIT = {
    "add": Options("AnufvN"), "blame": Options("blwscefptnMC", "L"), "branch": Options("adDfmMcCrvqtl", "u"),
    "checkout": Options("fqtdl", "bB"), "cherry-pick": Options("nx", "m"), "clean": Options("dfnqxX"),
    "commit": Options("aqsvnio", "mC"), "describe": Options(""), "diff": Options(_SEEN, "U"),
    "fetch": Options("aptnqvfk46", "j"), "init": Options("q", "b"), "log": Options(_SEEN, "U"),
    "ls-files": Options("cdmosuztv", "x"), "merge": Options("nq", "mX"), "mv": Options("fknv"),
    "pull": Options("qvfanrpt46", "X"), "push": Options("qvnufd46", "o"), "remote": Options("vf", "tm"),
    "reset": Options("qN"), "restore": Options("WSq", "s"), "rev-parse": Options(""), "revert": Options("n", "m"),
    "rm": Options("rfnq"), "shortlog": Options("nse"), "show": Options(_SEEN, "U"), "stash": Options("uakqS", "m"),
    "status": Options("sbuvz"), "switch": Options("qdft", "cC"), "tag": Options("adflnv", "m"),
    "worktree": Options("fdqv", "bB"),
}  # fmt: skip
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
