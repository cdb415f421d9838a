"""What other programs may read. Each function gets the desk, who asks, and its arguments, and returns a document.

What is read was mostly written by others (workers, other programs, pages): data for whoever asks, never an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.actions import checks
from lumen_tui.actions.approvals import resolve
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import ids, lanes, searching
from lumen_tui.model.access import Principal
from lumen_tui.model.approvals import Approval, canonical
from lumen_tui.model.archive import KINDS, WITHDRAWN
from lumen_tui.model.searching import SearchQuery
from lumen_tui.model.secrets.redaction import redact, redact_value
from lumen_tui.model.tasks import Status, TaskView, live_ones
from lumen_tui.model.text import one_line
from lumen_tui.model.work import WorkUnit
from lumen_tui.queries import approval_documents, documents
from lumen_tui.queries.documents import Document, SettledDocument
from lumen_tui.servers.desk import Desk
from lumen_tui.store import approvals
from lumen_tui.store.memory import nodes
from lumen_tui.store.signals import inbox as inboxes
from lumen_tui.store.tasks import task_files

SETTLED = frozenset({"status", "inbox", "read_task"})  # a desk that follows the state keeps their answers
_LOOKED_AT = 2_000  # tasks, of which the older ones are each read from disk
_TASK_FILES = ("spec.json", "events.jsonl", "steers.jsonl", "result.md", "exit.json")
_PART = 100_000  # characters of a result, or of a node, that are handed on at once

_MOST_LISTED = 200
Limit = Annotated[int, Meta(ge=1, le=_MOST_LISTED, description="at most so many")]
Offset = Annotated[int, Meta(ge=0, description="how many to leave out")]
Words = Annotated[str, Meta(min_length=1, max_length=300, description="words; the best hits have most of them")]
Id = Annotated[str, Meta(min_length=1, max_length=64, description="an id, or the beginning of one")]
From = Annotated[int, Meta(ge=0, description="the character from which to read on")]
_Wu = Annotated[str, Meta(max_length=20, description="only of this work unit, such as WU-042")]


class NoArguments(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class BriefingArguments(Struct, frozen=True, forbid_unknown_fields=True):
    work: Annotated[str, Meta(min_length=1, max_length=300, description="a work unit, such as WU-042, or some words")]
    limit: Annotated[int, Meta(ge=1, le=50, description="entries of each part")] = 6


class SearchRequest(Struct, frozen=True, forbid_unknown_fields=True):
    query: Words
    type: Annotated[str, Meta(max_length=100, description="only of these types, with commas between them")] = ""
    kind: Annotated[Literal["", *KINDS], Meta(description="only of this kind")] = ""  # type: ignore[valid-type]
    tag: Annotated[str, Meta(max_length=100, description="only with this tag")] = ""
    wu: _Wu = ""
    since: Annotated[str, Meta(max_length=40, description="an age such as 7d, or a date")] = ""
    limit: Annotated[int, Meta(ge=1, le=searching.MOST, description="at most so many")] = searching.LIMIT


class RecallRequest(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    offset: From = 0


class InboxRequest(Struct, frozen=True, forbid_unknown_fields=True):
    limit: Limit = 50


class PageRequest(Struct, frozen=True, forbid_unknown_fields=True):
    limit: Limit = 50
    offset: Offset = 0


class TasksRequest(Struct, frozen=True, forbid_unknown_fields=True):
    status: Annotated[
        Literal["", "open", *(str(status) for status in Status)],  # type: ignore[valid-type]
        Meta(description="open: not over yet"),
    ] = ""
    wu_id: _Wu = ""
    limit: Limit = 50
    offset: Offset = 0


class TaskRequest(Struct, frozen=True, forbid_unknown_fields=True):
    task_id: Id
    offset: From = 0


class UnitsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    status: Annotated[
        Literal["", "open", "ready", "in_progress", "blocked", "done"], Meta(description="open: not done")
    ] = ""
    lane: Annotated[str, Meta(max_length=100, description="only of this lane")] = ""
    limit: Limit = 50
    offset: Offset = 0


class UnitRequest(Struct, frozen=True, forbid_unknown_fields=True):
    wu_id: Annotated[str, Meta(min_length=4, max_length=20, description="such as WU-042")]


class DiscoveriesRequest(Struct, frozen=True, forbid_unknown_fields=True):
    wu_id: _Wu = ""
    limit: Limit = 50
    offset: Offset = 0


class ApprovalRequest(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id


def subject(name: str, who: Principal, arguments: Struct) -> tuple[str, str]:
    """Return what the answer of an operation is about, whatever part of it is asked for."""
    return name, who.by if name == "inbox" else getattr(arguments, "task_id", "")


def status(desk: Desk, who: Principal, arguments: NoArguments) -> Document:
    return desk.settled(subject("status", who, arguments), tuple, lambda: SettledDocument(desk.status()))


def attention(desk: Desk, who: Principal, arguments: NoArguments) -> Document:
    snapshot = desk.snapshot()
    return {"attention": snapshot.attention, "snoozed": snapshot.snoozed}


def budget(desk: Desk, who: Principal, arguments: NoArguments) -> Document:
    from lumen_tui.queries.queue_conditions import spend_report

    report: Document = msgspec.to_builtins(spend_report(desk.layout, desk.now))
    return report


def roles(desk: Desk, who: Principal, arguments: NoArguments) -> Document:
    snapshot = desk.snapshot()
    return {"roles": snapshot.roles, "retired": snapshot.retired}


def briefing(desk: Desk, who: Principal, arguments: BriefingArguments) -> Document:
    from lumen_tui.engine import recalling

    recalled = recalling.briefing(desk.store, by=who.by, now=desk.now, work=arguments.work, limit=arguments.limit)
    parts = [{"name": part.name, "hits": [searching.described(hit) for hit in part.hits]} for part in recalled.sections]
    return {"work": recalled.work, "title": recalled.title, "sections": parts}


def search(desk: Desk, who: Principal, arguments: SearchRequest) -> Document:
    return searching.document(arguments.query, desk.search(search_query(desk, arguments)))


def search_query(desk: Desk, arguments: SearchRequest) -> SearchQuery:
    """Return what is asked for, in all but conversations: what was said in sessions is for the operator."""
    filters = {name: getattr(arguments, name) for name in ("type", "kind", "tag", "wu", "since")}
    query = searching.parse(searching.filtered(arguments.query, filters), desk.now, limit=arguments.limit)
    if query.problems or query.empty:
        raise ActionError("; ".join(query.problems) or "the query has no word in it")
    return msgspec.structs.replace(query, conversations=False)


def recall(desk: Desk, who: Principal, arguments: RecallRequest) -> Document:
    is_note = arguments.id.startswith("arc-")
    path, kind = (desk.layout.archival, "arc") if is_note else (desk.layout.memory, "mem")
    try:
        node_id = nodes.resolve(path, ids.check_file_name(arguments.id, "node id"), kind)
    except nodes.Ambiguous as error:
        raise ActionError(f"{arguments.id!r} is the beginning of several ids", candidates=error.candidates) from error
    except LookupError:
        raise ActionError(f"there is no node {one_line(arguments.id, 60)!r}: search finds ids", missing=True) from None
    record = nodes.find(path, [node_id])[node_id][1]
    if record.get("status") == WITHDRAWN:
        raise ActionError(f"{node_id} was withdrawn", missing=True)
    return {**record, **_part(str(record.get("content", "")), arguments.offset, "content")}


def _part(text: str, offset: int, name: str) -> Document:
    """Return a part of a long text under a name, and where the next one begins; None where it is the last."""
    end = offset + _PART
    return {name: text[offset:end], "characters": len(text), "next_offset": end if end < len(text) else None}


def inbox(desk: Desk, who: Principal, arguments: InboxRequest) -> Document:
    """Return what the program itself has not marked as read; the operator's inbox stays as it is."""
    page = desk.settled(
        subject("inbox", who, arguments),
        lambda: (desk.layout.signals, desk.layout.receipts),
        lambda: inboxes.unread(str(desk.layout.signals.parent), who.by, _MOST_LISTED),
    )
    shown = page.signals[: arguments.limit]
    return {"signals": [signal for _, signal in shown], "more": page.more or len(shown) < len(page.signals)}


def list_signals(desk: Desk, who: Principal, arguments: PageRequest) -> Document:
    rows = desk.snapshot().signals
    page = rows[arguments.offset : arguments.offset + arguments.limit]
    return {"signals": [msgspec.to_builtins(row.signal) for row in page], "total": len(rows)}


def list_tasks(desk: Desk, who: Principal, arguments: TasksRequest) -> Document:
    snapshot = desk.snapshot()
    wanted = (view for view in islice(snapshot.tasks, _LOOKED_AT) if _is_wanted(view, arguments))
    page = list(islice(wanted, arguments.offset, arguments.offset + arguments.limit + 1))
    chosen = [documents.waiting(view, snapshot.standing) for view in page[: arguments.limit]]
    return {"tasks": [documents.task_document(view) for view in chosen], "more": len(page) > arguments.limit}


def _is_wanted(view: TaskView, arguments: TasksRequest) -> bool:
    if arguments.wu_id and view.spec.wu_id != arguments.wu_id.upper():
        return False
    if arguments.status == "open":
        return not view.status.ended and view.status is not Status.LOST
    return arguments.status in ("", str(view.status))


def read_task(desk: Desk, who: Principal, arguments: TaskRequest) -> Document:
    """Return a task whole, its result from the beginning or from a character on."""

    def folder() -> Path:
        task_id = checks.task_id(desk.store, arguments.task_id)
        return task_files.folder_of(desk.layout, task_id) or desk.layout.tasks / task_id

    first = desk.settled(
        subject("read_task", who, arguments),
        lambda: (desk.layout.spend, *(folder() / name for name in _TASK_FILES)),
        lambda: SettledDocument(_first_of_task(desk, arguments.task_id)),
    )
    if not arguments.offset:
        return first
    whole = documents.result_text(folder())
    return {**first, **_part(whole, arguments.offset, "result")}


def _first_of_task(desk: Desk, name: str) -> Document:
    """Return a task with the beginning of its result."""
    detail = desk.task(checks.task_id(desk.store, name))
    view = documents.waiting(detail.view, desk.snapshot().standing)
    folder = task_files.folder_of(desk.layout, view.id)
    whole = documents.whole_task(desk.layout, view, folder, desk.now, detail.cost)
    asked = [_described(desk, request) for request in questions_of(desk, view.id)]
    return {**whole, **_part(str(whole["result"]), 0, "result"), "events": detail.events, "asks": asked}


def is_over(view: TaskView) -> bool:
    """Return whether nothing more will happen to a task by itself."""
    return view.status.ended or (view.status is Status.LOST and bool(view.finished))


def questions_of(desk: Desk, task_id: str) -> list[Approval]:
    """Return the calls and questions of a task that wait for a person, the oldest first."""
    return [request for request in _waiting(desk) if request.task_id == task_id]


def questions_below(desk: Desk, task_id: str) -> list[Approval]:
    """Return the same of a task and of those that it ordered, directly or through others."""
    live = list(live_ones(desk.snapshot().tasks))
    names, before = {task_id}, 0
    while len(names) > before:
        before = len(names)
        names |= {view.id for view in live if view.spec.parent in names}
    return [request for request in _waiting(desk) if request.task_id in names]


def _waiting(desk: Desk) -> list[Approval]:
    snapshot = desk.snapshot()
    return sorted((*snapshot.approvals, *snapshot.questions), key=lambda request: request.asked_at)


def list_units(desk: Desk, who: Principal, arguments: UnitsRequest) -> Document:
    lane = lanes.key(arguments.lane)
    units = [unit for unit in desk.snapshot().work if lane in ("", lanes.key(unit.lane))]
    if arguments.status:
        is_open = arguments.status == "open"
        units = [unit for unit in units if unit.status == arguments.status or (is_open and unit.status != "done")]
    page = units[arguments.offset : arguments.offset + arguments.limit]
    return {"units": [_masked(unit) for unit in page], "total": len(units)}


def _masked(unit: WorkUnit) -> object:
    """Return a unit for a program: its file may be written by hand, with a secret in it."""
    return redact_value(msgspec.to_builtins(unit), redact)


def _page(name: str, rows: Sequence[object], offset: int, limit: int) -> Document:
    return {name: rows[offset : offset + limit], "total": len(rows)}


def read_unit(desk: Desk, who: Principal, arguments: UnitRequest) -> Document:
    from lumen_tui.queries.unit_context import known_of

    name = ids.check_wu(arguments.wu_id.upper())
    unit = next((unit for unit in desk.snapshot().work if unit.id == name), None)
    if unit is None:
        raise ActionError(f"there is no work unit {name}", missing=True)
    return {"unit": _masked(unit), "known": known_of(desk.layout, name, desk.now)}


def list_discoveries(desk: Desk, who: Principal, arguments: DiscoveriesRequest) -> Document:
    rows, name = desk.snapshot().discoveries, arguments.wu_id.upper()
    end = arguments.offset + arguments.limit
    if not name:
        return {"discoveries": [row.node for row in rows[arguments.offset : end]], "total": len(rows)}
    listed = [row.node for row in rows if row.node.wu_id == name]
    return _page("discoveries", listed, arguments.offset, arguments.limit)


def list_approvals(desk: Desk, who: Principal, arguments: NoArguments) -> Document:
    return {"waiting": [_described(desk, request) for request in _waiting(desk)]}


def read_approval(desk: Desk, who: Principal, arguments: ApprovalRequest) -> Document:
    request = approvals.read(desk.layout, resolve(desk.layout, arguments.id))
    if request is None:
        raise ActionError(f"{arguments.id} cannot be read", missing=True)
    return _described(desk, request)


def _described(desk: Desk, request: Approval) -> Document:
    """Return a call or a question whole: an answer counts for what was shown and no other."""
    state = approval_documents.approval_state(desk.layout, request, desk.now)
    if request.question:
        return approval_documents.question_document(desk.layout, request, state)
    whole = canonical(request.tool, request.arguments).decode()
    return {**approval_documents.approval_document(desk.layout, request, state), "call": whole}
