"""`mail`: how it is set up and how it goes, what came in and what became of it; messages from a mail server's hands."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.mail import FAILED, REFUSED, UNSENT
from lumen_tui.storage import files

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.model.config import Config
    from lumen_tui.model.mail_config import MailSource

TOO_LARGE, LATER = 65, 75  # EX_DATAERR and EX_TEMPFAIL of sysexits.h, by which mail servers know what to do
_MEGABYTE = 1_000_000
_PIECE = 1024 * 1024
_LAST_BAD = 5  # messages that were refused or could not be sent


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("mail", "How mail comes in and goes out, and what became of it.", alone="status")
    status = group.add("status", run_status, "What is set up, how it goes, and what was refused last.", "mail status")
    test = group.add(
        "test", run_test, "Look at each place that mail comes from, and send the operators a message.", "mail test"
    )
    log = group.add("log", run_log, "What came in and what became of it, the newest last.", "mail log")
    log.add_argument("--lines", type=int, default=20, metavar="N", help="how many [20]")
    show = group.add("show", run_show, "One message: its text, and where its attachments are.", "mail show eml-7f2k")
    show.add_argument("mail_id", metavar="ID", help="the message, or the beginning of its id")
    deliver = group.add(
        "deliver",
        run_deliver,
        "Take one message on stdin, durably; for a mail server, which tries again after exit code 75.",
        "mail deliver < message",
    )
    for command in (status, test, log, show, deliver):
        command.json()


def run_status(session: Session, args: Namespace) -> int:
    from lumen_tui.store import mail, mail_sources
    from lumen_tui.store.settings.config import load_config

    config = load_config(session.layout)[0].mail
    sources, lines = mail_sources.sources(session.layout), mail.lines(session.layout)
    bad = [line for line in lines if line.outcome in (REFUSED, FAILED, UNSENT)][-_LAST_BAD:]
    queued = len(mail.queued_today(lines, session.now))
    size = mail.bytes_of_day(lines, session.now) / _MEGABYTE
    if args.json:
        document({"settings": config, "sources": sources, "day_mb": size, "sent_today": queued, "refused": bad})
        return 0
    places = {mail_sources.MAILDIR: config.maildir, mail_sources.IMAP: config.imap}
    rows = [("address", config.address or "none"), ("operators", ", ".join(config.operators) or "none")]
    rows += [(name, f"{place}: {_how(sources.get(name))}" if place else "not set up") for name, place in places.items()]
    told = "tells what needs you" if config.tell else "tells nothing (tell = false)"
    rows.append(("smtp", f"{config.smtp}: {told}" if config.smtp else "not set up"))
    table([*rows, ("today", f"{size:.1f} MB of {config.day_mb:g} came in, {queued} of {config.out_per_day} went out")])
    for line in bad:
        say(f"{line.outcome} {times.stamp_of(line.at)}  {line.id}  {line.to or line.sender}  {line.why}")
    return 0


def _how(source: MailSource | None) -> str:
    """Return how it goes with a place from which mail comes."""
    if source is None or not (source.looked_at or source.problem):
        return "no engine has looked at it yet"
    looked = f"last looked at {times.stamp_of(source.looked_at)}" if source.looked_at else "never reached"
    return f"{source.problem} (since {times.stamp_of(source.since)}; {looked})" if source.problem else looked


def run_test(session: Session, args: Namespace) -> int:
    from lumen_tui.store.settings.config import load_config

    config = load_config(session.layout)[0]
    if not (config.mail.maildir or config.mail.imap or config.mail.smtp):
        raise ActionError("no mail is set up in lumen.toml: [mail] maildir, imap or smtp")
    results = {name: _tried(test) for name, test in _tests(session, config).items()}
    if args.json:
        document([{"name": name, "ok": ok, "text": text} for name, (ok, text) in results.items()])
    for name, (_, text) in results.items() if not args.json else ():
        talk(f"{name}: {text}")
    return 0 if all(ok for ok, _ in results.values()) else 1


def _tests(session: Session, config: Config) -> dict[str, Callable[[], str]]:
    """Return what tries each part that is set up, and returns what it saw."""
    from lumen_tui.engine.mail import trying

    mail = config.mail
    parts = {
        "maildir": (mail.maildir, lambda: trying.maildir(mail.maildir)),
        "imap": (mail.imap, lambda: trying.imap(config)),
        "smtp": (mail.smtp, lambda: trying.smtp(config, session.now)),
    }
    return {name: test for name, (setting, test) in parts.items() if setting}


def _tried(test: Callable[[], str]) -> tuple[bool, str]:
    from lumen_tui.engine.mail.following import Unreachable
    from lumen_tui.engine.mouths.sending import NotSent
    from lumen_tui.store.settings.secrets import SecretMissing

    try:
        return True, test()
    except (Unreachable, NotSent, SecretMissing, OSError) as error:
        return False, str(error)


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
        if why := receiving.full_today(session.store, config, session.now):
            talk(f"not taken: {why}")
            return LATER
        name = receiving.spool(session.store, raw)
        operator = config.notify.operator or operator_name(os.environ)
        line = receiving.deal_with(session.store, name, config, operator, session.now)
    except (files.StoreError, OSError) as error:
        talk(f"not taken: {error}")
        return LATER
    if args.json:
        document(line or {"id": name, "outcome": "known"})
        return 0
    say(f"{name}: {line.words if line else 'it came already'}")
    return 0


def _read(most: int) -> tuple[bytes, int]:
    """Return the message and its size; one that is too large is read to its end and not held."""
    parts: list[bytes] = []
    size = 0
    while data := sys.stdin.buffer.read(_PIECE):
        size += len(data)
        parts = [*parts, data] if size <= most else []
    return b"".join(parts), size


def run_log(session: Session, args: Namespace) -> int:
    from lumen_tui.store import mail

    if args.lines < 0:
        raise ActionError("--lines needs a number from 0 up")
    lines = mail.lines(session.layout)[-args.lines :] if args.lines else []
    if args.json:
        document(lines)
        return 0
    table([(line.id, times.stamp_of(line.at), line.to or line.sender, line.subject, line.words) for line in lines])
    if not lines:
        talk("no mail came in")
    return 0


def run_show(session: Session, args: Namespace) -> int:
    from lumen_tui.model.text import safe
    from lumen_tui.store import mail

    beginnings = (args.mail_id, f"eml-{args.mail_id}", f"msg-{args.mail_id}")
    newest = {line.id: line for line in mail.lines(session.layout)}  # of what is sent its last step
    matching = [line for name, line in newest.items() if name.startswith(beginnings)]
    if len(matching) != 1:
        problem = "is not the beginning of one id" if matching else "is no message"
        raise ActionError(f"{args.mail_id} {problem}: `mail log` shows them", missing=not matching)
    (line,) = matching
    folder = session.layout.mail_kept / line.id
    text = safe((files.read(folder / "text.txt") or b"").decode("utf-8", "replace"))
    if args.json:
        document({"mail": line, "text": text, "folder": str(folder)})
        return 0
    facts = {"to": line.to} if line.to else {"from": line.sender}
    facts |= {"subject": line.subject, "came": line.at, "became": line.words}
    table([(name, value) for name, value in {**facts, "files": ", ".join(line.attachments), "in": str(folder)}.items()])
    say(f"\n{text}")
    return 0
