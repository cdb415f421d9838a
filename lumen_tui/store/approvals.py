"""Approvals as files: `<id>.json` asks, `<id>.decision.json` answers once, `<id>.acted.json` says it was taken.

Every write happens under one lock, so exactly one answer wins, and an answer is either taken back or acted on. Which
ones expired unanswered is read from the engine's events.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model import ids, times
from lumen_tui.model.approvals import BY_TIME, EXPIRED, Acted, Approval, Decision, Overdue
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.problem import Problem
from lumen_tui.model.tasks import TaskView
from lumen_tui.model.text import one_line
from lumen_tui.storage import backwards, directories, files, locks
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines

if TYPE_CHECKING:
    from lumen_tui.model.asks import ApprovalFile

_LOCK = "approvals"
_MOST_BYTES = 4 * 1024 * 1024  # of one request
_DECISION = ".decision.json"
_ACTED = ".acted.json"
_TICK = 0.1  # seconds within which a file system may give two changes the same stamp
_HINT = "nobody is asked for it: the worker waits until its time is over. Look at the file, or cancel the task"
_MARK = b'"approval_expired"'
_EARLIER = 8 * 1024 * 1024  # bytes of the events before the present file
_MOST = 100  # the newest ones


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
    """Return the path of the decision."""
    return layout.approval(approval_id).with_suffix(_DECISION)


def acted_path(layout: Layout, approval_id: str) -> Path:
    """Return the path of the record that a worker took the decision."""
    return layout.approval(approval_id).with_suffix(_ACTED)


def id_for(task_id: str, call: str, turn: int) -> str:
    """Return the id of the `turn`-th question about a call of a task: the same call again finds its answer."""
    return f"apr-{ids.short_hash(f'{task_id} {call} {turn}')}"


def _read(path: Path, kind: type[msgspec.Struct]) -> msgspec.Struct | None:
    """Return one record, every text in it safe; None where there is none or it cannot be used."""
    try:
        data = files.read(path, _MOST_BYTES)
        return None if data is None else decode_safe(data, kind)
    except (*UNDECODABLE, files.StoreError, OSError):
        return None


def read(layout: Layout, approval_id: str) -> Approval | None:
    """Return one request, open or done; None where there is none."""
    for folder in (layout.approvals, layout.done_approvals):
        request = _read(folder / layout.approval(approval_id).name, Approval)
        if isinstance(request, Approval) and request.id == approval_id:
            return request
    return None


def decision(layout: Layout, approval_id: str) -> Decision | None:
    """Return the answer to a request, open or done; one that cannot be read is a refusal."""
    for folder in (layout.approvals, layout.done_approvals):
        path = folder / decision_path(layout, approval_id).name
        answer = _read(path, Decision)
        if isinstance(answer, Decision):
            return answer
        if os.path.lexists(path):
            return Decision(allowed=False, hash="", at="", by=BY_TIME, reason="the decision's file cannot be read")
    return None


def acted(layout: Layout, approval_id: str) -> Acted | None:
    """Return when a worker took the answer; an archived one counts as taken."""
    record = _read(acted_path(layout, approval_id), Acted)
    if isinstance(record, Acted):
        return record
    done = (layout.done_approvals / layout.approval(approval_id).name).exists()
    return Acted(at="") if done or acted_path(layout, approval_id).exists() else None


def find(layout: Layout, approval_id: str) -> ApprovalFile:
    """Return one request with what became of it, as far as there is any of that."""
    from lumen_tui.model.asks import ApprovalFile  # with all that a worker on another host asks

    request = read(layout, approval_id)
    if request is None:
        return ApprovalFile()
    return ApprovalFile(request, decision(layout, approval_id), acted(layout, approval_id))


def questions_of(layout: Layout, task_id: str) -> int:
    """Return how many questions a task has asked, answered or not."""
    return sum(bool(request.question) for request in every(layout, done=True) if request.task_id == task_id)


def ask(layout: Layout, request: Approval) -> Approval:
    """Write the request, or return the existing one of its id. Durable when it returns."""
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
        if existing := decision(layout, request.id):
            raise Answered(existing)
        late = not answer.ended and now >= request.expires
        files.replace(decision_path(layout, request.id), _render(expiry(request, now) if late else answer))
    if late:
        raise DeadlinePassed(request.expires_at)


def expiry(request: Approval, now: float) -> Decision:
    """Return the refusal for a request that nobody answered in time; of a question the default is the answer."""
    waited = times.span(max(0.0, request.expires - request.asked))
    reason = f"nobody answered within {waited}" if request.question else f"auto-denied: nobody answered within {waited}"
    return Decision(
        allowed=False,
        hash=request.hash,
        at=times.iso(now),
        by=BY_TIME,
        reason=reason,
        ended=EXPIRED,
        answer=request.default,
    )


def expire(layout: Layout, request: Approval, now: float) -> Decision:
    """Refuse a request whose time is over; return the refusal, or the answer that came before it."""
    try:
        decide(layout, request, expiry(request, now), now)
    except Answered as error:
        return error.decision
    return expiry(request, now)


def take(layout: Layout, request: Approval, attempt: int, now: float) -> Decision | None:
    """Take the answer for a worker: from here on it cannot be withdrawn. None where there is none yet."""
    if not decision_path(layout, request.id).exists():
        return None
    with locks.waiting_lock(layout.lock(_LOCK)):
        answer = decision(layout, request.id)
        if answer is not None and not acted_path(layout, request.id).exists():
            files.replace(acted_path(layout, request.id), _render(Acted(at=times.iso(now), attempt=attempt)))
    return answer


def set_decision(layout: Layout, approval_id: str, answer: Decision | None) -> None:
    """Write or remove the decision, for undo and redo. ActedOn where a worker has taken it."""
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
    """Yield the ids of the requests among the names in a folder."""
    for name in sorted(names):
        approval_id, _, ending = name.partition(".")
        if ending == "json" and not name.startswith(".") and _is_id(approval_id):
            yield approval_id


def _is_id(text: str) -> bool:
    try:
        ids.check_name(text)
    except ids.BadId:
        return False
    return True


def _oldest_first(requests: Iterable[Approval | None]) -> list[Approval]:
    return sorted((request for request in requests if request), key=lambda request: (request.asked_at, request.id))


def undecided(layout: Layout) -> list[Approval]:
    """Return the requests without an answer, the oldest first."""
    names = _names(layout.approvals)
    requests = [read(layout, approval_id) for approval_id in _requests(names) if approval_id + _DECISION not in names]
    return _oldest_first(requests)


def unreadable(layout: Layout) -> list[str]:
    """Return the file names of requests that cannot be used."""
    return [
        f"{approval_id}.json"
        for approval_id in _requests(_names(layout.approvals))
        if read(layout, approval_id) is None
    ]


def every(layout: Layout, *, done: bool = False) -> list[Approval]:
    """Return all requests that are not archived, and with `done` those as well; the oldest first."""
    names = [*_requests(_names(layout.approvals)), *(_requests(_names(layout.done_approvals)) if done else ())]
    requests = [read(layout, approval_id) for approval_id in dict.fromkeys(names)]
    return _oldest_first(requests)


def all_ids(layout: Layout) -> list[str]:
    """Return every id, archived or not."""
    return [*_requests(_names(layout.approvals)), *_requests(_names(layout.done_approvals))]


def archive(layout: Layout, approval_id: str) -> None:
    """Move a request and its records to `done`; the request first, for without its answer it would be open."""
    directories.make_folder(layout.done_approvals)
    for path in (layout.approval(approval_id), decision_path(layout, approval_id), acted_path(layout, approval_id)):
        if path.exists():
            directories.move(path, layout.done_approvals / path.name)


def half_archived(layout: Layout) -> set[str]:
    """Return the ids of which a kill left parts behind while they were archived."""
    names = _names(layout.approvals)
    parts = {name.partition(".")[0] for name in names if name.endswith((_DECISION, _ACTED)) and name[0] != "."}
    return {approval_id for approval_id in parts if f"{approval_id}.json" not in names and _is_id(approval_id)}


class ApprovalIndex:
    """Follows the folder of approvals."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._stamp = -1
        self._fresh = True
        self._open: tuple[Approval, ...] = ()
        self.problems: list[Problem] = []
        self.revision = 0

    def refresh(self, now: float) -> bool:
        """Check the folder; return whether something changed."""
        try:
            stamp = os.stat(self._layout.approvals).st_mtime_ns
        except OSError:
            stamp = 0
        if stamp == self._stamp and not self._fresh:
            return False
        self._stamp = stamp
        self._fresh = abs(now - stamp / 1e9) < _TICK
        waiting = tuple(undecided(self._layout))
        problems = [
            Problem(where=f"approvals/{name}", what="the question cannot be read", hint=_HINT)
            for name in unreadable(self._layout)
        ]
        if (waiting, problems) == (self._open, self.problems):
            return False
        self._open = waiting
        self.problems = problems
        self.revision += 1
        return True

    def waiting(self, now: float, tasks: Iterable[TaskView]) -> tuple[Approval, ...]:
        """Return the questions whose answer still matters: their task goes on, and their time is not over."""
        if not self._open:
            return ()
        live = {view.id for view in tasks if not view.finished}
        open_now = (request for request in self._open if now < request.expires)
        return tuple(request for request in open_now if request.lasting or request.task_id in live)

    def calls(self, now: float, tasks: Iterable[TaskView]) -> tuple[Approval, ...]:
        """Return the calls that wait for a yes or a no."""
        return tuple(request for request in self.waiting(now, tasks) if not request.question)

    def questions(self, now: float, tasks: Iterable[TaskView]) -> tuple[Approval, ...]:
        """Return the questions that wait for an answer."""
        return tuple(request for request in self.waiting(now, tasks) if request.question)


class ExpiredIndex:
    """Follows the events. Those that a rotation removes meanwhile are kept."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._follower = Follower(layout.events)
        self._overdue: dict[str, Overdue] = {}
        self._begun = False
        self.revision = 0

    @property
    def overdue(self) -> tuple[Overdue, ...]:
        """The expired approvals, the oldest first."""
        return tuple(self._overdue.values())

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def refresh(self) -> None:
        """Read what is new."""
        if not self._begun:
            self._begun = True
            with contextlib.suppress(files.Refused):  # misplaced.py names it
                self._take(backwards.read_tail(self._layout.earlier_events, _EARLIER))
        for _, data in self._follower.pieces():
            self._take(data)

    def _take(self, data: bytes) -> None:
        if _MARK not in data:
            return
        self.revision += 1
        for _, line in split_lines(data, 0):
            if _MARK in line and (overdue := _overdue(line)):
                self._overdue[overdue.id] = overdue
        self._overdue = dict(list(self._overdue.items())[-_MOST:])


def _overdue(line: bytes) -> Overdue | None:
    try:
        event = decode_safe(line, EngineEvent)
    except UNDECODABLE:
        return None
    name = event.data.get("approval")
    if event.kind != "approval_expired" or not isinstance(name, str):
        return None
    return Overdue(one_line(name, 64), one_line(event.text), times.epoch(event.at))
