"""What the gate decides on a task that is over, under another role: every call and every end, and nothing is run.

A replay ends with the first divergence, as from there on the record says no more. Cases ask for single decisions, so
here each call is judged with what was called before it, whatever was decided on that.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from lumen_tui.model.acceptance import Verdict
from lumen_tui.model.approvals import BY_TIME
from lumen_tui.model.replay import CallDecision, DecisionKind
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.store.tasks import claims, task_files
from lumen_tui.store.tasks.task_records import has_worker
from lumen_tui.tools.base import BadRules, Context
from lumen_tui.tools.policy.verdict import CallHistory
from lumen_tui.worker.record import calls_made
from lumen_tui.worker.replay import recorded
from lumen_tui.worker.replay.gate import RecordedHandling, ReplayGate
from lumen_tui.worker.replay.recorded import Record, RecordedAttempt, RecordedCall
from lumen_tui.worker.replay.rerun import ShadowRunner
from lumen_tui.worker.replay.run import NotReplayable, Surroundings, context_of, isolation_of
from lumen_tui.worker.task import CannotBegin, read_spec, role_of

SEARCH, RECALL = "memory_search", "recall"
_WORDS = 200


class RejudgedCall(Struct, frozen=True):
    """One recorded call, and the decision on it now. `answered`: what a person decided then; None where none did."""

    number: int
    attempt: int
    tool: str
    words: str
    now: CallDecision
    target: str = ""  # the command, path or address that rules with a pattern are about
    succeeded: bool = False  # on record
    answered: bool | None = None
    query: str = ""  # of a search of memory without filters
    read: str = ""  # the id of what was read whole


class RejudgedEnd(Struct, frozen=True):
    """The end of an attempt. `unmet`: why it may not end there now; empty where it may."""

    attempt: int
    unmet: str
    verdict: Verdict | None = None  # what its checks showed of its claim; None where there was none, or no checks


class Rejudged(Struct, frozen=True):
    """A task under one role, judged again. `missing` says what of its record is not to be had."""

    spec: Spec
    calls: tuple[RejudgedCall, ...] = ()
    ends: tuple[RejudgedEnd, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        """How many of its calls a person would be asked about."""
        asked = (DecisionKind.ASKED, DecisionKind.REFUSED)
        return sum(call.now.kind in asked for call in self.calls)


class RecordedTask:
    """A task that is over, read once, to be judged under several roles. Raises NotReplayable where it cannot be."""

    def __init__(self, store: Store, task_id: str, around: Surroundings) -> None:
        folder = task_files.folder_of(store.layout, task_id)
        if folder is None or has_worker(folder):
            raise NotReplayable(f"{task_id} {'is gone' if folder is None else 'has a worker'}")
        try:
            self.spec = read_spec(folder)
            self.role = role_of(store, self.spec, around.environ)
        except CannotBegin as error:
            raise NotReplayable(str(error)) from error
        self._store, self._around, self._folder = store, around, folder
        self._record: Record = recorded.read(store.layout, folder, self.spec)
        self._isolation = isolation_of(folder)
        self._verdicts = self._checked()
        self._called = {each.number: calls_made(folder, each.number) for each in self._record.attempts}

    def under(self, role: Role) -> Rejudged:
        """Judge it again under a role. Raise NotReplayable where no gate can be made of that, and Stopped."""
        context = context_of(self._store, self.spec, role, self._isolation, self._around)
        try:
            rules = self._gate(context, CallHistory()).toolbox.rules
        except BadRules as error:
            raise NotReplayable(str(error)) from error
        context = msgspec.structs.replace(context, rules=rules)
        calls: list[RejudgedCall] = []
        ends: list[RejudgedEnd] = []
        succeeded: list[str] = []
        for attempt in self._record.attempts:
            succeeded = succeeded if attempt.goes_on >= 0 else []
            before = CallHistory(self._called[attempt.number], tuple(succeeded), steps=max(0, attempt.goes_on))
            gate = self._gate(context, before)
            for judged in self._judged(gate, attempt):
                context.check()
                calls.append(judged)
            succeeded += [call.call.name for call in attempt.calls if call.call.ok and call.call.text is not None]
            unmet = gate.out_of_steps or gate.toolbox.unmet()
            ends.append(RejudgedEnd(attempt.number, unmet, self._verdicts.get(attempt.number)))
        broken = (self._record.broken,) if self._record.broken else ()
        return Rejudged(self.spec, tuple(calls), tuple(ends), (*self._record.missing, *broken))

    def _gate(self, context: Context, before: CallHistory) -> ReplayGate:
        runner = ShadowRunner(None, context)
        return ReplayGate(context, before, RecordedHandling(runner.run, runner.preview, None, runner.inside))

    def _judged(self, gate: ReplayGate, attempt: RecordedAttempt) -> Iterator[RejudgedCall]:
        for call in attempt.calls:
            now = gate.judge_again(call).decision
            words = one_line(gate.toolbox.describe(call.call.name, call.arguments), _WORDS)
            succeeded = call.call.ok and call.call.text is not None
            yield RejudgedCall(
                call.number,
                attempt.number,
                call.call.name,
                words,
                now,
                _target(call),
                succeeded,
                self._answer(call),
                _text(call, "query") if _is_plain_search(call) else "",
                _text(call, "id") if call.call.name == RECALL and succeeded else "",
            )

    def _answer(self, call: RecordedCall) -> bool | None:
        """Return what a person decided on a call; None where nobody did, or the time was over."""
        if call.marks.answered is None or not call.marks.asked:
            return None
        layout, name = self._store.layout, call.marks.asked[-1]
        asked, decision = approvals.read(layout, name), approvals.decision(layout, name)
        if asked is None or decision is None or decision.by == BY_TIME or asked.task_id != self.spec.id:
            return None
        return decision.allowed if decision.allowed is call.marks.answered else None

    def _checked(self) -> dict[int, Verdict]:
        """Return what the checks of each attempt showed."""
        ended = task_files.read_exit(self._folder)
        claimed = [*claims.refuted(self._folder), *([ended] if ended is not None else [])]
        return {claim.attempt: claim.acceptance.verdict for claim in claimed if claim.acceptance is not None}


def _target(call: RecordedCall) -> str:
    """Return what a call is about, as rules see it; empty where its arguments do not say."""
    return next(filter(None, (_text(call, name) for name in ("command", "path", "url"))), "")


def _is_plain_search(call: RecordedCall) -> bool:
    return call.call.name == SEARCH and call.arguments.keys() <= {"query", "limit"}


def _text(call: RecordedCall, name: str) -> str:
    value = call.arguments.get(name)
    return value if isinstance(value, str) else ""
