"""What `why` knows of archive notes, texts in relays, roles and what was learnt: which is meant, and its origin."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.archive import WITHDRAWN, Passage
from lumen_tui.model.decoding import UNDECODABLE, decode_safe, safe_record
from lumen_tui.model.evolution import Observation
from lumen_tui.model.lineage import Hop
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.relay import Submission
from lumen_tui.model.roles import PersonnelEntry
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.transcript import task_in
from lumen_tui.queries.lineage.provenance import TITLE, Link
from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.evolution import evolved
from lumen_tui.store.memory import archive, nodes, relays
from lumen_tui.store.memory.nodes import Ambiguous
from lumen_tui.store.work import open_sessions

TEXTS = ("arc-", "rly-")
ROLE = "role:"  # before the name of a role, which may be that of a task as well
_BY_TASK = lazy_re(r"([a-z0-9][a-z0-9-]*):[0-9a-f]{32}")  # the key of what a worker submits
OBSERVATION = "evo-"
SESSION = "session:"  # before the name of a session that is of no task
_HEAD = 1024 * 1024  # bytes in which the first line of a transcript ends


def resolve_text(layout: Layout, text: str) -> str:
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


def text_hop(layout: Layout, name: str) -> Hop | None:
    """Return the thing itself; None where there is none."""
    if name.startswith("arc-"):
        note = archive.find(layout, [name]).get(name)
        return _note_hop(note) if note else None
    return next(
        (
            _submission_hop(where, submission)
            for where, submission in relays.everything(layout)
            if submission.id == name
        ),
        None,
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
            one_line(": ".join(filter(None, (change.summary or change.verb, change.reason))), TITLE),
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


def _note_hop(note: Passage) -> Hop:
    source = f" (from {note.source})" if note.source else ""
    title = one_line(f"{note.content.partition(chr(10))[0]}{source}", TITLE)
    status = WITHDRAWN if note.status == WITHDRAWN else safe(note.kind)
    return Hop(safe(note.id), "archival", title, status, safe(note.created_at), one_line(note.created_by, 60))


def _submission_hop(where: str, submission: Submission) -> Hop:
    place = f"{where} {submission.position}: " if submission.position else f"{where}: "
    title = one_line(place + submission.title, TITLE)
    return Hop(
        safe(submission.id), "relay", title, str(submission.status), safe(submission.at), one_line(submission.by, 60)
    )


def text_links(layout: Layout) -> Iterator[Link]:
    """Link notes to their work unit and task, and texts of relays to the task and the text that they came from."""
    for note in archive.passages(layout):
        if note.wu_id:
            yield Link(note.id, note.wu_id, "kept for", "kept in the archive")
        if note.task_id:
            yield Link(note.id, note.task_id, "written by", "kept in the archive")
        if note.session_id:
            yield Link(note.id, f"{SESSION}{note.session_id}", "kept in session", "kept in the archive")
    for _, submission in relays.everything(layout):
        if keyed := _BY_TASK.fullmatch(submission.key):
            yield Link(submission.id, keyed.group(1), "put in by task", "put in")
        if submission.replaced_by:
            yield Link(submission.replaced_by, submission.id, "put in again for", "put in again as")


class _Begin(msgspec.Struct):
    cwd: str = ""


def resolve_observation(layout: Layout, text: str) -> str:
    """Return the id that `text` begins. LookupError where there is none, Ambiguous for several."""
    known = evolved.observations(layout)
    matches = [text] if text in known else [name for name in known if name.startswith(text)]
    if not matches or text == OBSERVATION:
        raise LookupError(text)
    if len(matches) > 1:
        raise Ambiguous(tuple(matches[:10]))
    return matches[0]


def observation_hop(layout: Layout, name: str) -> Hop | None:
    """Return the thing itself; None where there is none."""
    if name.startswith(SESSION):
        session = name.removeprefix(SESSION)
        return Hop(one_line(session, 80), "session", _session_title(layout, session))
    observation = evolved.observations(layout).get(name)
    return _learnt(safe_record(observation)) if observation else None


def _session_title(layout: Layout, session: str) -> str:
    """Return on which work unit a session of ours is or was; of another, that it is none."""
    try:
        ours = open_sessions.read(layout.root, session)
    except ids.BadId:
        ours = None
    if ours and ours.active_wu:
        return one_line(f"on {ours.active_wu}", TITLE)
    return "of no task that is known here: a person's, or a program's"


def _learnt(observation: Observation) -> Hop:
    return Hop(
        observation.id,
        "learnt",
        one_line(observation.text, TITLE),
        str(observation.status),
        observation.at,
        one_line(observation.by, 60) or f"evolution, on the word of: {observation.trust}",
    )


def observation_links(layout: Layout) -> Iterator[Link]:
    """Link each observation to the tasks or sessions in which it was said, and to what it contradicts."""
    tasks: dict[str, str] = {}
    for observation in evolved.observations(layout).values():
        for session in dict.fromkeys(source.session for source in observation.sources):
            if session not in tasks:
                tasks[session] = _task_of(layout, session)
            yield Link(observation.id, tasks[session] or f"{SESSION}{session}", "said in", "taught")
        if observation.contradicts:
            yield Link(observation.id, observation.contradicts, "says otherwise than", "contradicted by")


def _task_of(layout: Layout, session: str) -> str:
    """Return the task whose transcript this session is; empty for none."""
    try:
        fd = files.open_plain(layout.transcript(session))
        try:
            head = os.pread(fd, _HEAD, 0)
        finally:
            os.close(fd)
        return task_in(msgspec.json.decode(head.partition(b"\n")[0], type=_Begin).cwd)
    except (*UNDECODABLE, files.StoreError, ids.BadId, OSError):
        return ""
