"""What became of mail: the lines of mail.jsonl, and how it stands with the places from which mail comes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.mail import MailLine, MailSource
from lumen_tui.model.problem import Problem
from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout

IMAP, MAILDIR = "imap", "maildir"


def lines(layout: Layout) -> list[MailLine]:
    """Return what became of every message, the oldest first, its texts safe."""
    read = []
    for line in Journal(layout.mail_log).lines():
        try:
            read.append(decode_safe(line, MailLine))
        except UNDECODABLE:
            continue
    return read


def bytes_of_day(known: list[MailLine], now: float) -> int:
    """Return the bytes of all messages that came in on the day (UTC) of `now`."""
    day = times.iso(now)[:10]
    return sum(line.size for line in known if line.at[:10] == day)


def source_files(layout: Layout) -> dict[str, Path]:
    """Return the file of each place from which mail comes."""
    return {IMAP: layout.mail_imap, MAILDIR: layout.mail_maildir}


def read_source(path: Path) -> MailSource | None:
    """Return how it stands with a place, its texts safe; None where nothing can be read."""
    try:
        data = files.read(path)
        return decode_safe(data, MailSource) if data else None
    except (*UNDECODABLE, files.StoreError, OSError):
        return None


def write_source(path: Path, source: MailSource) -> None:
    """Write down how it stands with a place, durably. Raise files.StoreError."""
    files.replace(path, msgspec.json.format(msgspec.json.encode(source), indent=1))


def sources(layout: Layout) -> dict[str, MailSource]:
    """Return how it stands with each place of which anything is known."""
    read = {name: read_source(path) for name, path in source_files(layout).items()}
    return {name: source for name, source in read.items() if source is not None}


def problems(known: dict[str, MailSource], now: float) -> list[Problem]:
    """Return what a person should know of these places."""
    return [problem for name, source in known.items() if (problem := source.told(name, now))]
