"""`checkpoint` and `ready` in their plain forms: a few more imports than the hot verbs, and no parser.

As in `hot`, a ValueError or an ActionError leaves the words to the full parser; nothing was written then.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from lumen_tui import hot
from lumen_tui.actions import checkpoints, places, ready
from lumen_tui.model import fields, ids, views
from lumen_tui.model.text import safe
from lumen_tui.storage import origin
from lumen_tui.storage.layout import Folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lumen_tui.model.views import Page

CHECKPOINT = {
    "--note": "note", "-n": "note", "--wu": "wu_id", "--session": "session", "-s": "session", "--progress": "progress",
    "-p": "progress", "--next-steps": "next_steps", "--trigger": "trigger", "-t": "trigger",
    "--git-diff-stat": "git_diff_stat", "--key": "key",
}  # fmt: skip
READY = {"--wu": "wu", "--type": "type", "-t": "type", "--format": "format", "-f": "format"}
QUIET = ("-q", "--quiet")


def _author(options: dict[str, str]) -> str:
    return ids.check_label(options.get("by") or origin.operator_name(os.environ), "operator")


def checkpoint(root: str, options: dict[str, str], flags: list[str], words: list[str]) -> int:
    """Save a checkpoint and print its id."""
    if len(words) > 1 or (words and "note" in options):
        raise ValueError(words)
    store = Folder(Path(root))
    by = _author(options)
    session, wu_id = hot.belongs(root, options.get("session", ""), options.get("wu_id") or None, os.environ)
    where = places.of_note(root, by=by, wu_id=wu_id, session=session)
    texts = {
        "progress": options.get("progress", ""),
        "nextSteps": options.get("next_steps", ""),
        "trigger": fields.label(options.get("trigger", "manual"), "trigger"),
    }
    node_id, summary, _ = checkpoints.keep(
        store,
        where,
        texts,
        by=by,
        now=time.time(),
        note=words[0] if words else options.get("note", ""),
        folder=os.getcwd(),
        git_diff_stat=options.get("git_diff_stat", ""),
        key=options.get("key", ""),
        client=hot.client_name(os.environ),
    )
    print(node_id)
    if not any(flag in QUIET for flag in flags):
        print(safe(summary), file=sys.stderr)
    return 0


def ready_page(root: str, options: dict[str, str], flags: list[str], words: list[str]) -> int:
    """Print the page of a work unit."""
    kind = options.get("type", "")
    form = options.get("format", "human")
    if words or kind not in ("", *ready.TYPES) or form not in ("human", "json"):
        raise ValueError(words)
    store = Folder(Path(root))
    by = _author(options)
    page = unit_page(store, by, options.get("wu", ""), kind, time.time())
    show(page, kind, as_json=form == "json" or "--json" in flags)
    return 0


def unit_page(store: Folder, by: str, wu_id: str, kind: str, now: float) -> Page:
    """Return the page of a work unit: the named one, or that of `$LUMEN_SESSION` or of the operator's session."""
    session, unit = hot.belongs(os.fspath(store.root), "", wu_id or None, os.environ)
    unit = places.place(store, by=by, wu_id=unit or "", session=session).wu_id
    return ready.page(store, by=by, now=now, wu_id=unit, type=kind)


def show(page: Page, kind: str, *, as_json: bool) -> None:
    """Print the page for people, or as one JSON document; with a `kind` only its open nodes."""
    if as_json:
        import json

        print(json.dumps(views.builtins(page), indent=1))
        return
    for line in [ready.entry_text(entry) for entry in page.items] if kind else ready.lines(page):
        print(safe(line))
    if not kind:
        print(f"What is known elsewhere about the same: `lumen-tui recall {page.wu_id}`")
    if kind and not page.items:
        print(f"nothing open of type {kind} on {page.wu_id}", file=sys.stderr)
