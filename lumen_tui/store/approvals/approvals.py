"""Approvals as files: `<id>.json` asks, `<id>.decision.json` answers once, `<id>.acted.json` says it was taken.

Every write happens under one lock, so exactly one answer wins, and an answer is either taken back or acted on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import ids, times
from lumen_tui.model.approvals import BY_TIME, EXPIRED, Acted, Approval, Decision
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_records import decode_safe

_LOCK = "approvals"
_MOST_BYTES = 4 * 1024 * 1024  # of one request
_DECISION, _ACTED = ".decision.json", ".acted.json"


class Answered(Exception):
    """There is a decision already."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.by)
        self.decision = decision


class DeadlinePassed(Exception):
    """The time for an answer is over; the refusal that says so has been written."""


class ActedOn(Exception):
    """A worker has taken the decision."""

    def __init__(self, acted: Acted) -> None:
        super().__init__(acted.at)
        self.acted = acted


def decision_path(layout: Layout, approval_id: str) -> Path:
    """Where the answer stands."""
    return layout.approval(approval_id).with_suffix(_DECISION)


def acted_path(layout: Layout, approval_id: str) -> Path:
    """Where a worker says that it took the answer."""
    return layout.approval(approval_id).with_suffix(_ACTED)


def id_for(task_id: str, call: str, turn: int) -> str:
    """The id of the `turn`-th question about a call of a task: the same call again finds its answer."""
    return f"apr-{ids.short_hash(f'{task_id} {call} {turn}')}"


def _read(path: Path, kind: type[msgspec.Struct]) -> msgspec.Struct | None:
    """One record, every text in it safe; None where there is none or it cannot be used."""
    try:
        data = files.read(path, _MOST_BYTES)
        return None if data is None else decode_safe(data, kind)
    except (*UNDECODABLE, files.StoreError, OSError):
        return None


def read(layout: Layout, approval_id: str) -> Approval | None:
    """One request, open or done."""
    for folder in (layout.approvals, layout.done_approvals):
        found = _read(folder / layout.approval(approval_id).name, Approval)
        if isinstance(found, Approval) and found.id == approval_id:
            return found
    return None


def decision(layout: Layout, approval_id: str) -> Decision | None:
    """The answer to a request, open or done; one that cannot be read is a refusal."""
    for folder in (layout.approvals, layout.done_approvals):
        path = folder / decision_path(layout, approval_id).name
        found = _read(path, Decision)
        if isinstance(found, Decision):
            return found
        if os.path.lexists(path):
            return Decision(allowed=False, hash="", at="", by=BY_TIME, reason="the decision's file cannot be read")
    return None


def acted(layout: Layout, approval_id: str) -> Acted | None:
    """When a worker took the answer; what was put away counts as taken."""
    found = _read(acted_path(layout, approval_id), Acted)
    if isinstance(found, Acted):
        return found
    done = (layout.done_approvals / layout.approval(approval_id).name).exists()
    return Acted(at="") if done or acted_path(layout, approval_id).exists() else None


def ask(layout: Layout, request: Approval) -> Approval:
    """Write the request, or find the one that stands under its id. Durable when it returns."""
    with locks.waiting_lock(layout.lock(_LOCK)):
        known = read(layout, request.id)
        if known is None:
            files.replace(layout.approval(request.id), _render(request))
    return known or request


def _render(record: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def decide(layout: Layout, request: Approval, answer: Decision, now: float) -> None:
    """Write the one answer. Answered where there is one; DeadlinePassed where a person's answer comes too late."""
    with locks.waiting_lock(layout.lock(_LOCK)):
        if there := decision(layout, request.id):
            raise Answered(there)
        late = not answer.ended and now >= request.expires
        files.replace(decision_path(layout, request.id), _render(expiry(request, now) if late else answer))
    if late:
        raise DeadlinePassed(request.expires_at)


def expiry(request: Approval, now: float) -> Decision:
    """The refusal that time gives."""
    waited = times.span(max(0.0, request.expires - request.asked))
    reason = f"nobody answered within {waited}, which counts as no"
    return Decision(allowed=False, hash=request.hash, at=times.iso(now), by=BY_TIME, reason=reason, ended=EXPIRED)


def expire(layout: Layout, request: Approval, now: float) -> Decision:
    """The refusal by time, or the answer that came before it."""
    try:
        decide(layout, request, expiry(request, now), now)
    except Answered as error:
        return error.decision
    return expiry(request, now)


def take(layout: Layout, request: Approval, attempt: int, now: float) -> Decision | None:
    """The answer, taken: from here on it cannot be taken back. None where there is none yet."""
    if not decision_path(layout, request.id).exists():
        return None
    with locks.waiting_lock(layout.lock(_LOCK)):
        answer = decision(layout, request.id)
        if answer is not None and not acted_path(layout, request.id).exists():
            files.replace(acted_path(layout, request.id), _render(Acted(at=times.iso(now), attempt=attempt)))
    return answer


def set_decision(layout: Layout, approval_id: str, answer: Decision | None) -> None:
    """For undo and redo: put the decision there or take it away. ActedOn where a worker has taken it."""
    with locks.waiting_lock(layout.lock(_LOCK)):
        if taken := acted(layout, approval_id):
            raise ActedOn(taken)
        path = decision_path(layout, approval_id)
        if answer is None:
            directories.remove(path)
        else:
            files.replace(path, _render(answer))


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _requests(names: set[str]) -> Iterator[str]:
    """The ids of the requests among the names in a folder."""
    for name in sorted(names):
        approval_id, _, rest = name.partition(".")
        if rest == "json" and not name.startswith(".") and _is_id(approval_id):
            yield approval_id


def _is_id(text: str) -> bool:
    try:
        ids.check_name(text)
    except ids.BadId:
        return False
    return True


def undecided(layout: Layout) -> list[Approval]:
    """Requests without an answer, the oldest first."""
    names = _names(layout.approvals)
    found = [read(layout, one) for one in _requests(names) if one + _DECISION not in names]
    return sorted((one for one in found if one), key=lambda one: (one.asked_at, one.id))


def unreadable(layout: Layout) -> list[str]:
    """Names of requests that cannot be used."""
    return [f"{one}.json" for one in _requests(_names(layout.approvals)) if read(layout, one) is None]


def every(layout: Layout, *, done: bool = False) -> list[Approval]:
    """All requests that were not put away, and with `done` those as well; the oldest first."""
    names = [*_requests(_names(layout.approvals)), *(_requests(_names(layout.done_approvals)) if done else ())]
    found = [read(layout, one) for one in dict.fromkeys(names)]
    return sorted((one for one in found if one), key=lambda one: (one.asked_at, one.id))


def all_ids(layout: Layout) -> list[str]:
    """Every id there is, put away or not."""
    return [*_requests(_names(layout.approvals)), *_requests(_names(layout.done_approvals))]


def archive(layout: Layout, approval_id: str) -> None:
    """Move a request and what belongs to it to `done`; the request first, for without its answer it would be open."""
    directories.make_folder(layout.done_approvals)
    for path in (layout.approval(approval_id), decision_path(layout, approval_id), acted_path(layout, approval_id)):
        if path.exists():
            directories.move(path, layout.done_approvals / path.name)


def half_archived(layout: Layout) -> set[str]:
    """Ids of which a kill left parts behind when they were put away."""
    names = _names(layout.approvals)
    parts = {name.partition(".")[0] for name in names if name.endswith((_DECISION, _ACTED)) and name[0] != "."}
    return {one for one in parts if f"{one}.json" not in names and _is_id(one)}
