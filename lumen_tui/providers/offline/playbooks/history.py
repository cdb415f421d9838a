"""git-log: how many commits, by whom, when, what changed; the branch, tags and what is not committed."""

from __future__ import annotations

import os.path
import re
import shlex
from collections import Counter
from collections.abc import Callable, Generator

from lumen_tui.providers.base import Reply, Step
from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.periods import Period
from lumen_tui.providers.offline.playbooks import repository
from lumen_tui.providers.offline.playbooks.commits import (
    FORMAT,
    Commit,
    author_named,
    commits_by_author,
    limits_of,
    parse_log,
)
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    TooMuchOutput,
    code,
    line,
    many,
    output_of,
    table,
)
from lumen_tui.providers.offline.vocabulary import words

_LISTED = 15
_DIGEST = 200
_ABOUT_GIT = words(
    "git commit commits committed repository repo history branch branches tag tags uncommitted untracked unstaged "
    "dirty working authors author contributors contributor committers committer touched changed edited modified "
    "wrote worked"
)
_FIRST = words("first oldest earliest initial")


def _fields(ask: Asked) -> Fields | None:
    view = _view(ask)
    if view is None or (ask.quoted and view not in ("count", "digest", "list")):
        return None
    pattern = ask.quoted[0] if ask.quoted else ""
    if pattern and not ask.has(
        "mention",
        "mentions",
        "mentioning",
        "contain",
        "contains",
        "containing",
        "message",
        "messages",
        "about",
        "with",
        "say",
        "saying",
    ):
        return None
    return {"view": view, "pattern": pattern}


def _view(ask: Asked) -> str | None:
    """Return which question about the history it is; None where it is none that this playbook answers."""
    if not ask.has(*_ABOUT_GIT):
        return None
    by_file = (
        bool(ask.paths) and re.search(r"\.\w{1,6}$", ask.paths[0]) is not None and not ask.has("repo", "repository")
    )
    if ask.has("per", "each", "every"):
        return "authors" if ask.has("author", "authors", "person", "contributor", "committer") else None
    if ask.has("branch", "branches"):
        return (
            "branch"
            if not ask.has("many", "list", "branches", "merged", "created")
            else "branches"
            if ask.has("branches")
            else None
        )
    if ask.has("tag", "tags"):
        return "tags"
    if ask.has("working") and not ask.has("clean", "dirty", "changes", "changed"):
        return None
    if ask.has("uncommitted", "clean", "unstaged", "untracked", "dirty") or (ask.has("status") and ask.has("git")):
        return "untracked" if ask.has("untracked") else "status"
    if ask.has("who", "authors", "contributors", "author", "contributor", "committers") and ask.has(
        "most", "top", "many", "count", "number", "authors", "contributors", "committers", "active"
    ):
        return None if ask.has("file", "files") and ask.has("most") else "authors"
    if ask.has(*_FIRST):
        return "first" if not by_file and ask.has("commit") else None
    if ask.has("files", "file") and (
        (ask.has("last", "latest", "commit") and ask.has("commit")) or ask.has("most", "often")
    ):
        return "changed" if ask.has("most", "often") else "last"
    if ask.has("who") and ask.has("last", "latest", "recently"):
        return "digest one" if by_file or ask.has("commit", "committed") else None
    if ask.has("many", "count", "number", "total"):
        return "count" if ask.has("commits", "commit", "times", "changes") else None
    latest = ask.has("last", "latest", "newest") or (ask.has("recent") and ask.has("most"))
    single = latest and ask.has("commit") and not ask.numbers
    if single or (ask.has("when") and ask.has("committed", "commit")):
        return "last" if not by_file else "digest one"
    return "digest"


def git_log(plan: PlaybookPlan) -> Play:
    """Report who did what when, and which files changed most."""
    folder, only = yield from _where(plan)
    play = _OTHERS.get(plan.view)
    if play is not None:
        if only and plan.view != "authors":
            raise PlaybookFailed(f"{line(plan.path)} is a file: name the folder of the repository")
        return (yield from play(plan, folder, only))
    return (yield from _history(plan, folder, only))


def _where(plan: PlaybookPlan) -> Generator[Step, Reply | None, tuple[str, str]]:
    """Return the folder to ask in, and the file where the path is one."""
    kind = yield from output_of(f"stat -L -c %F -- {shlex.quote(plan.path)}")
    if "directory" in kind:
        return plan.path, ""
    return os.path.dirname(plan.path), os.path.basename(plan.path)


def _history(plan: PlaybookPlan, folder: str, only: str) -> Play:
    author = yield from author_named(plan, folder)
    limits = limits_of(plan, only, author)
    total = int((yield from output_of(f"git rev-list --count {limits}", folder)).strip() or 0)
    number = 1 if plan.view in ("last", "digest one") else _LISTED if plan.view == "count" else plan.number
    output = yield from _log(number, limits, folder)
    commits, changes = parse_log(output)
    where = line(plan.path)
    subject = "".join(
        [f" by {line(author)}"] * bool(author) + [f" with {code(plan.pattern)} in the message"] * bool(plan.pattern)
    )
    subject += _spell(plan.period)
    if not commits:
        return PlaybookReport(
            f"No commits in {where}", f"**0 commits**{subject}: nothing was committed in that time or way."
        )
    if plan.view == "count":
        authors = yield from commits_by_author(limits, folder)
        return PlaybookReport(f"Git history of {where}", f"{_people(total, subject, authors)}\n\n{_latest(commits)}")
    notes = [f"The latest {len(commits)} of {total:,} commits are read."] if len(commits) < total and number > 1 else []
    return PlaybookReport(f"Git history of {where}", _render(commits, changes, plan, total, subject), tuple(notes))


def _log(number: int, limits: str, folder: str) -> Generator[Step, Reply | None, str]:
    """Return the latest commits with the lines that they changed: this many, or fewer where that is too much."""
    while True:
        log = f"git log -n {number} --date=format:'%Y-%m-%d %H:%M' --numstat --format={FORMAT} {limits}"
        try:
            return (yield from output_of(log, folder))
        except TooMuchOutput:
            if number == 1:
                raise
            number = max(1, number // 4)


def _spell(period: Period) -> str:
    """Return a period as it was taken: `, within the last 7 days (last week)`."""
    if period.newer:
        days = f"{many(round(period.newer * 24), 'hour')}" if period.newer < 2 else f"{period.newer:g} days"
        return f", within the last {days} (`{line(period.text)}`)"
    return f", {line(period.text)}" if period.text else ""


def _render(commits: list[Commit], changes: Counter[str], plan: PlaybookPlan, total: int, subject: str) -> str:
    if plan.view in ("last", "digest one"):
        return _single(commits[0], changes, total, subject)
    days = sorted({commit.day[:10] for commit in commits})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    authors = Counter(commit.author for commit in commits)
    body = [_people(len(commits), subject, authors, f", {span}"), _latest(commits)]
    if changes:
        moved = [[f"{count:,}", code(path)] for path, count in changes.most_common(min(10, plan.number + 9))]
        body += ["## Most changed files", table(("lines", "file"), moved, right=(0,))]
    return "\n\n".join(body)


def _people(total: int, subject: str, authors: Counter[str], span: str = "") -> str:
    people = ", ".join(f"{line(name)} ({count})" for name, count in authors.most_common(8))
    return f"**{many(total, 'commit')}**{subject}. By {many(len(authors), 'author')}{span}: {people}."


def _latest(commits: list[Commit]) -> str:
    rows = [[commit.day, code(commit.hash), line(commit.author), line(commit.subject)] for commit in commits[:_LISTED]]
    return f"## Latest\n\n{table(('day', 'commit', 'author', 'subject'), rows)}"


def _single(commit: Commit, changes: Counter[str], total: int, subject: str) -> str:
    body = (
        f"The last commit{subject} is {code(commit.hash)} by {line(commit.author)}, {commit.day}: "
        f"{line(commit.subject)}"
    )
    body += f". It changed {many(len(changes), 'file')}." if changes else ""
    rows = [[f"{count:,}", code(path)] for path, count in changes.most_common(50)]
    none = f"{body}\n\nIt changed no file by itself (a merge shows none)."
    return f"{body}\n\n{table(('lines', 'file'), rows, right=(0,))}" if rows else none


def _default(ask: Asked) -> int:
    return 1 if ask.has("commit") and ask.has("last", "latest") and not ask.periods else _DIGEST


_OTHERS: dict[str, Callable[[PlaybookPlan, str, str], Play]] = {
    "authors": repository.authors,
    "branch": repository.branch,
    "branches": repository.branches,
    "changed": repository.most_changed,
    "first": repository.first,
    "status": repository.status,
    "tags": repository.tags,
    "untracked": repository.status,
}
GIT_LOG = PlaybookKind(
    "git-log",
    "commits: how many, when, by whom, what they changed; branch, tags, uncommitted changes",
    (
        words(
            "git commit commits repository repo committed branch branches tag tags uncommitted untracked unstaged "
            "dirty history working who authors contributors author committers"
        ),
    ),
    words(
        "git log logs history commit commits repository repo summarise summarize summary digest changes changed "
        "change happened recent recently latest last who activity work overview short brief done made been has "
        "contributors contributor author authors committers committed describe since most new messages message "
        "subject many number count total make makes did by branch branches tag tags uncommitted untracked "
        "unstaged dirty status when first oldest earliest initial newest files file touched edited modified often "
        "top active mention mentions mentioning contain contains containing about say saying ago time date on "
        "working tree local local person people were wrote it times pushed wrote code checked landed went list "
        "release top active lately anything something released currently pending clean am outstanding yet per "
        "each every hash sha id old touch anyone everyone anybody everybody ever committer"
    ),
    git_log,
    _fields,
    words("number period quoted terms"),
    default=_default,
)
