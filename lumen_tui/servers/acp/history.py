"""What was said in a session: its prompts are tasks whose keys have its id and a number, and nothing is kept beside.

So a session outlives every server, and is the same to each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.model import ids, times
from lumen_tui.model.tasks import Spec, TaskView
from lumen_tui.model.text import one_line
from lumen_tui.queries.documents import result_text
from lumen_tui.servers.acp.shapes import SessionInfo
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import task_files

KIND = "acp"  # of a session's id, and of the programs whose tasks they are
_GAPS = 3  # numbers without a task, one behind the other, after which there is none: undo takes tasks back
_MOST_ASKED, _MOST_ANSWERED = 1_000, 3_000  # characters of one turn as the next worker is told of it
_LOOKED_AT = 2_000  # tasks, of which the older ones are each read from disk
_TITLE = 80  # characters
_TOLD = 8  # turns that the next worker is told of


class PastTurn(Struct, frozen=True):
    """One prompt of a session and the folder of its task."""

    number: int  # from 1
    spec: Spec
    folder: Path


def new_session() -> str:
    return ids.new_id(KIND)


def is_session(text: str) -> bool:
    """Return whether this is an id as sessions have it. One without a prompt is as good as a new one."""
    kind, _, digits = text.partition("-")
    return kind == KIND and len(digits) == ids.CHARS and set(digits) <= set(ids.ALPHABET)


def key_of(session_id: str, number: int) -> str:
    """Return the key of the task of a prompt, from which its id follows."""
    return f"{session_id}.{number}"


def turns(layout: Layout, session_id: str) -> Iterator[PastTurn]:
    """Yield the prompts of a session, the first one first."""
    number = gap = 0
    while gap < _GAPS:
        number += 1
        folder = task_files.folder_of(layout, task_files.id_for_key(key_of(session_id, number)))
        spec = _spec(layout, folder)
        if folder is not None and spec is not None and spec.key == key_of(session_id, number):
            gap = 0
            yield PastTurn(number, spec, folder)
        else:
            gap += 1


def _spec(layout: Layout, folder: Path | None) -> Spec | None:
    """Return the spec of a prompt's task; None for one that cannot be read, or that no editor has ordered."""
    try:
        spec = task_files.read_spec(layout, folder.name) if folder is not None else None
    except (BadFile, OSError):
        return None
    return spec if spec is not None and spec.created_by.startswith(f"{KIND}:") else None


def sessions(tasks: Iterable[TaskView]) -> list[SessionInfo]:
    """Return the sessions whose prompts are among these tasks, the last one used first."""
    known: dict[str, SessionInfo] = {}
    for view in islice(tasks, _LOOKED_AT):
        session_id, _, number = view.spec.key.rpartition(".")
        if not session_id or not number.isdecimal() or not view.spec.created_by.startswith(f"{KIND}:"):
            continue
        info, before = _info(session_id, view), known.get(session_id)
        if before is not None:
            title = info.title if number == "1" else before.title
            info = replace(info, title=title, updated_at=max(info.updated_at, before.updated_at))
        known[session_id] = info
    return sorted(known.values(), key=lambda info: info.updated_at, reverse=True)


def _info(session_id: str, view: TaskView) -> SessionInfo:
    used = view.finished or view.last_event or times.epoch(view.spec.created_at)
    title = title_of(view.spec.objective)
    return SessionInfo(session_id=session_id, cwd=view.spec.folder, title=title, updated_at=times.iso(used))


def title_of(objective: str) -> str:
    """Return the title of a session that begins with this."""
    return one_line(objective, _TITLE)


def spent(past: Iterable[PastTurn]) -> float:
    """Return the dollars that these turns cost, as far as they have ended."""
    ends = (task_files.read_exit(turn.folder) for turn in past)
    return sum(ended.usage.usd for ended in ends if ended is not None)


def told(past: list[PastTurn]) -> str:
    """Return the last turns in short, as the next worker is told of them."""
    return "\n\n".join(map(_told, past[-_TOLD:]))


def _told(turn: PastTurn) -> str:
    answer = result_text(turn.folder).strip() or f"({task_files.status_of(turn.folder)})"
    cut = "…" if len(answer) > _MOST_ANSWERED else ""
    return f"Asked: {one_line(turn.spec.objective, _MOST_ASKED)}\nAnswered: {answer[:_MOST_ANSWERED]}{cut}"
