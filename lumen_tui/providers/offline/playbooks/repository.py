"""What a repository is like besides its commits: authors, branches, tags, what is not committed, the first commit."""

from __future__ import annotations

import shlex

from lumen_tui.providers.offline.grammar import PlaybookPlan
from lumen_tui.providers.offline.playbooks.commits import FORMAT, author_named, commits_by_author, limits_of, parse_log
from lumen_tui.providers.offline.report import Play, PlaybookFailed, PlaybookReport, code, line, many, output_of, table


def first(plan: PlaybookPlan, folder: str, only: str) -> Play:
    roots = (yield from output_of("git rev-list --max-parents=0 HEAD", folder)).split()
    output = yield from output_of(
        f"git log -n 1 --date=format:'%Y-%m-%d %H:%M' --format={FORMAT} {shlex.quote(roots[-1])} --", folder
    )
    commits, _ = parse_log(output)
    if plan.terms:
        raise PlaybookFailed(f"{line(' '.join(plan.terms))} is not understood here: ask for the first commit of all")
    if len(roots) != 1 or not commits:
        raise PlaybookFailed(f"this history has {len(roots)} beginnings: there is no one first commit")
    commit = commits[0]
    return PlaybookReport(
        f"The first commit in {line(plan.path)}",
        f"{code(commit.hash)} by {line(commit.author)}, {commit.day}: {line(commit.subject)}",
    )


def authors(plan: PlaybookPlan, folder: str, only: str) -> Play:
    if plan.terms:
        raise PlaybookFailed(f"{line(' '.join(plan.terms))} is not understood here")
    ranked = (yield from commits_by_author(limits_of(plan, only), folder)).most_common()
    if not ranked:
        return PlaybookReport(f"Authors in {line(plan.path)}", "Nothing was committed in that time.")
    most, count = ranked[0]
    tie = len(ranked) > 1 and count == ranked[1][1]
    head = f"{many(len(ranked), 'author')}. The most commits, {count:,}, are by {line(most)}"
    head += " and others." if tie else "."
    rows = [[f"{count:,}", line(name)] for name, count in ranked[:50]]
    return PlaybookReport(
        f"Authors in {line(plan.path)}", f"{head}\n\n{table(('commits', 'author'), rows, right=(0,))}"
    )


def most_changed(plan: PlaybookPlan, folder: str, only: str) -> Play:
    """Report the files that the most commits changed."""
    author = yield from author_named(plan, folder)
    limits = limits_of(plan, only, author)
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


def branch(plan: PlaybookPlan, folder: str, only: str) -> Play:
    name = (yield from output_of("git rev-parse --abbrev-ref HEAD", folder)).strip()
    body = (
        f"The branch is {code(name)}."
        if name != "HEAD"
        else "No branch: a commit is checked out by itself (detached HEAD)."
    )
    return PlaybookReport(f"Branch in {line(plan.path)}", body)


def branches(plan: PlaybookPlan, folder: str, only: str) -> Play:
    output = yield from output_of(
        "git for-each-ref --sort=-committerdate --format='%(refname:short)%09%(committerdate:short)' refs/heads", folder
    )
    rows = [row.split("\t") for row in output.splitlines() if "\t" in row]
    head = f"**{len(rows):,} local {'branch' if len(rows) == 1 else 'branches'}**."
    body = table(("branch", "last commit"), [[code(name), day] for name, day in rows[:100]])
    return PlaybookReport(f"Branches in {line(plan.path)}", f"{head}\n\n{body}")


def tags(plan: PlaybookPlan, folder: str, only: str) -> Play:
    output = yield from output_of(
        "git for-each-ref --sort=-creatordate --format='%(refname:short)%09%(creatordate:short)' refs/tags", folder
    )
    rows = [row.split("\t") for row in output.splitlines() if "\t" in row]
    if not rows:
        return PlaybookReport(f"Tags in {line(plan.path)}", "There are no tags.")
    head = f"**{many(len(rows), 'tag')}**, the latest {code(rows[0][0])} of {rows[0][1]}."
    body = table(("tag", "day"), [[code(name), day] for name, day in rows[:100]])
    return PlaybookReport(f"Tags in {line(plan.path)}", f"{head}\n\n{body}")


def status(plan: PlaybookPlan, folder: str, only: str) -> Play:
    output = yield from output_of("git --no-optional-locks status --porcelain=v1", folder)
    unknown = plan.view == "untracked"
    changes = [row for row in output.splitlines() if len(row) > 3 and (row.startswith("??") or not unknown)]
    rows = [[code(row[:2]), code(row[3:])] for row in changes]
    if not rows:
        body = (
            "No: there is no file that git does not know or ignore."
            if unknown
            else "No: nothing is changed that is not committed."
        )
        return PlaybookReport(f"Changes in {line(plan.path)}", body)
    which = "not known to git" if unknown else "changed and not committed (`??`: not known to git)"
    head = f"**{many(len(rows), 'path')}** {which}."
    return PlaybookReport(f"Changes in {line(plan.path)}", f"{head}\n\n{table(('state', 'path'), rows[:200])}")
