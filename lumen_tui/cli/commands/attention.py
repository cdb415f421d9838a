"""`attention`: what needs a person, from the shell; snoozed, dismissed, and brought back."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.attention import can_wait, for_an_hour
from lumen_tui.model.requests.attention import DismissItems, RestoreItems, SnoozeItems
from lumen_tui.model.snapshot import Attention, Snapshot

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("attention", "What needs a person: the same list as `!` in the room.", alone="list")
    listing = group.add("list", run_list, "What needs a person, and what is put off.", "attention list")
    snooze = group.add("snooze", run_snooze, "Put off; it comes back by itself.", "attention snooze tsk-7f2 --for 2h")
    snooze.fields(SnoozeItems)
    group.verb(
        "aside",
        DismissItems,
        "Dismiss what has happened once.",
        "attention aside tsk-7f2",
        request=lambda session, args: request_of(DismissItems, args, targets=_dismissible(session, args.targets)),
    )
    group.verb(
        "back",
        RestoreItems,
        "Bring back what was put off.",
        "attention back tsk-7f2",
        request=lambda session, args: request_of(
            RestoreItems, args, targets=_targets(session.snapshot().snoozed, args.targets)
        ),
    )
    for command in (listing, snooze):
        command.json()


def run_list(session: Session, args: Namespace) -> int:
    snapshot = session.snapshot()
    if args.json:
        document({"attention": snapshot.attention, "snoozed": snapshot.snoozed})
        return 0
    table([_row(row, session.now) for row in (*snapshot.attention, *snapshot.snoozed)])
    if not snapshot.attention:
        talk("nothing needs you")
    return 0


def _row(row: Attention, now: float) -> tuple[str, ...]:
    age = times.age(now - row.since) if row.since else ""
    return row.target, row.need.value, _until(row.until, now) if row.until else age, row.text


def _until(moment: str, now: float) -> str:
    """Return `until 15:27 UTC`, with the date where that is another day."""
    day, _, clock = moment.partition("T")
    if not clock:
        return f"until {day}"
    return f"until {clock[:5]} UTC" if times.iso(now).startswith(day) else f"until {day} {clock[:5]} UTC"


def run_snooze(session: Session, args: Namespace) -> int:
    snapshot = session.snapshot()
    rows = _named((*snapshot.attention, *snapshot.snoozed), args.targets)
    spans = [_span(snapshot, row, args.seconds, session.now) for row in rows]
    if snoozed := [row.target for row in rows if row.until]:
        session.perform(RestoreItems(targets=snoozed, reason=args.reason))  # or the longer of both would hold
    outcomes = [session.perform(SnoozeItems(targets=[name], seconds=span, reason=args.reason)) for name, span in spans]
    if args.json:
        document(outcomes)
        return 0
    for done in outcomes:
        say(done.summary)
    return 0


def _span(snapshot: Snapshot, row: Attention, seconds: float, now: float) -> tuple[str, float]:
    """Return (name, seconds), so that an approval comes back before it expires. Raise ActionError."""
    longest, refusal = for_an_hour(row, snapshot.approvals, now)
    if refusal:
        raise ActionError(f"{row.target}: {refusal}")
    is_question = any(request.id == row.target for request in snapshot.approvals)
    return row.target, min(seconds, longest) if is_question else seconds


def _dismissible(session: Session, names: list[str]) -> list[str]:
    """Return the targets that these names mean. Raise ActionError for what stays until its cause is gone."""
    rows = _named(session.snapshot().attention, names)
    if lasting := [row for row in rows if not can_wait(row)]:
        reason = f"{lasting[0].target}: what is about the {lasting[0].need} goes away with its cause"
        raise ActionError(f"{reason}; `attention snooze` puts it off")
    return [row.target for row in rows]


def _targets(rows: tuple[Attention, ...], names: list[str]) -> list[str]:
    return [row.target for row in _named(rows, names)]


def _named(rows: tuple[Attention, ...], texts: list[str]) -> list[Attention]:
    return list({row.target: row for text in texts for row in _matching(rows, text)}.values())


def _matching(rows: tuple[Attention, ...], text: str) -> list[Attention]:
    """Return the rows of one target: several where a file has several problems. Raise ActionError."""
    matches = [row for row in rows if row.target == text] or [
        row for row in rows if text and (row.target.startswith(text) or row.target.partition("-")[2].startswith(text))
    ]
    names = tuple(dict.fromkeys(row.target for row in matches))
    if not names:
        hint = "`attention list` names what needs you and what is put off"
        raise ActionError(f"there is nothing {text!r} to do this with: {hint}", missing=True)
    if len(names) > 1:
        raise ambiguous(text, names, "names")
    return matches
