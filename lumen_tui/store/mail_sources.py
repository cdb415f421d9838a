"""How it stands with the places from which mail comes, as the engine writes it down for each."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.mail_config import MailSource
from lumen_tui.model.problem import Problem
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout

IMAP, MAILDIR = "imap", "maildir"


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
