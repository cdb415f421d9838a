"""What a worker on a host asks of a person, and what a person says to it: on file here, as for any task.

A request counts for its own task alone, and its times are those of the engine's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from msgspec.structs import replace

from lumen_tui.model.approvals import MOST_QUESTIONS, Approval
from lumen_tui.model.asks import ApprovalFile, AskRefused, AskReply, Noted, Steers
from lumen_tui.model.steering import Steer, SteerState
from lumen_tui.model.tasks import Spec
from lumen_tui.model.times import DAY, iso
from lumen_tui.storage import process
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.tasks import steers

_MOST_TURNS = 1000  # times that one task may ask about the very same call
_LONGEST = 7 * DAY  # of a wait for a person


class PersonAsks:
    """The requests and messages of one attempt at a task on a host."""

    def __init__(self, layout: Layout, spec: Spec, attempt: int, now: Callable[[], float]) -> None:
        self._layout, self._spec, self._attempt, self._now = layout, spec, attempt, now
        self._folder = layout.task(spec.id)

    def find(self, approval_id: str) -> ApprovalFile:
        """Return a request of this task as it is on file; nothing of any other."""
        found = approvals.find(self._layout, approval_id)
        return found if found.request and found.request.task_id == self._spec.id else ApprovalFile()

    def ask(self, request: Approval) -> AskReply:
        """Put a request on file. StoreError."""
        if request.task_id != self._spec.id or request.id not in self._ids_of(request.hash):
            return AskRefused("the request is not of this task and call")
        if request.lasting:
            return AskRefused("a call that outlives its task is left by the main agent alone")
        new = self.find(request.id).request is None
        if request.question and new and approvals.questions_of(self._layout, self._spec.id) >= MOST_QUESTIONS:
            return AskRefused(f"this task has asked {MOST_QUESTIONS} questions, the most it may")
        now, me = self._now(), process.myself()
        own = replace(
            request,
            role=self._spec.role,
            attempt=self._attempt,
            asked_at=iso(now),
            expires_at=iso(now + min(_LONGEST, max(0.0, request.expires - request.asked))),
            pid=me.pid,
            start_ticks=me.start_ticks,
            boot_id=me.boot_id,
        )
        approvals.ask(self._layout, own)
        return Noted()

    def decide(self, approval_id: str, *, waits: bool) -> ApprovalFile | None:
        """Take the decision on a request; None where there is none and its worker waits for one. StoreError."""
        request = self.find(approval_id).request
        if request is None:
            return ApprovalFile()
        now = self._now()
        decision = approvals.take(self._layout, request, self._attempt, now)
        if decision is None and waits:
            if now < request.expires:
                return None
            approvals.expire(self._layout, request, now)
            decision = approvals.take(self._layout, request, self._attempt, now)
        return ApprovalFile(decision=decision)

    def allowed_by(self, call: str, used: Set[str]) -> str:
        """Return the id of a yes to the call with this hash that this attempt took and did not use; empty: none."""
        for name in self._ids_of(call):
            found = self.find(name)
            if found.request is None:
                return ""
            taken = found.acted is not None and found.acted.attempt == self._attempt
            if found.decision and found.decision.allowed and found.decision.hash == call and taken and name not in used:
                return name
        return ""

    def steers(self, *, again: bool, given: Set[str]) -> Steers:
        """Take what was said to the task; also what was marked as read here and, killed, not `given`. StoreError."""
        taken = steers.take(self._folder, self._attempt, self._now(), again=again)
        known = given | {steer.id for steer in taken}
        lost = [steer for steer in steers.read(self._folder) if self._was_lost(steer) and steer.id not in known]
        return Steers((*lost, *taken))

    def _was_lost(self, steer: Steer) -> bool:
        return steer.state is SteerState.READ and steer.attempt == self._attempt

    def close(self, reason: str) -> None:
        """Take no message to this attempt any more. StoreError."""
        steers.close(self._folder, self._attempt, reason, self._now())

    def _ids_of(self, call: str) -> list[str]:
        return [approvals.id_for(self._spec.id, call, turn) for turn in range(_MOST_TURNS)]
