"""What `why` knows of what was learnt: the sessions and tasks in which it was said, and what it speaks against."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.evolution import Observation
from lumen_tui.model.lineage import Hop
from lumen_tui.model.text import one_line
from lumen_tui.queries.lineage.provenance import Link
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import evolved
from lumen_tui.store.memory.nodes import Ambiguous
from lumen_tui.store.sessions.transcripts import task_in

KIND = "evo-"
SESSION = "session:"  # before the name of a session that is of no task
_TITLE = 120
_HEAD = 1024 * 1024  # bytes in which the first line of a transcript ends


class _Begin(msgspec.Struct):
    cwd: str = ""


def resolve(layout: Layout, text: str) -> str:
    """Return the id that `text` begins. LookupError where there is none, Ambiguous for several."""
    known = evolved.observations(layout)
    matches = [text] if text in known else [name for name in known if name.startswith(text)]
    if not matches or text == KIND:
        raise LookupError(text)
    if len(matches) > 1:
        raise Ambiguous(tuple(matches[:10]))
    return matches[0]


def hop(layout: Layout, name: str) -> Hop | None:
    """Return the thing itself; None where there is none."""
    if name.startswith(SESSION):
        session = one_line(name.removeprefix(SESSION), 80)
        return Hop(session, "session", "of no task that is known here: a person's, or a program's")
    observation = evolved.observations(layout).get(name)
    return _learnt(evolved.clean(observation)) if observation else None


def _learnt(observation: Observation) -> Hop:
    return Hop(
        observation.id,
        "learnt",
        one_line(observation.text, _TITLE),
        str(observation.status),
        observation.at,
        one_line(observation.by, 60) or f"evolution, on the word of: {observation.trust}",
    )


def links(layout: Layout) -> Iterator[Link]:
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
