"""Asking a person to approve a tool call: a request file, a decision file, and a wait that survives restarts."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from lumen_tui.model.approvals import COMMANDS, Acted, Approval, Decision, call_hash, whole_call
from lumen_tui.model.asks import ApprovalFile
from lumen_tui.model.lookalikes import look_alikes
from lumen_tui.model.runners import files_of
from lumen_tui.model.secrets.redaction import redact_value
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import brief, one_line, safe
from lumen_tui.model.times import iso
from lumen_tui.storage import process
from lumen_tui.store import approvals
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks.task_records import nothing_begun
from lumen_tui.tools.base import ApprovalReply, ApprovalRequest, Stopped, TaskParked, ToolError
from lumen_tui.tools.files import opening
from lumen_tui.tools.sandbox.policy import FILES
from lumen_tui.worker.engine_link import LinkApprovals
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.world import World

_LOOK = 0.1  # seconds between two looks for an answer
_MOST_TURNS = 1000  # times that one task may ask about the very same call
_SUMMARY = 300  # characters of a call on one line
_SAID = 600  # characters
_LEFT = 24 * 3600.0  # seconds for which a call waits for which nobody waits
_OTHER_CALL = "the answer on file is for another call: it counts as no"
_MOST_BYTES = 64 * 1024 * 1024  # of one file; of a larger one its size and time count


class ApprovalDesk(Protocol):
    """Where requests to a person are on file."""

    def find(self, approval_id: str) -> ApprovalFile: ...

    def ask(self, request: Approval) -> None: ...

    def take(self, request: Approval) -> Decision | None: ...

    def wait(self, request: Approval) -> Decision: ...

    def questions(self) -> int: ...


class LocalApprovals:
    """The requests of a task whose engine is on this machine."""

    def __init__(self, world: World, spec: Spec, attempt: int) -> None:
        self._world, self._spec, self._attempt = world, spec, attempt
        self._layout = world.store.layout

    def find(self, approval_id: str) -> ApprovalFile:
        """Return a request as it is on file."""
        return approvals.find(self._layout, approval_id)

    def ask(self, request: Approval) -> None:
        """Put a request on file, once."""
        with self._world.stopper.guard():
            approvals.ask(self._layout, request)

    def take(self, request: Approval) -> Decision | None:
        """Take the decision, if there is one. Not interrupted: a decision that was taken is acted on or reported."""
        with self._world.stopper.guard():
            return approvals.take(self._layout, request, self._attempt, self._world.now())

    def wait(self, request: Approval) -> Decision:
        """Take the decision once there is one; expire the request when its time is over. Raises Stopped."""
        while True:
            if self._world.stopper.stopped():
                raise Stopped
            if answer := self.take(request):
                return answer
            if self._world.now() >= request.expires:
                with self._world.stopper.guard():
                    approvals.expire(self._layout, request, self._world.now())
            else:
                time.sleep(_LOOK)

    def questions(self) -> int:
        """Return how many questions the task has asked."""
        return approvals.questions_of(self._layout, self._spec.id)


class Waiting:
    """What requests to a person share: a file that asks, a file that answers, and the wait between the two."""

    def __init__(self, world: World, spec: Spec, events: Recorder, attempt: int = 1) -> None:
        self._world = world
        self._spec = spec
        self._events = events
        self._attempt = attempt
        self._layout = world.store.layout
        self._desk: ApprovalDesk = LinkApprovals(world.link) if world.link else LocalApprovals(world, spec, attempt)

    def _blank(self, approval_id: str, tool: str, call: str, seconds: float = 0.0) -> Approval:
        """Return a new request with what is known of its asker; without `seconds` it waits as long as is set."""
        now, me = self._world.now(), process.myself()
        seconds = seconds or load_config(self._layout)[0].approvals.expires_minutes * 60
        return Approval(
            id=approval_id,
            task_id=self._spec.id,
            tool=tool,
            hash=call,
            role=self._spec.role,
            asked_at=iso(now),
            expires_at=iso(now + seconds),
            said=one_line(self._world.redact(self._events.said), _SAID),
            attempt=self._attempt,
            host=process.host(),
            pid=me.pid,
            start_ticks=me.start_ticks,
            boot_id=me.boot_id,
        )

    def _record_wait(self, approval: Approval, text: str) -> None:
        self._events.event("waiting", text, tool=approval.tool, approval=approval.id, until=approval.expires)

    def _wait(self, approval: Approval, text: str) -> Decision:
        """Wait for the decision; expire the request when its time is over."""
        self._record_wait(approval, text)
        return self._desk.wait(approval)


class ApprovalClient(Waiting):
    """Asks a person on behalf of one task whether a call may be made.

    The task waits without a process, but where `stays` holds. `park` notes for which request, before that is on file:
    so a kill between the two leaves a task that asks again under the same id. `unused` tells of a yes that an attempt
    before took whether no call was begun with it.
    """

    def __init__(
        self,
        world: World,
        spec: Spec,
        events: Recorder,
        attempt: int,
        *,
        park: Callable[[str], None] = lambda approval: None,
        stays: Callable[[], bool] = lambda: True,
        unused: Callable[[str], bool] = lambda approval: False,
    ) -> None:
        super().__init__(world, spec, events, attempt)
        self._park, self._stays, self._unused = park, stays, unused
        self._granted = ""

    def granted(self) -> str:
        """Return the id of the yes that the call uses up which begins now; empty where it needed none."""
        granted, self._granted = self._granted, ""
        return granted

    def ask(self, request: ApprovalRequest) -> ApprovalReply:
        """Return a person's decision on the call, or wait for one. Raises TaskParked, Stopped.

        A wait in this process does not count against the task's limit.

        An answer that was given while no worker waited for it counts, once. A call that was refused stays refused.
        """
        call = call_hash(request.tool, request.arguments)
        if request.lasting:
            return self._leave(request, call)
        outdated: set[str] = set()
        asked = request.reason
        while True:
            with self._world.stopper.untimed():
                approval = self._open(request, call, outdated)
                answer = self._desk.take(approval) or self._wait_for_answer(approval)
            settled = self._settled(approval, answer, call)
            changed = self._changed(approval, request)
            if not settled.allowed or not changed:
                self._granted = approval.id if settled.allowed else ""
                return settled
            outdated.add(approval.id)
            reason = f"{changed} was changed after it was asked and allowed"
            self._events.event("note", f"not begun: {reason}; asks again")
            request = msgspec.structs.replace(request, reason=f"{reason}: look at it again. {asked}")

    def _leave(self, request: ApprovalRequest, call: str) -> ApprovalReply:
        """Put a call on file that the engine carries out once a person has allowed it."""
        approval = self._open(request, call, set())
        answer = self._desk.find(approval.id).decision
        if answer is not None and not answer.allowed:
            return settled(answer, call)
        until = iso(self._world.now() + _LEFT)
        self._desk.ask(msgspec.structs.replace(approval, lasting=True, expires_at=until))
        self._events.event("note", f"left for a person: {approval.summary}", tool=request.tool, approval=approval.id)
        return ApprovalReply(allowed=False, left=approval.id)

    def _wait_for_answer(self, approval: Approval) -> Decision:
        text = f"waits for a person: {approval.summary}"
        stays = self._stays()
        with self._world.stopper.guard():
            if not stays:
                self._park(approval.id)
            self._desk.ask(approval)
            if not stays:
                self._record_wait(approval, text)
        if stays:
            return self._wait(approval, text)
        raise TaskParked

    def _changed(self, approval: Approval, request: ApprovalRequest) -> str:
        """Return what the person did not see as it is now; empty where there is nothing."""
        if approval.diff != self._shown(request):
            return "what would be changed"
        differs = (path for path, text in hashes_now(approval.files).items() if text != approval.files[path])
        return one_line(next(differs, ""), 200)

    def _shown(self, request: ApprovalRequest) -> str:
        return safe(self._world.redact(request.diff))

    def _open(self, request: ApprovalRequest, call: str, outdated: set[str]) -> Approval:
        """Return the request on file if it still counts and is not outdated, else a new one."""
        for turn in range(_MOST_TURNS):
            approval_id = approvals.id_for(self._spec.id, call, turn)
            found = self._desk.find(approval_id)
            if found.request is None:
                return self._new(approval_id, call, request)
            if approval_id not in outdated and self._counts(found, approval_id):
                return found.request
        raise ToolError(f"a person was asked {_MOST_TURNS} times about this call: that is enough")

    def _counts(self, found: ApprovalFile, approval_id: str) -> bool:
        """Return whether a request on file still counts: it is open, its yes was not used, or it is a no."""
        answer, acted = found.decision, found.acted
        if answer is None:
            return True
        if answer.allowed or answer.ended == "withdrawn":
            return answer.allowed and (acted is None or self._was_lost(approval_id, acted))
        return not answer.ended or acted is None or acted.attempt == self._attempt

    def _was_lost(self, approval_id: str, acted: Acted) -> bool:
        """Return whether an earlier attempt took a yes and ended before the call began."""
        return acted.attempt < self._attempt and (
            self._unused(approval_id) or nothing_begun(self._world.folder, self._attempt)
        )

    def _new(self, approval_id: str, call: str, request: ApprovalRequest) -> Approval:
        redact = self._world.redact
        asked = msgspec.structs.replace(
            self._blank(approval_id, request.tool, call),
            arguments=redact_value(request.arguments, redact),
            summary=brief(redact(request.summary), _SUMMARY),
            why=safe(request.reason),
            diff=self._shown(request),
            rule=request.rule if redact(request.rule) == request.rule else "",
            folder=request.folder,
            unwalled=request.unsandboxed,
            files=self._files(request),
        )
        risks = filter(None, (redact(request.risk), look_alikes(whole_call(asked))))
        return msgspec.structs.replace(asked, risk=safe("; ".join(risks)))

    def _files(self, request: ApprovalRequest) -> dict[str, str]:
        """Return hashes of the files that the command runs. A path that holds a secret is left out."""
        own = self._layout.task(self._spec.id)
        start = own / FILES if (own / FILES).is_dir() else own
        contents = run_files(request.tool, request.arguments, start)
        return {path: text for path, text in contents.items() if self._world.redact(path) == path}

    def _settled(self, approval: Approval, answer: Decision, call: str) -> ApprovalReply:
        reply = settled(answer, call)
        text = "allowed" if reply.allowed else "refused"
        text += (f" by {reply.by}" if reply.by else "") + (f": {reply.reason}" if reply.reason else "")
        self._events.event("answered", text, tool=approval.tool, ok=reply.allowed, approval=approval.id)
        return reply


def settled(answer: Decision, call: str) -> ApprovalReply:
    """Return what an answer on file means for the call with this hash: one for another call counts as no."""
    fits = answer.hash == call or bool(answer.ended)
    allowed = answer.allowed and answer.hash == call
    by = "" if answer.ended else answer.by
    return ApprovalReply(allowed=allowed, reason=answer.reason if fits else _OTHER_CALL, by=by)


def run_files(tool: str, arguments: Mapping[str, object], folder: Path) -> dict[str, str]:
    """Return a hash of each file that the command runs; empty if the call is no command that runs any.

    `folder` is where a command of the task starts that names none.
    """
    command = arguments.get("command")
    if tool not in COMMANDS or not isinstance(command, str):
        return {}
    start = os.path.join(folder, os.path.expanduser(str(arguments.get("cwd") or "")))
    return hashes_now(os.path.join(start, os.path.expanduser(name)) for name in files_of(command))


def hashes_now(paths: Iterable[str]) -> dict[str, str]:
    """Return a hash of the current content of each path; the empty text for one that is no file."""
    return {path: _hash(path) for path in dict.fromkeys(paths)}


def _hash(path: str) -> str:
    import hashlib  # OpenSSL, which few tasks need

    try:
        with os.fdopen(opening.file(os.path.realpath(path)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return ""
            if status.st_size > _MOST_BYTES:
                return f"{status.st_size} {status.st_mtime_ns}"
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
