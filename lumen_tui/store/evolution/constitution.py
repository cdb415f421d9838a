"""The constitution on disk, and the record of its approval, which stands where no worker writes."""

from __future__ import annotations

import msgspec

from lumen_tui.model.constitution import Approval, ConstitutionState, digest, standing
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import evolved


def read_standing(layout: Layout) -> ConstitutionState:
    """How it stands now. A file that cannot be read stops evolution as a changed one does."""
    try:
        there = evolved.read_text(layout.constitution)
        return standing(there, _approval(layout))
    except (files.StoreError, OSError, *UNDECODABLE) as error:
        return ConstitutionState("", "", f"the constitution or its approval cannot be read: {error}")


def _approval(layout: Layout) -> Approval | None:
    data = files.read(layout.approved_constitution)
    return None if data is None else msgspec.json.decode(data, type=Approval)


def approval(layout: Layout) -> Approval | None:
    """The record of the approval; None where there is none or it cannot be read."""
    try:
        return _approval(layout)
    except UNDECODABLE:
        return None


def approved_text(layout: Layout) -> str | None:
    """What the record of the approval holds; None where there is none or it cannot be read."""
    found = approval(layout)
    return found.text if found else None


def approve(layout: Layout, text: str | None, *, by: str, at: str) -> None:
    """Record the approval of this text; None takes the record away."""
    if text is None:
        directories.remove(layout.approved_constitution)
        return
    record = Approval(digest(text), text, at, by)
    files.replace(layout.approved_constitution, msgspec.json.format(msgspec.json.encode(record), indent=1))
