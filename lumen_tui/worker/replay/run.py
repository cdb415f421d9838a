"""A replay of one task: what is on record of it, put to the gate as it is now, call by call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model import acceptance
from lumen_tui.model.acceptance import FACT, BadCheck, CheckResult
from lumen_tui.model.config import Config
from lumen_tui.model.isolation import Isolation
from lumen_tui.model.replay import (
    CallDecision,
    DecisionKind,
    Divergence,
    ReplayOutcome,
    ReplayPart,
    ReplayReport,
    ResultKind,
    ShadowBase,
    StepReplay,
    decision_words,
)
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec, Status
from lumen_tui.model.text import one_line
from lumen_tui.providers.claude_code.usage import NAME as CLAUDE
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import has_worker
from lumen_tui.tools.base import BadRules, Context, Stopped, plural
from lumen_tui.tools.isolation import records, shadows
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.policy.verdict import CallHistory
from lumen_tui.tools.toolbox import Toolbox
from lumen_tui.worker.apart import placed
from lumen_tui.worker.checking import Checker
from lumen_tui.worker.record import Recorder, calls_made
from lumen_tui.worker.replay import recorded, shadow
from lumen_tui.worker.replay.gate import JudgedCall, RecordedHandling, ReplayGate
from lumen_tui.worker.replay.recorded import MOST_STEPS, Record, RecordedCall
from lumen_tui.worker.replay.rerun import ShadowRunner
from lumen_tui.worker.replay.shadow import Shadow
from lumen_tui.worker.task import CannotBegin, read_spec, role_of

LONGEST = 600.0  # seconds in which calls are made again
_CHECK_SECONDS = 300.0  # for all checks together
_WIDTH = 300
_OWN_TOOLS = (
    "what Claude Code did by itself: its answers and the calls of its own tools are in its session and not in this "
    "record; the calls of our tools are"
)


class NotReplayable(Exception):
    """There is nothing to replay; the text says why and what to do."""


class Variant(Struct, frozen=True):
    """What is tried in place of what is in force: a role, or the operator's settings. None: as they are."""

    role: Role | None = None
    config: Config | None = None


class Surroundings(Struct, frozen=True):
    """What a replay gets from its process. `progress` is called with the calls that are done, and their number."""

    environ: Mapping[str, str]
    now: Callable[[], float]
    monotonic: Callable[[], float]
    progress: Callable[[int, int], None] = lambda done, total: None
    stopped: Callable[[], bool] = bool
    seconds: float = LONGEST


def replay(store: Store, task_id: str, around: Surroundings, variant: Variant | None = None) -> ReplayReport:
    """Replay a task, live or archived, that has no worker. Raise NotReplayable, Stopped, StoreError, OSError."""
    folder = task_files.folder_of(store.layout, task_id)
    if folder is None:
        raise NotReplayable(f"there is no task {task_id}")
    if has_worker(folder):
        raise NotReplayable(f"{task_id} has a worker: replay it once that has ended")
    try:
        spec = read_spec(folder)
    except CannotBegin as error:
        raise NotReplayable(str(error)) from error
    record = recorded.read(store.layout, folder, spec)
    variant = variant or Variant()
    try:
        role = variant.role or role_of(store, spec, around.environ)
        task_replay = _Replay(store, spec, folder, record, role, variant.config, around)
    except (CannotBegin, BadRules) as error:
        return _cannot_begin(spec, record, str(error))
    return task_replay.run()


def made_again(store: Store, task_id: str, at: int, place: Path, around: Surroundings) -> Shadow:
    """Make the first calls of a task again in a shadow at `place`, which stays; return it.

    Raise NotReplayable where they are not what they were: then nobody knows what a task that goes on from there has.
    """
    folder = task_files.folder_of(store.layout, task_id)
    if folder is None or has_worker(folder):
        raise NotReplayable(f"{task_id} {'is gone' if folder is None else 'has a worker'}")
    try:
        spec = read_spec(folder)
        role = role_of(store, spec, around.environ)
        task_replay = _Replay(store, spec, folder, recorded.read(store.layout, folder, spec), role, None, around)
    except (CannotBegin, BadRules) as error:
        raise NotReplayable(str(error)) from error
    return task_replay.up_to(at, place)


def context_of(store: Store, spec: Spec, role: Role, isolation: Isolation | None, around: Surroundings) -> Context:
    """Return the context in which the gate judged the calls of a task, with this role."""
    own = Path(os.path.realpath(store.layout.task(spec.id)))
    return Context(
        role=role,
        spec=placed(spec, isolation, own) if isolation is not None else spec,
        store=store,
        folder=own,
        now=around.now,
        monotonic=around.monotonic,
        stopped=around.stopped,
        redact=redactor(around.environ),
        environ=around.environ,
    )


def _cannot_begin(spec: Spec, record: Record, reason: str) -> ReplayReport:
    divergence = Divergence(ReplayPart.BEGIN, recorded="it began", now=f"it cannot begin: {one_line(reason, _WIDTH)}")
    return ReplayReport(spec.id, spec.role, ReplayOutcome.DIVERGED, ShadowBase.NONE, (), divergence, record.missing)


class _Replay:
    """One replay under way. Raises CannotBegin, BadRules where the task could not begin as things are."""

    def __init__(
        self,
        store: Store,
        spec: Spec,
        folder: Path,
        record: Record,
        role: Role,
        config: Config | None,
        around: Surroundings,
    ) -> None:
        self._folder, self._record, self._around = folder, record, around
        self._given = config
        self._config = config or load_config(store.layout)[0]
        self._isolation = isolation_of(folder)
        context = context_of(store, spec, role, self._isolation, around)
        box = self._box(context, ShadowRunner(None, context), CallHistory())
        self._gate = msgspec.structs.replace(context, rules=box.toolbox.rules)
        self._steps: list[StepReplay] = []
        self._missing = list(record.missing)
        self._notes: list[str] = []
        self._divergence: Divergence | None = None

    def _box(self, context: Context, runner: ShadowRunner, before: CallHistory) -> ReplayGate:
        return ReplayGate(context, before, RecordedHandling(runner.run, runner.preview, self._given, runner.inside))

    def run(self) -> ReplayReport:
        """Replay all attempts, up to the first divergence. Raise Stopped."""
        layout = self._gate.store.layout
        with shadows.place(layout) as place:
            shadow = self._shadow(place)
            runner = ShadowRunner(shadow, self._gate)
            try:
                self._attempts(runner)
                if self._divergence is None and shadow is not None:
                    self._accept(shadow, runner)
            finally:
                runner.end()
        self._remarks(runner, shadow)
        return self._report(shadow)

    def up_to(self, at: int, place: Path) -> Shadow:
        """Make the first calls again in a shadow at this place. Raise NotReplayable, Stopped."""
        shadow = self._shadow(place)
        if shadow is None:
            raise NotReplayable(self._notes[-1])
        runner = ShadowRunner(shadow, self._gate)
        try:
            self._attempts(runner, at)
        finally:
            runner.end()
        if self._divergence is not None:
            step, now = self._divergence.step, self._divergence.now
            raise NotReplayable(f"step {step} cannot be made again as it was: {now}")
        if at and not runner.exact and shadow.base is ShadowBase.COMMIT:
            raise NotReplayable(f"the first {plural(at, 'call')} cannot all be made again: {'; '.join(self._notes)}")
        return shadow

    def _shadow(self, place: Path) -> Shadow | None:
        """Make the shadow; where that cannot be, say so and go on without one."""
        ends = self._around.monotonic() + self._around.seconds

        def stopped() -> bool:
            return self._around.stopped() or self._around.monotonic() > ends

        def check() -> None:
            if stopped():
                raise Stopped

        gate = msgspec.structs.replace(self._gate, stopped=stopped)
        order = shadow.ShadowOrder(gate, self._folder, self._isolation, self._config.sandbox, check)
        try:
            return shadow.make(order, place)
        except (Unfit, StoreError, OSError) as error:
            reason = self._clean(str(error))
        except Stopped:
            self._gate.check()
            reason = "its time was up before the shadow was ready"
        self._notes.append(f"nothing was run, each call has its recorded result: {reason}")
        return None

    def _attempts(self, runner: ShadowRunner, most: int = MOST_STEPS) -> None:
        total = sum(len(attempt.calls) for attempt in self._record.attempts)
        succeeded: list[str] = []
        for attempt in self._record.attempts:
            if attempt.goes_on < 0:
                succeeded = []
            before = CallHistory(
                calls_made(self._folder, attempt.number), tuple(succeeded), steps=max(0, attempt.goes_on)
            )
            runner.end()
            runner.begin()
            box = self._box(self._gate, runner, before)
            for call in attempt.calls:
                if len(self._steps) == most:
                    return
                self._around.progress(len(self._steps), total)
                self._take(call, box.judge_again(call))
                if self._divergence is not None:
                    return
                succeeded += [call.call.name] if call.call.ok and call.call.text is not None else []
            last = box
        if self._record.broken:
            self._divergence = Divergence(
                ReplayPart.RECORD, "two records of the same task", self._clean(self._record.broken)
            )
        elif self._record.attempts and not self._missing:
            self._end(last)

    def _take(self, recorded: RecordedCall, judged: JudgedCall) -> None:
        """Add one step; note where it is the first that differs."""
        now, was = self._said(judged.decision), self._said(_on_record(recorded, judged.decision))
        call = self._clean(_words(recorded))
        number, attempt = recorded.number, recorded.marks.attempt
        name = one_line(recorded.call.name, 60)
        self._steps.append(StepReplay(number, attempt, name, call, was, now, judged.rerun.kind))
        if judged.gone:
            self._missing.append(f"step {number}: the decision {judged.gone} is not on record any more")
        elif was.kind is DecisionKind.OPEN:
            waited = recorded.marks.waits
            end = "waited still as its worker ended" if waited else "was cut off: it may have happened, or not"
            self._notes.append(f"step {number} {end}")
        elif (was.kind, was.reason) != (now.kind, now.reason):
            self._divergence = Divergence(
                ReplayPart.DECISION, decision_words(was), decision_words(now), number, attempt, name, call, now.rule
            )
        elif judged.rerun.strict:
            before = "ok" if recorded.call.ok else f"failed: {recorded.call.text}"
            self._divergence = Divergence(
                ReplayPart.RESULT, self._clean(before), self._clean(judged.rerun.text), number, attempt, name, call
            )

    def _said(self, decision: CallDecision) -> CallDecision:
        return msgspec.structs.replace(decision, reason=self._clean(decision.reason), rule=self._clean(decision.rule))

    def _clean(self, text: str) -> str:
        return one_line(self._gate.clean(text), _WIDTH)

    def _end(self, box: ReplayGate) -> None:
        """Note where a task that counted as done could not end there now."""
        ended = task_files.read_exit(self._folder)
        if ended is not None and ended.status == Status.DONE and (unmet := box.toolbox.unmet()):
            self._divergence = Divergence(
                ReplayPart.END, "it ended, done", self._clean(unmet), rule="a rule of the role: before the end"
            )

    def _accept(self, shadow: Shadow, runner: ShadowRunner) -> None:
        ended = task_files.read_exit(self._folder)
        known = ended.acceptance.results if ended is not None and ended.acceptance is not None else ()
        if not known:
            return
        if not runner.exact or self._missing:
            self._notes.append(
                f"acceptance: {plural(len(known), 'check')} not run again, as the shadow is not what the task left"
            )
            return
        for result, replayed in zip(known, _checked_again(shadow.context, known), strict=True):
            if replayed is not None and replayed.finding is not result.finding:
                self._divergence = Divergence(
                    ReplayPart.ACCEPTANCE, self._clean(result.text), self._clean(shadow.paths.back(replayed.text))
                )
                return

    def _remarks(self, runner: ShadowRunner, shadow: Shadow | None) -> None:
        ended = task_files.read_exit(self._folder)
        if recorded.used_own_tools(self._folder) or (ended is not None and ended.brain.split(" ")[0] == CLAUDE):
            self._missing.append(_OWN_TOOLS)
        if shadow is not None:
            self._notes += map(self._clean, shadow.notes)
        if runner.unsandboxed:
            self._notes.append(f"{plural(runner.unsandboxed, 'command')} not run: no sandbox holds commands here")
        if runner.time_is_up:
            self._notes.append("its time was up: from there on each call has its recorded result")
        differing = sum(step.result is ResultKind.DIFFERS for step in self._steps)
        if differing and shadow is not None and shadow.base is ShadowBase.NOW:
            self._notes.append(
                f"the folder has changed since, or the program answers otherwise: {plural(differing, 'result')} differ"
            )

    def _report(self, shadow: Shadow | None) -> ReplayReport:
        outcome = ReplayOutcome.INCOMPLETE if self._missing else ReplayOutcome.IDENTICAL
        base = shadow.base if shadow is not None else ShadowBase.NONE
        return ReplayReport(
            task_id=self._gate.spec.id,
            role=self._gate.role.name,
            outcome=ReplayOutcome.DIVERGED if self._divergence is not None else outcome,
            base=base,
            steps=tuple(self._steps),
            divergence=self._divergence,
            missing=tuple(map(self._clean, self._missing)),
            notes=tuple(self._notes),
            commit=self._isolation.commit if self._isolation is not None and base is ShadowBase.COMMIT else "",
        )


def isolation_of(folder: Path) -> Isolation | None:
    try:
        return records.read_isolation(folder)
    except OSError as error:
        raise NotReplayable(f"where the task worked is not known: {error}") from error


def _on_record(recorded: RecordedCall, now: CallDecision) -> CallDecision:
    """Return the decision that is on record; where a call was refused its kind is that of the same refusal now."""
    marks, text = recorded.marks, recorded.call.text or ""
    if not marks.ended:
        return CallDecision(DecisionKind.LIMITED, marks.error) if marks.error else CallDecision(DecisionKind.OPEN)
    if marks.answered is False:
        return CallDecision(DecisionKind.REFUSED, text)
    if marks.refused:
        limited = now.kind is DecisionKind.LIMITED and now.reason == text
        return CallDecision(DecisionKind.LIMITED if limited else DecisionKind.DENIED, text)
    return CallDecision(DecisionKind.ASKED if marks.answered else DecisionKind.ALLOWED)


def _words(recorded: RecordedCall) -> str:
    """Return a call in a few words, also one of a tool that is no more."""
    arguments = msgspec.json.encode(recorded.call.arguments, order="deterministic").decode()
    return f"{recorded.call.name} {arguments}"


def _checked_again(context: Context, known: Sequence[CheckResult]) -> list[CheckResult | None]:
    """Return what each check finds in the shadow; None for one that looks elsewhere. Raises Stopped."""
    role = msgspec.structs.replace(context.role, network=False, command_hosts=())
    toolbox = Toolbox(role, context.spec, context)
    journal = Journal(context.folder / "events.jsonl")
    events = Recorder(journal, 1, context.now, context.redact, lambda **_: nullcontext())
    checker = Checker(msgspec.structs.replace(context, rules=toolbox.rules), toolbox, events, _CHECK_SECONDS)
    try:
        return [checker.run([result.check]).results[0] if _is_inside(result.check) else None for result in known]
    finally:
        toolbox.close()


def _is_inside(text: str) -> bool:
    """Return whether a check looks at the task's folder alone."""
    try:
        return acceptance.parse(text).kind != FACT
    except BadCheck:
        return False
