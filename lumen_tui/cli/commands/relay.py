"""`relay`: logs that several agents write in turn. A text names the position up to which its writer has read."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import refusal
from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.relay import Submitted
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, read_text, say, table, talk
from lumen_tui.model import relay
from lumen_tui.model.decoding import safe_record
from lumen_tui.model.relay import Submission, SubmissionStatus
from lumen_tui.model.requests.blocks import DropTexts, ReleaseTexts, SubmitToRelay
from lumen_tui.store.memory import relays as kept

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

HELD = 4  # exit code: the text was accepted and waits for a person


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    text = "Places that several write to in turn; what was written on an old state is held."
    group = commands.group("relay", text, alone="list")
    listing = group.add("list", run_list, "The relays, with their positions.", "relay list")
    show = group.add("show", run_show, "What is in a relay.", "relay show outbox --since 4")
    show.fields(SubmitToRelay, "relay_name")
    show.add_argument("--since", type=int, default=0, metavar="N", help="only what came after this position")
    submit = group.add(
        "submit",
        run_submit,
        "Put a text in; exit code 4 and the reasons where it is held.",
        'relay submit outbox "Tests pass on main" --base 4',
    )
    submit.fields(SubmitToRelay, "relay_name")
    submit.fields(SubmitToRelay, "text", nargs="?", default="")
    submit.add_argument("--file", default="", metavar="FILE", help="the text from a file (- for standard input)")
    submit.fields(SubmitToRelay, "base", "key")
    submit.author()
    held = group.add("held", run_held, "What waits for a person, and why.", "relay held")
    held.fields(SubmitToRelay, "relay_name", nargs="?", default="")
    group.verb("release", ReleaseTexts, "Let held texts in.", "relay release rly-7f2", judged=True)
    text = "Decide against held texts; undo brings them back."
    group.verb("drop", DropTexts, text, "relay drop rly-7f2", judged=True)
    for command in (listing, show, submit, held):
        command.json()


def run_list(session: Session, args: Namespace) -> int:
    boxes = [box for name in kept.names(session.layout) if (box := kept.read(session.layout, name))]
    rows = [
        {"name": box.name, "position": box.position, "entries": len(box.entries), "held": len(box.held)}
        for box in boxes
    ]
    if args.json:
        document(rows)
    else:
        table([(str(row["name"]), f"position {row['position']}", f"{row['held']} held") for row in rows])
    if not rows:
        talk("there is no relay yet: `relay submit NAME TEXT --base 0` starts one")
    return 0 if rows else 3


def _box(session: Session, name: str) -> relay.Box:
    box = kept.read(session.layout, name)
    if box is None:
        known = kept.names(session.layout)
        raise ActionError(f"there is no relay {name!r}", candidates=refusal.nearest(name, known), missing=True)
    return box


def run_show(session: Session, args: Namespace) -> int:
    box = _box(session, args.relay_name)
    entries = [entry for entry in box.entries if entry.position > args.since]
    if args.json:
        document({"name": box.name, "position": box.position, "entries": [described(entry) for entry in entries]})
        return 0
    for entry in entries:
        say(f"{entry.position}  {entry.at}  {entry.by}  ({entry.id})")
        for line in entry.text.strip().splitlines():
            say(f"    {line}")
    talk(f"{box.name} is at position {box.position}")
    return 0


def described(submission: Submission) -> dict[str, object]:
    """Return a submission as JSON with every text made safe."""
    shown: dict[str, object] = msgspec.to_builtins(safe_record(submission))
    return shown


def run_submit(session: Session, args: Namespace) -> int:
    if bool(args.text) == bool(args.file):
        raise ActionError("give the text, or --file with its name")
    text = read_text(args.file) if args.file else args.text
    done = session.perform(request_of(SubmitToRelay, args, text=text), by=args.by)
    answer = done.answer if isinstance(done, Submitted) else None
    sent = answer is not None and answer.status is SubmissionStatus.SENT
    if args.json:
        document({"action_id": done.action_id, **msgspec.to_builtins(answer)})
    elif sent:
        say(done.summary)
    else:
        say(done.target)
        talk(done.summary)
    return 0 if sent else HELD


def run_held(session: Session, args: Namespace) -> int:
    names = [_box(session, args.relay_name).name] if args.relay_name else kept.names(session.layout)
    held = [(name, entry) for name in names if (box := kept.read(session.layout, name)) for entry in box.held]
    if args.json:
        document([{"relay": name, **described(entry)} for name, entry in held])
    else:
        table(
            [
                (entry.id, name, entry.by, entry.at, f"{entry.title} ({'; '.join(entry.reasons)})")
                for name, entry in held
            ]
        )
    if not held:
        talk("nothing is held")
    return 0 if held else 3
