"""A replay: the recorded calls of a task, judged again by the tool gate as it is now, and where the two part."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from msgspec import Struct

from lumen_tui.model.text import one_line

_CALL = 100  # characters of a call in a list of steps


class ReplayOutcome(StrEnum):
    """What a replay found."""

    IDENTICAL = "identical"
    DIVERGED = "diverged"
    INCOMPLETE = "incomplete"  # what could be replayed is identical, and not all of it could be


class DecisionKind(StrEnum):
    """What becomes of a call at the gate."""

    ALLOWED = "allowed"
    DENIED = "denied"  # by a rule, or because its arguments do not fit
    LIMITED = "limited"  # there were enough of it
    ASKED = "asked"  # a person was asked, and allowed it
    REFUSED = "refused"  # a person was asked, and did not
    OPEN = "open"  # nobody knows: it was cut off, or waited still


class CallDecision(Struct, frozen=True, omit_defaults=True):
    """One decision of the gate. `reason` is what the model is told; `rule` names what decided, where that is known."""

    kind: DecisionKind
    reason: str = ""
    rule: str = ""


class ResultKind(StrEnum):
    """What became of the result of a call in the shadow."""

    SAME = "same"
    DIFFERS = "differs"
    RECORDED = "recorded"  # not run: the recorded result was given in its place
    NONE = "none"  # there is none: the call was not made, or was cut off


class StepReplay(Struct, frozen=True, omit_defaults=True):
    """One recorded call, judged again. Texts are safe and hold no secrets."""

    number: int  # in the whole task, from 1
    attempt: int
    tool: str
    call: str  # in a few words
    recorded: CallDecision
    now: CallDecision
    result: ResultKind = ResultKind.NONE


class ReplayPart(StrEnum):
    """Where the two part."""

    BEGIN = "begin"  # the task could not begin now
    DECISION = "decision"
    RESULT = "result"
    RECORD = "record"  # the record contradicts itself
    END = "end"  # the task could not end there now
    ACCEPTANCE = "acceptance"


class Divergence(Struct, frozen=True, omit_defaults=True):
    """The first point at which the replay differs from the record. Texts are safe and hold no secrets."""

    part: ReplayPart
    recorded: str
    now: str
    step: int = 0  # 0: none, it is about the end
    attempt: int = 0
    tool: str = ""
    call: str = ""
    rule: str = ""  # the rule or setting that made the difference


class ShadowBase(StrEnum):
    """What the shadow of the task's folder began from."""

    COMMIT = "commit"  # the one that the task began from
    NOW = "now"  # the folder as it is now
    NONE = "none"  # there is no shadow: nothing was run


class ReplayReport(Struct, frozen=True, omit_defaults=True):
    """What a replay found. Two replays of the same record under the same rules give the same bytes."""

    task_id: str
    role: str
    outcome: ReplayOutcome
    base: ShadowBase
    steps: tuple[StepReplay, ...] = ()
    divergence: Divergence | None = None
    missing: tuple[str, ...] = ()  # what could not be replayed, in sentences
    notes: tuple[str, ...] = ()  # what else a reader must know
    commit: str = ""
    schema: int = 1

    @property
    def exit_code(self) -> int:
        """0 where the replay is identical, else 1."""
        return 0 if self.outcome is ReplayOutcome.IDENTICAL else 1


def summary(report: ReplayReport) -> str:
    """Return what was found, in one line."""
    count = f"{len(report.steps):,} decision{'' if len(report.steps) == 1 else 's'}"
    if report.outcome is ReplayOutcome.IDENTICAL:
        return f"identical: {count}, each as it was recorded"
    if report.divergence is None:
        return f"incomplete: {count} as recorded, and not all of the task can be replayed"
    place = {ReplayPart.BEGIN: "its beginning", ReplayPart.RECORD: "its record"}.get(report.divergence.part, "its end")
    place = f"step {report.divergence.step}" if report.divergence.step else place
    return f"diverged at {place}: {count} replayed"


def lines(report: ReplayReport, *, steps: bool = False) -> list[str]:
    """Return the report as text: the finding, the first divergence, the results, and what a reader must know."""
    rows = [f"{report.task_id}  {report.role}  {summary(report)}"]
    if steps:
        rows += [_step_line(step) for step in report.steps]
    if report.divergence is not None:
        rows += _divergence_lines(report.divergence)
    if words := _results(report):
        rows.append(words)
    return [*rows, *(f"not replayed: {text}" for text in report.missing), *report.notes]


def _step_line(step: StepReplay) -> str:
    same = decision_words(step.recorded) == decision_words(step.now) or step.recorded.kind is DecisionKind.OPEN
    decided = decision_words(step.now) if same else f"{decision_words(step.recorded)} -> {decision_words(step.now)}"
    result = f"; result {step.result}" if step.result is not ResultKind.NONE else ""
    return f"  {step.number:>4}  {step.attempt}  {one_line(step.call or step.tool, _CALL)}: {decided}{result}"


def decision_words(decision: CallDecision) -> str:
    """Return a decision in words."""
    return f"{decision.kind}: {decision.reason}" if decision.reason else str(decision.kind)


def _divergence_lines(divergence: Divergence) -> list[str]:
    rows = []
    if divergence.step:
        call = divergence.call or divergence.tool
        rows.append(f"  step {divergence.step} of attempt {divergence.attempt}: {call}")
    rows += [f"  recorded  {divergence.recorded}", f"  now       {divergence.now}"]
    return [*rows, f"  by        {divergence.rule}"] if divergence.rule else rows


def _results(report: ReplayReport) -> str:
    counts = Counter(step.result for step in report.steps)
    if not report.steps:
        return ""
    parts = [
        f"{counts[kind]:,} {words}"
        for kind, words in (
            (ResultKind.SAME, "as recorded"),
            (ResultKind.DIFFERS, "differ"),
            (ResultKind.RECORDED, "not run, the recorded one in their place"),
        )
        if counts[kind]
    ]
    return f"results: {', '.join(parts)}" if parts else ""
