"""Commits as git tells them, and the options that narrow a log down to those that are asked for."""

from __future__ import annotations

import datetime as dt
import re
import shlex
import time
from collections import Counter
from collections.abc import Generator

from msgspec import Struct

from lumen_tui.providers.base import Reply, Step
from lumen_tui.providers.offline.grammar import PlaybookPlan
from lumen_tui.providers.offline.playbooks.stamps import bounds
from lumen_tui.providers.offline.report import PlaybookFailed, line, output_of

FORMAT = "@@%h%x09%ad%x09%an%x09%s"


class Commit(Struct, frozen=True):
    hash: str
    day: str
    author: str
    subject: str


def limits_of(plan: PlaybookPlan, only: str, author: str = "") -> str:
    """Return the options that narrow a log: period, author, text, file."""
    since, until = bounds(plan.period, dt.datetime.fromtimestamp(time.time()))
    if since.startswith("T"):
        raise PlaybookFailed("times of a day need a day, too: yesterday, 2026-11-21")
    parts = [f"--since={_moment(since)}"] * bool(since) + [f"--until={_moment(until)}"] * bool(until)
    parts += [f"--fixed-strings --regexp-ignore-case --grep={shlex.quote(plan.pattern)}"] * bool(plan.pattern)
    parts += [f"--author={shlex.quote(re.escape(author))}"] * bool(author)
    return " ".join([*parts, "HEAD", "--", *([shlex.quote(only)] if only else [])])


def _moment(text: str) -> str:
    return text if "T" in text else f"{text}T00:00:00"


def commits_by_author(limits: str, folder: str) -> Generator[Step, Reply | None, Counter[str]]:
    """Return how many commits each author made, the most first."""
    output = yield from output_of(f"git shortlog -sn {limits}", folder)
    rows = [row.strip().split("\t", 1) for row in output.splitlines() if "\t" in row]
    return Counter({name: int(count) for count, name in rows})


def author_named(plan: PlaybookPlan, folder: str) -> Generator[Step, Reply | None, str]:
    """Return the author that the unexplained words name. PlaybookFailed where they name nobody, or several."""
    if not plan.terms:
        return ""
    names = list((yield from commits_by_author("HEAD", folder)))
    words = [re.sub(r"['’]s$", "", term).lower() for term in plan.terms]
    fitting = [name for name in names if all(word in re.findall(r"[\w-]+", name.lower()) for word in words)]
    if len(fitting) != 1:
        who = line(" ".join(plan.terms))
        known = ", ".join(line(name) for name in (fitting or names)[:8])
        raise PlaybookFailed(
            f"{'several authors are called' if fitting else 'no author is called'} {who}: there are {known}"
        )
    return fitting[0]


def parse_log(output: str) -> tuple[list[Commit], Counter[str]]:
    commits: list[Commit] = []
    changes: Counter[str] = Counter()
    for row in output.split("\n"):
        parts = row.split("\t")
        if row.startswith("@@") and len(parts) >= 4:
            commits.append(Commit(parts[0][2:], parts[1], parts[2], "\t".join(parts[3:])))
        elif len(parts) == 3 and commits:
            changes[parts[2]] += sum(int(part) for part in parts[:2] if part.isdigit())
    if output.strip() and not commits:
        raise PlaybookFailed(f"git answered something unexpected: {line(output[:200])}")
    return commits, changes
