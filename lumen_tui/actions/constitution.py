"""Approving the constitution; undo approves what was approved before."""

from __future__ import annotations

from lumen_tui.actions import edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.constitution import DEFAULT
from lumen_tui.model.records import Change
from lumen_tui.model.requests.evolution import ApproveConstitution
from lumen_tui.model.text import is_safe
from lumen_tui.storage import directories, files
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.evolution import evolved

KIND = "constitution"  # of a change
FILE_KIND = "constitution file"
_SHIPPED = {"text": "shipped"}  # a file that an approval made
_SHIPPED_KEY = "constitution and its file"  # of one change for both, in entries of earlier versions
_MOST = 20_000  # bytes; both sides of a change must fit into one journal line


def approve(store: Store, _request: ApproveConstitution, *, by: str, now: float) -> Done:
    """Approve evolved/constitution.md as it is now; the shipped constitution where there is no file."""
    layout = store.layout
    text = evolved.read_text(layout.constitution)
    _check(text, evolved.approved_constitution(layout))
    at = times.iso(now)
    approval = Change(KIND, KIND, _side(store), {"text": text or DEFAULT, "by": by, "at": at})
    file = [Change(FILE_KIND, "evolved/constitution.md", None, _SHIPPED)] if text is None else []
    summary = "constitution approved"
    action = edits.new_action("constitution.approve", [*file, approval], summary=summary, by=by, now=now)
    with journal.carrying_out(layout, action):
        if text is None:
            files.replace(layout.constitution, DEFAULT.encode())
        evolved.approve_constitution(layout, text or DEFAULT, by=by, at=at)
    return Done(summary=summary, target=KIND, action_id=action.id)


def _check(text: str | None, before: str | None) -> None:
    if text is not None and not text.strip():
        raise ActionError("evolved/constitution.md is empty: write it first")
    if text is not None and (len(text.encode("utf-8", "replace")) > _MOST or not is_safe(text)):
        raise ActionError(f"the constitution has invisible characters or over {_MOST:,} bytes: fix it first")
    if before is not None and before == text:
        raise ActionError("the constitution is approved as it is", missing=True)


def _side(store: Store) -> Side | None:
    approval = evolved.read_approval(store.layout)
    return {"text": approval.text, "by": approval.by, "at": approval.at} if approval else None


def approved_now(store: Store, change: Change) -> Side | None:
    """For undo: what is approved now. Older entries name the text alone."""
    side = _side(store)
    return side and {name: side[name] for name in change.after or change.before or side}


def file_now(store: Store, _: Change) -> Side | None:
    """For undo: whether the file holds the shipped text; None where there is no file."""
    text = evolved.read_text(store.layout.constitution)
    return _SHIPPED if text == DEFAULT else None if text is None else {"text": "another"}


def put_file(store: Store, change: Change) -> None:
    """For undo: remove the file that the approval made, or write it again."""
    if change.after is None:
        directories.remove(store.layout.constitution)
    else:
        files.replace(store.layout.constitution, DEFAULT.encode())


def put_approved(store: Store, change: Change) -> None:
    """For undo: approve what was approved before."""
    side = change.after or {}
    text = side.get("text")
    if change.key == _SHIPPED_KEY and text is None and evolved.read_text(store.layout.constitution) == DEFAULT:
        directories.remove(store.layout.constitution)
    elif change.key == _SHIPPED_KEY and text is not None and not store.layout.constitution.exists():
        files.replace(store.layout.constitution, DEFAULT.encode())
    evolved.approve_constitution(store.layout, text, by=side.get("by", "undo"), at=side.get("at", ""))
