"""The constitution and its approval, which is recorded where no worker can write."""

from __future__ import annotations

import msgspec

from lumen_tui.model.constitution import ConstitutionApproval, ConstitutionState, check_approval, digest
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution.text_files import read_text


def read_constitution(layout: Layout) -> ConstitutionState:
    """Return the state of the constitution. A file that cannot be read stops evolution as a changed one does."""
    try:
        text = read_text(layout.constitution)
        return check_approval(text, _approval(layout))
    except (files.StoreError, OSError, *UNDECODABLE) as error:
        return ConstitutionState("", "", f"the constitution or its approval cannot be read: {error}")


def _approval(layout: Layout) -> ConstitutionApproval | None:
    data = files.read(layout.approved_constitution)
    return None if data is None else msgspec.json.decode(data, type=ConstitutionApproval)


def read_approval(layout: Layout) -> ConstitutionApproval | None:
    """Return the record of the approval; None where there is none or it cannot be read."""
    try:
        return _approval(layout)
    except UNDECODABLE:
        return None


def approved_constitution(layout: Layout) -> str | None:
    """Return the approved text; None where there is none or it cannot be read."""
    record = read_approval(layout)
    return record.text if record else None


def approve_constitution(layout: Layout, text: str | None, *, by: str, at: str) -> None:
    """Record the approval of this text; None removes the record."""
    if text is None:
        directories.remove(layout.approved_constitution)
        return
    record = ConstitutionApproval(digest(text), text, at, by)
    files.replace(layout.approved_constitution, msgspec.json.format(msgspec.json.encode(record), indent=1))
