"""What `why` knows of notes of the archive, texts in relays and roles: which is meant, what made it what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lumen_tui.model import ids
from lumen_tui.model.archive import WITHDRAWN, Passage
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.lineage import Hop
from lumen_tui.model.relay import Status, Submission
from lumen_tui.model.roles import PersonnelEntry
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.lineage.provenance import Link
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.memory import archive, nodes, relays
from lumen_tui.store.tasks.task_records import decode_safe

KINDS = ("arc-", "rly-")
ROLE = "role:"  # before the name of a role, which may be that of a task as well
_TITLE = 120
_BY_TASK = re.compile(r"([a-z0-9][a-z0-9-]*):[0-9a-f]{32}")  # the key of what a worker submits


def resolve(layout: Layout, text: str) -> str:
    """Return the id that `text` begins. LookupError where there is none, Ambiguous for several."""
    if text.startswith("arc-"):
        return archive.resolve(layout, text)
    matches = sorted({submission.id for _, submission in relays.everything(layout) if submission.id.startswith(text)})
    if text in matches:
        return text
    if not matches or len(text) <= len("rly-"):
        raise LookupError(text)
    if len(matches) > 1:
        raise nodes.Ambiguous(tuple(matches[:10]))
    return matches[0]


def hop(layout: Layout, name: str) -> Hop | None:
    """Return the thing itself; None where there is none."""
    if name.startswith("arc-"):
        note = archive.find(layout, [name]).get(name)
        return _note(note) if note else None
    return next(
        (_text(where, submission) for where, submission in relays.everything(layout) if submission.id == name), None
    )


def role_of(layout: Layout, text: str) -> str:
    """Return the name of a role in a trace, `role:builder`. LookupError where there is none and never was."""
    try:
        files = (layout.role(text), layout.retired_role(text), shipped("roles") / f"{text}.md")
    except ids.BadId as error:
        raise LookupError(text) from error
    if any(path.is_file() for path in files) or _changes(layout, text):
        return f"{ROLE}{text}"
    raise LookupError(text)


def _changes(layout: Layout, role: str) -> list[PersonnelEntry]:
    """Return who hired, fired or adjusted a role, the oldest first."""
    entries = []
    for line in Journal(layout.personnel).lines():
        try:
            entry = decode_safe(line, PersonnelEntry)
        except UNDECODABLE:
            continue
        if entry.role == role:
            entries.append(entry)
    return entries


def role_hop(layout: Layout, name: str) -> Hop:
    """Return a role, or with `#3` behind its name the fourth change of it."""
    role, _, number = name.removeprefix(ROLE).partition("#")
    changes = _changes(layout, role)
    if number:
        change = changes[int(number)]
        return Hop(
            role,
            "change",
            one_line(": ".join(filter(None, (change.summary or change.verb, change.reason))), _TITLE),
            "",
            change.at,
            one_line(change.by, 60),
        )
    exists = layout.role(role).is_file() or (shipped("roles") / f"{role}.md").is_file()
    status = "retired" if layout.retired_role(role).is_file() or not exists else "in force"
    return Hop(role, "role", role, status, changes[-1].at if changes else "")


def role_links(layout: Layout, name: str) -> Iterator[Link]:
    """Link a role to each of its changes, the newest first."""
    if "#" not in name:
        count = len(_changes(layout, name.removeprefix(ROLE)))
        for number in reversed(range(count)):
            yield Link(name, f"{name}#{number}", "made so by", "made")


def _note(note: Passage) -> Hop:
    source = f" (from {note.source})" if note.source else ""
    title = one_line(f"{note.content.partition(chr(10))[0]}{source}", _TITLE)
    status = WITHDRAWN if note.status == WITHDRAWN else safe(note.kind)
    return Hop(safe(note.id), "archival", title, status, safe(note.created_at), one_line(note.created_by, 60))


def _text(where: str, submission: Submission) -> Hop:
    place = f"{where} {submission.position}: " if submission.position else f"{where}: "
    title = one_line(place + submission.title, _TITLE)
    return Hop(
        safe(submission.id), "relay", title, str(submission.status), safe(submission.at), one_line(submission.by, 60)
    )


def links(layout: Layout) -> Iterator[Link]:
    """Link notes to their work unit and task, and texts of relays to the task and the text that they came from."""
    for note in archive.passages(layout):
        if note.wu_id:
            yield Link(note.id, note.wu_id, "kept for", "kept in the archive")
        if note.task_id:
            yield Link(note.id, note.task_id, "written by", "kept in the archive")
    for _, submission in relays.everything(layout):
        if keyed := _BY_TASK.fullmatch(submission.key):
            yield Link(submission.id, keyed.group(1), "put in by task", "put in")
        if submission.status is Status.REPLACED and submission.note.startswith("as rly-"):
            yield Link(submission.note.removeprefix("as "), submission.id, "put in again for", "put in again as")
