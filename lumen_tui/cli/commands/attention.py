"""`attention`: what needs a person, from the shell; put off, put aside, and brought back."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.attention import can_wait, for_an_hour
from lumen_tui.model.snapshot import Attention, Snapshot

if TYPE_CHECKING:
    from lumen_tui.cli.parser import Group

_ROW = "the name in its row of `attention list`; a unique beginning will do"


def declare(commands: Group) -> None:
    """The commands of this module."""
    group = commands.group("attention", "What needs a person: the same list as `!` in the room.")
    listing = group.add("list", run_list, "What needs a person, and what is put off.", "attention list")
    listing.add_argument("--json", action="store_true", help="one JSON document")
    snooze = group.add("snooze", run_snooze, "Put off; it comes back by itself.", "attention snooze tsk-7f2 --for 2h")
    snooze.add_argument("--for", dest="span", default="1h", metavar="AGE", help="how long, such as 30m or 2d [1h]")
    aside = group.add("aside", run_aside, "Put aside what has happened once.", "attention aside tsk-7f2")
    back = group.add("back", run_back, "Bring back what was put off.", "attention back tsk-7f2")
    for command in (snooze, aside, back):
        command.add_argument("targets", nargs="+", metavar="NAME", help=_ROW)
        command.add_argument("-r", "--reason", default="", help="why")


def run_list(session: Session, args: Namespace) -> int:
    picture = session.picture()
    if args.json:
        document({"attention": picture.attention, "snoozed": picture.snoozed})
        return 0
    table([_row(one, session.now) for one in (*picture.attention, *picture.snoozed)])
    if not picture.attention:
        talk("nothing needs you")
    return 0


def _row(one: Attention, now: float) -> tuple[str, ...]:
    age = times.age(now - one.since) if one.since else ""
    return one.target, one.need.value, _until(one.until, now) if one.until else age, one.text


def _until(moment: str, now: float) -> str:
    """`until 15:27 UTC`, with the date where that is another day; of a day only that."""
    day, _, clock = moment.partition("T")
    if not clock:
        return f"until {day}"
    return f"until {clock[:5]} UTC" if times.iso(now).startswith(day) else f"until {day} {clock[:5]} UTC"


def run_snooze(session: Session, args: Namespace) -> int:
    try:
        seconds = times.parse_duration(args.span)
    except ValueError as error:
        raise ActionError(f"--for {args.span!r} is no time: write 30m, 2h or 1d") from error
    picture = session.picture()
    found = _named((*picture.attention, *picture.snoozed), args.targets)
    spans = [_span(picture, one, seconds, session.now) for one in found]
    if again := [one.target for one in found if one.until]:
        session.perform("attention.back", targets=again, reason=args.reason)  # or the longer of both would hold
    for name, span in spans:
        say(session.perform("attention.snooze", targets=[name], seconds=span, reason=args.reason).summary)
    return 0


def _span(picture: Snapshot, one: Attention, seconds: float, now: float) -> tuple[str, float]:
    """(name, seconds): a question comes back before it counts as no."""
    most, why = for_an_hour(one, picture.approvals, now)
    if why:
        raise ActionError(f"{one.target}: {why}")
    asks = any(request.id == one.target for request in picture.approvals)
    return one.target, min(seconds, most) if asks else seconds


def run_aside(session: Session, args: Namespace) -> int:
    found = _named(session.picture().attention, args.targets)
    if stays := [one for one in found if not can_wait(one)]:
        what = f"{stays[0].target}: what is about the {stays[0].need} goes away with its cause"
        raise ActionError(f"{what}; `attention snooze` puts it off")
    say(session.perform("attention.dismiss", targets=[one.target for one in found], reason=args.reason).summary)
    return 0


def run_back(session: Session, args: Namespace) -> int:
    found = _named(session.picture().snoozed, args.targets)
    say(session.perform("attention.back", targets=[one.target for one in found], reason=args.reason).summary)
    return 0


def _named(rows: tuple[Attention, ...], texts: list[str]) -> list[Attention]:
    return list({one.target: one for text in texts for one in _meant(rows, text)}.values())


def _meant(rows: tuple[Attention, ...], text: str) -> list[Attention]:
    """The rows of one target: several where a file has several problems."""
    found = [one for one in rows if one.target == text] or [
        one for one in rows if text and (one.target.startswith(text) or one.target.partition("-")[2].startswith(text))
    ]
    names = tuple(dict.fromkeys(one.target for one in found))
    if not names:
        hint = "`attention list` names what needs you and what is put off"
        raise ActionError(f"there is nothing {text!r} to do this with: {hint}", missing=True)
    if len(names) > 1:
        raise ambiguous(text, names, "names")
    return found
