"""A digest of a git log."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from lumen_tui.providers.offline.playbook_router import PlaybookPlan
from lumen_tui.providers.offline.playbooks.shape import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    many,
    table,
)

_FORMAT = "@@%h%x09%as%x09%an%x09%s"
_LISTED = 15


class _Commit(Struct, frozen=True):
    hash: str
    day: str
    author: str
    subject: str


def git_log(plan: PlaybookPlan) -> Play:
    """Who did what when, and which files moved most."""
    since = f" --since={round(plan.days * 24)}.hours.ago" if plan.days else ""
    command = f"git log -n {plan.number}{since} --numstat --format={_FORMAT}"
    reply = yield from call("shell", command=command, cwd=plan.path)
    output = reply.data["output"]
    commits, changes = _parse(output)
    if not commits:
        return PlaybookReport(f"No commits in {line(plan.path)}", "Nothing was committed in that time.")
    notes = []
    if len(commits) == plan.number and plan.number > 1:
        notes.append(f"The latest {plan.number} commits; there may be more before them.")
    if len(output) >= 199_000:
        notes.append("The log was cut; the oldest commits may be missing.")
    title = f"Git history of {line(plan.path)}"
    return PlaybookReport(title, _render(commits, changes, plan), tuple(notes))


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


def _render(commits: list[_Commit], changes: Counter[str], plan: PlaybookPlan) -> str:
    authors = Counter(commit.author for commit in commits)
    days = sorted({commit.day for commit in commits})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    people = ", ".join(f"{line(name)} ({count})" for name, count in authors.most_common(8))
    body = [f"**{many(len(commits), 'commit')}** by {many(len(authors), 'author')}, {span}: {people}."]
    rows = [[commit.day, code(commit.hash), line(commit.author), line(commit.subject)] for commit in commits[:_LISTED]]
    body += ["## Latest", table(("day", "commit", "author", "subject"), rows)]
    if changes:
        moved = [[f"{count:,}", code(path)] for path, count in changes.most_common(min(10, plan.number + 9))]
        body += ["## Most changed files", table(("lines", "file"), moved, right=(0,))]
    return "\n\n".join(body)
