"""`mail`: messages that come in, from a mail server's hands; what became of them."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.mail import MailLine
from lumen_tui.storage import files

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

TOO_LARGE, LATER = 65, 75  # EX_DATAERR and EX_TEMPFAIL of sysexits.h, by which mail servers know what to do
_MEGABYTE = 1_000_000
_PIECE = 1024 * 1024


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("mail", "Mail that comes in, and what became of it.", alone="list")
    listing = group.add("list", run_list, "What came in and what became of it, the newest last.", "mail list")
    listing.add_argument("--lines", type=int, default=20, metavar="N", help="how many [20]")
    show = group.add("show", run_show, "One message: its text, and where its attachments are.", "mail show eml-7f2k")
    show.add_argument("mail_id", metavar="ID", help="the message, or the beginning of its id")
    deliver = group.add(
        "deliver",
        run_deliver,
        "Take one message on stdin, durably; for a mail server, which tries again after exit code 75.",
        "mail deliver < message",
    )
    for command in (listing, show, deliver):
        command.json()


def run_deliver(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.mail import receiving
    from lumen_tui.storage.origin import operator_name
    from lumen_tui.store.settings.config import load_config

    config = load_config(session.layout)[0]
    most = config.mail.most_mb
    raw, size = _read(round(most * _MEGABYTE))
    try:
        if size > most * _MEGABYTE:
            talk(f"refused: {receiving.too_large(session.store, size, most, session.now).why}")
            return TOO_LARGE
        name = receiving.spool(session.store, raw)
        operator = config.notify.operator or operator_name(os.environ)
        line = receiving.deal_with(session.store, name, config, operator, session.now)
    except (files.StoreError, OSError) as error:
        talk(f"not taken: {error}")
        return LATER
    if args.json:
        document(line or {"id": name, "outcome": "known"})
        return 0
    say(f"{name}: {_became(line) if line else 'it came already'}")
    return 0


def _read(most: int) -> tuple[bytes, int]:
    """Return the message and its size; one that is too large is read to its end and not held."""
    parts: list[bytes] = []
    size = 0
    while data := sys.stdin.buffer.read(_PIECE):
        size += len(data)
        parts = [*parts, data] if size <= most else []
    return b"".join(parts), size


def run_list(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.mail import receiving

    if args.lines < 0:
        raise ActionError("--lines needs a number from 0 up")
    lines = receiving.lines(session.store)[-args.lines :] if args.lines else []
    if args.json:
        document(lines)
        return 0
    table([(line.id, times.stamp_of(line.at), line.sender, line.subject, _became(line)) for line in lines])
    if not lines:
        talk("no mail came in")
    return 0


def _became(line: MailLine) -> str:
    return f"{line.outcome}: {line.why}" if line.why else line.outcome


def run_show(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.mail import receiving
    from lumen_tui.model.text import safe

    beginnings = (args.mail_id, f"eml-{args.mail_id}")
    matching = [line for line in receiving.lines(session.store) if line.id.startswith(beginnings)]
    if len(matching) != 1:
        problem = "is not the beginning of one id" if matching else "is no message"
        raise ActionError(f"{args.mail_id} {problem}: `mail list` shows them", missing=not matching)
    (line,) = matching
    folder = session.layout.mail_kept / line.id
    text = safe((files.read(folder / "text.txt") or b"").decode("utf-8", "replace"))
    if args.json:
        document({"mail": line, "text": text, "folder": str(folder)})
        return 0
    facts = {"from": line.sender, "subject": line.subject, "came": line.at, "became": _became(line)}
    table([(name, value) for name, value in {**facts, "files": ", ".join(line.attachments), "in": str(folder)}.items()])
    say(f"\n{text}")
    return 0
