"""The constitution on disk, and the record of its approval, which is where no worker can write."""

from __future__ import annotations

import msgspec

from lumen_tui.model.constitution import Approval, ConstitutionState, digest, standing
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import evolved


def read_state(layout: Layout) -> ConstitutionState:
    """Return the state of the constitution. A file that cannot be read stops evolution as a changed one does."""
    try:
        text = evolved.read_text(layout.constitution)
        return standing(text, _approval(layout))
    except (files.StoreError, OSError, *UNDECODABLE) as error:
        return ConstitutionState("", "", f"the constitution or its approval cannot be read: {error}")


def _approval(layout: Layout) -> Approval | None:
    data = files.read(layout.approved_constitution)
    return None if data is None else msgspec.json.decode(data, type=Approval)


def approval(layout: Layout) -> Approval | None:
    """Return the record of the approval; None where there is none or it cannot be read."""
    try:
        return _approval(layout)
    except UNDECODABLE:
        return None


def approved_text(layout: Layout) -> str | None:
    """Return the approved text; None where there is none or it cannot be read."""
    record = approval(layout)
    return record.text if record else None


def approve(layout: Layout, text: str | None, *, by: str, at: str) -> None:
    """Record the approval of this text; None removes the record."""
    if text is None:
        directories.remove(layout.approved_constitution)
        return
    record = Approval(digest(text), text, at, by)
    files.replace(layout.approved_constitution, msgspec.json.format(msgspec.json.encode(record), indent=1))
