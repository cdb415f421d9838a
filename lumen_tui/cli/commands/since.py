"""`since`: what happened since an operator last looked."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model import digest as shape
from lumen_tui.model import times
from lumen_tui.model.digest import Digest

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_NAMED = 8  # entries of a group on the screen; --json has more


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    text = "What happened since you last looked; `--operator NAME` for another person."
    command = commands.add("since", run_since, text, "since --at 12h")
    command.add_argument("--at", default="", metavar="TIME", help="since then instead: 12h, 3d or an ISO date")
    command.add_argument("--seen", action="store_true", help="note that you have looked now")
    command.json()


def run_since(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.digest import digest_for, note_visit, read_visit

    now = session.now
    looked = None if args.at else read_visit(session.layout, session.operator)
    since = _moment(args.at, now) if args.at else 0.0
    if since > now:
        raise ActionError(f"--at {args.at!r} is still to come: write 12h, 3d or a date that has passed")
    digest = digest_for(session.layout, session.operator, now, seen=looked, since=since)
    if args.json:
        document(described(digest, left=not args.at))
    else:
        _print(digest, left=not args.at)
    if args.seen:
        note_visit(session.layout, session.operator, now)
    return 0


def _moment(text: str, now: float) -> float:
    try:
        return times.moment(text, now)
    except (ValueError, OverflowError):
        raise ActionError(f"--at {text!r} is no time: write 12h, 3d or a date such as 2026-03-01T08:00") from None


def described(digest: Digest, *, left: bool) -> dict[str, object]:
    """Return the digest as JSON, with dates instead of seconds."""
    groups = [
        {
            "name": group.name,
            "title": group.title,
            "count": group.count,
            "at_least": group.at_least,
            "entries": [
                {"at": times.iso(entry.at), "text": entry.text, "kind": entry.kind, "target": entry.target}
                for entry in group.entries
            ],
        }
        for group in digest.groups
    ]
    return {
        "operator": digest.operator,
        "since": times.iso(digest.since),
        "until": times.iso(digest.until),
        "looked_before": not digest.first,
        "line": shape.line(digest, left=left),
        "usd": digest.usd,
        "groups": groups,
    }


def _print(digest: Digest, *, left: bool) -> None:
    if digest.first:
        talk(f"{digest.operator} has not looked before; this is the last 24 hours")
    cost = f", ${digest.usd:.2f} spent on tasks" if digest.usd else ""
    say((shape.line(digest, left=left) or f"nothing happened since {times.ago(digest.until - digest.since)}") + cost)
    for group in digest.groups:
        say(f"\n{group.title}: {group.count:,}{'+' if group.at_least else ''}")
        for entry in group.entries[:_NAMED]:
            about = f"  [{entry.target}]" if entry.target else ""
            say(f"  {times.age(digest.until - entry.at):>6}  {entry.text}{about}")
        if group.count > _NAMED:
            say(f"          and {group.count - _NAMED:,} more")
