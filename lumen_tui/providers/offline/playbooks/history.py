"""git-log: how many commits, by whom, when, what changed; the branch, tags and what is not committed."""

from __future__ import annotations

import datetime as dt
import os.path
import re
import shlex
import time
from collections import Counter
from collections.abc import Generator

from msgspec import Struct

from lumen_tui.providers.base import Reply, Step
from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.periods import Period
from lumen_tui.providers.offline.playbooks.stamps import bounds
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    code,
    line,
    many,
    output_of,
    table,
)
from lumen_tui.providers.offline.vocabulary import words

_FORMAT = "@@%h%x09%ad%x09%an%x09%s"
_LISTED = 15
_DIGEST = 200
_FIRST = words("first oldest earliest initial")


class _Commit(Struct, frozen=True):
    hash: str
    day: str
    author: str
    subject: str


def _fields(ask: Asked) -> Fields | None:
    view = _view(ask)
    if view is None or ask.quoted and view not in ("count", "digest", "list"):
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
    by_file = (
        bool(ask.paths) and re.search(r"\.\w{1,6}$", ask.paths[0]) is not None and not ask.has("repo", "repository")
    )
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
    if ask.has("uncommitted", "clean", "unstaged", "untracked", "dirty") or ask.has("status") and ask.has("git"):
        return "untracked" if ask.has("untracked") else "status"
    if ask.has("who", "authors", "contributors", "author", "contributor", "committers") and ask.has(
        "most", "top", "many", "count", "number", "authors", "contributors", "committers", "active"
    ):
        return None if ask.has("file", "files") and ask.has("most") else "authors"
    if ask.has(*_FIRST):
        return "first" if not by_file and ask.has("commit") else None
    if ask.has("files", "file") and (
        ask.has("last", "latest", "commit") and ask.has("commit") or ask.has("most", "often")
    ):
        return "changed" if ask.has("most", "often") else "last"
    if ask.has("who") and ask.has("touched", "changed", "edited", "modified", "last", "wrote"):
        return "digest one" if by_file or ask.has("commit", "committed") else None
    if ask.has("many", "count", "number", "total"):
        return "count" if ask.has("commits", "commit", "times", "changes") else None
    latest = ask.has("last", "latest", "newest") or ask.has("recent") and ask.has("most")
    single = latest and ask.has("commit") and not ask.numbers
    if single or ask.has("when") and ask.has("committed", "commit"):
        return "last" if not by_file else "digest one"
    return "digest"


def git_log(plan: PlaybookPlan) -> Play:
    """Report who did what when, and which files changed most."""
    folder, only = yield from _where(plan)
    play = {
        "branch": _branch,
        "branches": _branches,
        "tags": _tags,
        "status": _status,
        "untracked": _status,
        "changed": _most_changed,
        "authors": _authors,
        "first": _first,
    }.get(plan.view)
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


def _limits(plan: PlaybookPlan, only: str, author: str = "") -> str:
    """Return the options that narrow a log: period, author, text, file."""
    since, until = bounds(plan.period, dt.datetime.fromtimestamp(time.time()))  # noqa: DTZ005, DTZ006 - as git does
    if since.startswith("T"):
        raise PlaybookFailed("times of a day need a day, too: yesterday, 2026-11-21")
    parts = [f"--since={_moment(since)}"] * bool(since) + [f"--until={_moment(until)}"] * bool(until)
    parts += [f"--fixed-strings --regexp-ignore-case --grep={shlex.quote(plan.pattern)}"] * bool(plan.pattern)
    parts += [f"--author={shlex.quote(re.escape(author))}"] * bool(author)
    return " ".join([*parts, "HEAD", "--", *([shlex.quote(only)] if only else [])])


def _moment(text: str) -> str:
    return text if "T" in text else f"{text}T00:00:00"


def _author(plan: PlaybookPlan, folder: str) -> Generator[Step, Reply | None, str]:
    """Return the author that the unexplained words name. PlaybookFailed where they name nobody, or several."""
    if not plan.terms:
        return ""
    output = yield from output_of("git shortlog -sn HEAD", folder)
    names = [row.split("\t", 1)[1] for row in output.splitlines() if "\t" in row]
    said = [re.sub(r"['’]s$", "", term).lower() for term in plan.terms]
    fitting = [name for name in names if all(word in re.findall(r"[\w-]+", name.lower()) for word in said)]
    if len(fitting) != 1:
        who = line(" ".join(plan.terms))
        known = ", ".join(line(name) for name in (fitting or names)[:8])
        raise PlaybookFailed(
            f"{'several authors are called' if fitting else 'no author is called'} {who}: there are {known}"
        )
    return fitting[0]


def _history(plan: PlaybookPlan, folder: str, only: str) -> Play:
    author = yield from _author(plan, folder)
    limits = _limits(plan, only, author)
    total = int((yield from output_of(f"git rev-list --count {limits}", folder)).strip() or 0)
    number = 1 if plan.view in ("last", "digest one") else _DIGEST if plan.view == "count" else plan.number
    log = f"git log -n {number} --date=format:'%Y-%m-%d %H:%M' --numstat --format={_FORMAT} {limits}"
    output = yield from output_of(log, folder)
    commits, changes = _parse(output)
    where = line(plan.path)
    what = "".join(
        [f" by {line(author)}"] * bool(author) + [f" with {code(plan.pattern)} in the message"] * bool(plan.pattern)
    )
    what += _spell(plan.period)
    if not commits:
        return PlaybookReport(
            f"No commits in {where}", f"**0 commits**{what}: nothing was committed in that time or way."
        )
    notes = [f"The latest {len(commits)} of {total:,} commits are read."] if len(commits) < total and number > 1 else []
    return PlaybookReport(f"Git history of {where}", _render(commits, changes, plan, total, what), tuple(notes))


def _spell(period: Period) -> str:
    """Return a period as it was taken: `, within the last 7 days (last week)`."""
    if period.newer:
        days = f"{many(round(period.newer * 24), 'hour')}" if period.newer < 2 else f"{period.newer:g} days"
        return f", within the last {days} (`{line(period.text)}`)"
    return f", {line(period.text)}" if period.text else ""


def _parse(output: str) -> tuple[list[_Commit], Counter[str]]:
    commits: list[_Commit] = []
    changes: Counter[str] = Counter()
    for row in output.split("\n"):
        parts = row.split("\t")
        if row.startswith("@@") and len(parts) >= 4:
            commits.append(_Commit(parts[0][2:], parts[1], parts[2], "\t".join(parts[3:])))
        elif len(parts) == 3 and commits:
            changes[parts[2]] += sum(int(part) for part in parts[:2] if part.isdigit())
    if output.strip() and not commits:
        raise PlaybookFailed(f"git answered something unexpected: {line(output[:200])}")
    return commits, changes


def _render(commits: list[_Commit], changes: Counter[str], plan: PlaybookPlan, total: int, what: str) -> str:
    if plan.view in ("last", "digest one"):
        return _single(commits[0], changes, total, what)
    authors = Counter(commit.author for commit in commits)
    days = sorted({commit.day[:10] for commit in commits})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    people = ", ".join(f"{line(name)} ({count})" for name, count in authors.most_common(8))
    shown = total if plan.view == "count" else len(commits)
    body = [f"**{many(shown, 'commit')}**{what}. By {many(len(authors), 'author')}, {span}: {people}."]
    rows = [[commit.day, code(commit.hash), line(commit.author), line(commit.subject)] for commit in commits[:_LISTED]]
    body += ["## Latest", table(("day", "commit", "author", "subject"), rows)]
    if changes and plan.view != "count":
        moved = [[f"{count:,}", code(path)] for path, count in changes.most_common(min(10, plan.number + 9))]
        body += ["## Most changed files", table(("lines", "file"), moved, right=(0,))]
    return "\n\n".join(body)


def _single(commit: _Commit, changes: Counter[str], total: int, what: str) -> str:
    body = (
        f"The last commit{what} is {code(commit.hash)} by {line(commit.author)}, {commit.day}: {line(commit.subject)}"
    )
    rows = [[f"{count:,}", code(path)] for path, count in changes.most_common(50)]
    none = f"{body}\n\nIt changed no file by itself (a merge shows none)."
    return f"{body}\n\n{table(('lines', 'file'), rows, right=(0,))}" if rows else none


def _first(plan: PlaybookPlan, folder: str, only: str) -> Play:
    roots = (yield from output_of("git rev-list --max-parents=0 HEAD", folder)).split()
    output = yield from output_of(
        f"git log -n 1 --date=format:'%Y-%m-%d %H:%M' --format={_FORMAT} {shlex.quote(roots[-1])} --", folder
    )
    commits, _ = _parse(output)
    if len(roots) != 1 or not commits or plan.terms:
        raise PlaybookFailed(f"this history has {len(roots)} beginnings: there is no one first commit")
    commit = commits[0]
    return PlaybookReport(
        f"The first commit in {line(plan.path)}",
        f"{code(commit.hash)} by {line(commit.author)}, {commit.day}: {line(commit.subject)}",
    )


def _authors(plan: PlaybookPlan, folder: str, only: str) -> Play:
    if plan.terms:
        raise PlaybookFailed(f"{line(' '.join(plan.terms))} is not understood here")
    output = yield from output_of(f"git shortlog -sn {_limits(plan, only)}", folder)
    ranked = [row.strip().split("\t", 1) for row in output.splitlines() if "\t" in row]
    if not ranked:
        return PlaybookReport(f"Authors in {line(plan.path)}", "Nothing was committed in that time.")
    tie = len(ranked) > 1 and ranked[0][0] == ranked[1][0]
    head = f"{many(len(ranked), 'author')}. The most commits, {int(ranked[0][0]):,}, are by {line(ranked[0][1])}{' and others' if tie else ''}."
    rows = [[f"{int(count):,}", line(name)] for count, name in ranked[:50]]
    return PlaybookReport(
        f"Authors in {line(plan.path)}", f"{head}\n\n{table(('commits', 'author'), rows, right=(0,))}"
    )


def _most_changed(plan: PlaybookPlan, folder: str, only: str) -> Play:
    """Report the files that the most commits changed."""
    author = yield from _author(plan, folder)
    limits = _limits(plan, only, author)
    output = yield from output_of(
        f"git log --no-merges --name-only --format= {limits} | LC_ALL=C sort | uniq -c | sort -k1,1nr -k2 | head -n 50",
        folder,
    )
    ranked = [row.strip().split(" ", 1) for row in output.splitlines() if row.strip()]
    if not ranked:
        return PlaybookReport(f"Most changed files in {line(plan.path)}", "Nothing was committed in that time.")
    tie = len(ranked) > 1 and ranked[0][0] == ranked[1][0]
    head = f"Changed in the most commits, {int(ranked[0][0]):,}: {code(ranked[0][1])}{' and others' if tie else ''}."
    rows = [[f"{int(count):,}", code(path)] for count, path in ranked]
    return PlaybookReport(
        f"Most changed files in {line(plan.path)}", f"{head}\n\n{table(('commits', 'file'), rows, right=(0,))}"
    )


def _branch(plan: PlaybookPlan, folder: str, only: str) -> Play:
    name = (yield from output_of("git rev-parse --abbrev-ref HEAD", folder)).strip()
    body = (
        f"The branch is {code(name)}."
        if name != "HEAD"
        else "No branch: a commit is checked out by itself (detached HEAD)."
    )
    return PlaybookReport(f"Branch in {line(plan.path)}", body)


def _branches(plan: PlaybookPlan, folder: str, only: str) -> Play:
    output = yield from output_of(
        "git for-each-ref --sort=-committerdate --format='%(refname:short)%09%(committerdate:short)' refs/heads", folder
    )
    rows = [row.split("\t") for row in output.splitlines() if "\t" in row]
    body = f"**{len(rows):,} local {'branch' if len(rows) == 1 else 'branches'}**.\n\n{table(('branch', 'last commit'), [[code(name), day] for name, day in rows[:100]])}"
    return PlaybookReport(f"Branches in {line(plan.path)}", body)


def _tags(plan: PlaybookPlan, folder: str, only: str) -> Play:
    output = yield from output_of(
        "git for-each-ref --sort=-creatordate --format='%(refname:short)%09%(creatordate:short)' refs/tags", folder
    )
    rows = [row.split("\t") for row in output.splitlines() if "\t" in row]
    if not rows:
        return PlaybookReport(f"Tags in {line(plan.path)}", "There are no tags.")
    head = f"**{many(len(rows), 'tag')}**, the latest {code(rows[0][0])} of {rows[0][1]}."
    body = table(("tag", "day"), [[code(name), day] for name, day in rows[:100]])
    return PlaybookReport(f"Tags in {line(plan.path)}", f"{head}\n\n{body}")


def _status(plan: PlaybookPlan, folder: str, only: str) -> Play:
    output = yield from output_of("git --no-optional-locks status --porcelain=v1", folder)
    unknown = plan.view == "untracked"
    found = [row for row in output.splitlines() if len(row) > 3 and (row.startswith("??") or not unknown)]
    rows = [[code(row[:2]), code(row[3:])] for row in found]
    if not rows:
        body = (
            "No: there is no file that git does not know or ignore."
            if unknown
            else "No: nothing is changed that is not committed."
        )
        return PlaybookReport(f"Changes in {line(plan.path)}", body)
    head = f"**{many(len(rows), 'path')}** {'not known to git' if unknown else 'changed and not committed (`??`: not known to git)'}."
    return PlaybookReport(f"Changes in {line(plan.path)}", f"{head}\n\n{table(('state', 'path'), rows[:200])}")


def _default(ask: Asked) -> int:
    return 1 if ask.has("commit") and ask.has("last", "latest") and not ask.periods else _DIGEST


GIT_LOG = PlaybookKind(
    "git-log",
    "commits: how many, when, by whom, what they changed; branch, tags, uncommitted changes",
    (words("git commit commits repository repo committed branch branches tag tags uncommitted untracked unstaged "
           "dirty history working who authors contributors author committers"),),
    words("git log logs history commit commits repository repo summarise summarize summary digest changes changed change "
          "happened recent recently latest last who activity work overview short brief done made been has contributors "
          "contributor author authors committers committed describe since most new messages message subject many number count "
          "total make makes did by branch branches tag tags uncommitted untracked unstaged dirty status when first oldest "
          "earliest initial newest files file touched edited modified often top active mention mentions mentioning contain "
          "contains containing about say saying ago time date on working tree local local person people were wrote it "
          "times pushed wrote code checked landed went list release top active lately anything something released "
          "currently pending clean am outstanding yet"),
    git_log,
    _fields,
    words("number period quoted terms"),
    default=_default,
)  # fmt: skip
