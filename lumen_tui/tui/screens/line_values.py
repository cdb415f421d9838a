"""What may stand for a value on the command line of the room: ids and names of the newest snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from lumen_tui.model.grammar import Candidate
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line

_MOST = 100  # of each kind
_WORDS = 80  # characters beside an id

Found = Callable[[Snapshot], Sequence[Candidate]]


def _tasks(snapshot: Snapshot) -> list[Candidate]:
    return [_named(view.id, f"{view.status}  {view.spec.objective}") for view in islice(snapshot.tasks, _MOST)]


def _nodes(snapshot: Snapshot) -> list[Candidate]:
    rows = [_named(row.node.id, row.node.title) for row in islice(snapshot.discoveries, _MOST)]
    return rows + [_named(row.node_id, row.title) for row in islice(snapshot.fading, _MOST)]


def _signals(snapshot: Snapshot) -> list[Candidate]:
    return [_named(row.signal.id, row.signal.message) for row in islice(snapshot.signals, _MOST)]


def _needs(snapshot: Snapshot) -> list[Candidate]:
    return [_named(need.target, need.text) for need in (*snapshot.attention, *snapshot.snoozed) if need.target]


def _roles(snapshot: Snapshot) -> list[Candidate]:
    return [_named(role.name, role.purpose) for role in snapshot.roles]


def _units(snapshot: Snapshot) -> list[Candidate]:
    return [_named(unit.id, unit.title) for unit in snapshot.work]


def _lanes(snapshot: Snapshot) -> list[Candidate]:
    return [Candidate(lane) for lane in snapshot.lanes]


def _approvals(snapshot: Snapshot) -> list[Candidate]:
    return [_named(request.id, request.summary) for request in snapshot.approvals]


def _questions(snapshot: Snapshot) -> list[Candidate]:
    return [_named(request.id, request.question) for request in snapshot.questions]


def _named(word: str, text: str) -> Candidate:
    return Candidate(word, one_line(text, _WORDS))


_BY_FIELD: Mapping[str, Found] = {
    **dict.fromkeys(("task_id", "depends_on", "task"), _tasks),
    **dict.fromkeys(("node_ids", "node_id", "promote", "archive", "keep", "merge", "into", "discovered_from"), _nodes),
    **dict.fromkeys(("signal_ids", "reply_to"), _signals),
    **dict.fromkeys(("wu_id", "wu"), _units),
    **dict.fromkeys(("approval_ids", "approval_id"), _approvals),
    "targets": _needs,
    "question_id": _questions,
    "role": _roles,
    "like": _roles,
    "lane": _lanes,
}
_NAMES: Mapping[str, Found] = {"role": _roles}  # whose name a word is, by the noun of the command


def values_in(snapshot: Snapshot, command: str, field: str) -> Sequence[Candidate]:
    """Return what is there for a field of a command; nothing where a person has to write it."""
    source = _NAMES.get(command.partition(" ")[0]) if field == "name" else _BY_FIELD.get(field)
    return source(snapshot) if source is not None else ()
