"""A message that came in: kept durably first, then dealt with once, whatever is killed in between.

A reply with a token from an operator's address is an answer. All else is data: it becomes a signal to the main agent.
"""

from __future__ import annotations

from contextlib import closing

import msgspec

from lumen_tui.engine.answering import MAIL, Answers
from lumen_tui.engine.mail.parsing import BadMessage, parse
from lumen_tui.model import ids, times
from lumen_tui.model.answers import Refusal
from lumen_tui.model.config import Config
from lumen_tui.model.mail import ANSWERED, AUTOMATIC, HELD, LEAVING, RECEIVED, REFUSED, Letter, MailLine
from lumen_tui.model.records import Signal
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.redaction import clean
from lumen_tui.storage.store import Store
from lumen_tui.store import mail
from lumen_tui.store.memory import nodes

_MARK = "(a token, used or not)"
_SIGNAL_TEXT = 2000  # characters of a message that a signal holds
_MEGABYTE = 1_000_000


def too_large(store: Store, size: int, most: float, now: float, name: str = "") -> MailLine:
    """Write down, under `name` once, that a message was not taken because of its size, and return the line."""
    why = f"it has more than {most:g} MB"
    line = MailLine(id=name or ids.new_id("eml"), at=times.iso(now), outcome=REFUSED, size=size, why=why)
    with locks.waiting_lock(store.layout.lock("mail")):
        if not name or all(known.id != name for known in mail.lines(store.layout)):
            Journal(store.layout.mail_log).append(line)
    return line


def full_today(store: Store, config: Config, now: float) -> str:
    """Return why no more mail is taken in today; empty where there is room."""
    most = config.mail.day_mb
    if mail.bytes_of_day(mail.lines(store.layout), now) < most * _MEGABYTE:
        return ""
    return f"{most:g} MB came in today ([mail] day_mb): what is left waits until tomorrow (UTC)"


def spool(store: Store, raw: bytes) -> str:
    """Keep a message durably and return its id, which is the same for the same message. Raise files.StoreError."""
    name = f"eml-{ids.short_hash(raw.decode('latin-1'))}"
    for folder in (store.layout.mail_new, store.layout.mail_kept):
        directories.make_folder(folder)
    if not (store.layout.mail_kept / name).is_dir():
        files.replace(store.layout.mail_new / f"{name}.eml", raw)
    return name


def deal_with(store: Store, name: str, config: Config, operator: str, now: float) -> MailLine | None:
    """Deal with a message that was kept; None where that was done already. Raise files.StoreError.

    Each step can be made again after a kill: an answer and a signal know the message's id, and so does the journal.
    """
    path = store.layout.mail_new / f"{name}.eml"
    with locks.waiting_lock(store.layout.lock("mail")):
        raw = files.read(path, round(config.mail.most_mb * _MEGABYTE) + 1)
        if raw is None:
            return None
        known = mail.lines(store.layout)
        line = next((line for line in known if line.id == name), None)
        if line is None:
            line = _judged(store, name, raw, known, config, operator, now)
            Journal(store.layout.mail_log).append(line)
        directories.remove(path)
        return line


def _judged(
    store: Store, name: str, raw: bytes, known: list[MailLine], config: Config, operator: str, now: float
) -> MailLine:
    line = MailLine(id=name, at=times.iso(now), outcome=REFUSED, size=len(raw))
    try:
        letter = parse(raw)
    except BadMessage as error:
        _keep(store, name, _whole(raw))
        return msgspec.structs.replace(line, why=str(error))
    clear = letter.subject.replace(letter.token, _MARK) if letter.token else letter.subject
    line = msgspec.structs.replace(
        line,
        sender=one_line(letter.sender, 200),
        subject=clear,
        message_id=letter.message_id,
        references=letter.references,
        attachments=tuple(attachment.name for attachment in letter.attachments),
    )
    _keep(store, name, _parts(letter, raw))
    outcome, why = _outcome(store, name, letter, known, config, operator, now)
    line = msgspec.structs.replace(line, outcome=outcome, why=why)
    return _signalled(store, line, letter, config) if outcome == RECEIVED else line


def _parts(letter: Letter, raw: bytes) -> dict[str, bytes]:
    """Return what is kept of a message. One with a token or a secret is kept as text, without it."""
    text = clean(letter.text)
    parts = {attachment.name: attachment.data for attachment in letter.attachments}
    parts["text.txt"] = (text.replace(letter.token, _MARK) if letter.token else text).encode()
    return parts if letter.token or text != letter.text else {**_whole(raw), **parts}


def _whole(raw: bytes) -> dict[str, bytes]:
    """Return a message as it came, to be kept; nothing where it holds a secret."""
    text = raw.decode("latin-1")
    return {"message.eml": raw} if clean(text) == text else {}


def _keep(store: Store, name: str, parts: dict[str, bytes]) -> None:
    folder = store.layout.mail_kept / name
    directories.make_folder(folder)
    for file_name, data in parts.items():
        files.replace(folder / file_name, data)


def _outcome(
    store: Store, name: str, letter: Letter, known: list[MailLine], config: Config, operator: str, now: float
) -> tuple[str, str]:
    """Return what becomes of a message, and why where that is less than it asked for."""
    rules = config.mail
    if letter.automatic:
        return AUTOMATIC, "a program sent it: it is kept, and nobody is told"
    if letter.sender and letter.sender == rules.address.lower():
        return AUTOMATIC, "it says that it comes from the agent itself"
    if letter.message_id and any(line.outcome in LEAVING and line.message_id == letter.message_id for line in known):
        return AUTOMATIC, "it is a message of the agent's own that came back"
    if letter.token:
        return _answered(store, name, letter, config, operator, now)
    recent = [line for line in known if line.outcome == RECEIVED and now - times.epoch(line.at) < times.HOUR]
    if len(recent) >= rules.per_hour:
        return HELD, f"{rules.per_hour} messages within an hour became signals; `mail show {name}` shows it"
    return RECEIVED, ""


def _answered(store: Store, name: str, letter: Letter, config: Config, operator: str, now: float) -> tuple[str, str]:
    if letter.sender not in {address.lower() for address in config.mail.operators}:
        return REFUSED, "spoofed: it has a token and comes from no operator's address"
    with closing(Answers(store, MAIL, operator)) as answers:
        if answers.heard(name):
            return ANSWERED, ""
        try:
            return ANSWERED, answers.redeem(letter.token, name, now, letter.words).summary
        except Refusal as error:
            return REFUSED, one_line(str(error), 300)


def _signalled(store: Store, line: MailLine, letter: Letter, config: Config) -> MailLine:
    """Send the main agent what came, as data; its id follows from the message's, so that it is sent once."""
    whole, folder = clean(letter.text), store.layout.mail_kept / line.id  # a secret that is cut is known no more
    text = whole[:_SIGNAL_TEXT]
    more = f"\n[{len(whole):,} characters in all: {folder}/text.txt]" if text != whole else ""
    files_words = f"\nattachments in {folder}/: {', '.join(line.attachments)}" if line.attachments else ""
    head = f"Mail {line.id} from {line.sender or 'an unclear sender'}: {line.subject}"
    signal = Signal(
        id=f"sig-{ids.short_hash(line.id)}",
        message=f"{head}\n\n{text}{more}{files_words}",
        created_at=line.at,
        sender="mail",
        target_agent=config.agent.name,
    )
    nodes.append_once(store.layout.signals, msgspec.to_builtins(signal))
    return msgspec.structs.replace(line, signal=signal.id)
