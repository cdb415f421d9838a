"""Candidates, their trials against the champion, and the gate: which changes come into force, and which do not.

A candidate is one bounded edit. The champion is the edits that are in force; a challenger is the
champion with one candidate more. Whoever proposes decides nothing: the gate judges by cases that proposers do not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model import ids
from lumen_tui.model.budget import dollars
from lumen_tui.model.evals import SUITE, EvalCase, Split
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import MOST_CONTEXT, EditKind, EvolvedEdit, EvolvedVersion, Measure, edit_fault
from lumen_tui.model.paired import alpha_of, difference_interval, exact_p
from lumen_tui.model.roles import Role
from lumen_tui.model.text import is_safe

if TYPE_CHECKING:
    from lumen_tui.model.learning_rules import Rules

MOST_PAIRS = 40  # cases of one trial, unless more are asked for
MOST_ASKED = 200
LEAST_PAIRS = 12  # on fewer nothing is decided
LEAST_FIXES = 5
MOST_COST = 1.10  # of the champion's
_MOST_WHY = 300
_MOST_AIMS = 50
TRIALS = "trials"  # in the ledger, as a role: the budget line of trials that ask a model
SLEEP = "sleep"  # the same of sleep-time work
QUESTIONS, TOKENS = "questions to a person", "tokens"  # in which a trial counts what versions cost
_TRUSTED = Trust.AGENT.rank
UNMEASURED = "nothing here can show what it does: `evolve take` is a person's own word for it"


class EvolutionCandidate(Struct, frozen=True, omit_defaults=True):
    """One line of evals/candidates.jsonl: an edit, why it should help, and the failing cases it aims at."""

    id: str
    at: str
    by: str
    edit: EvolvedEdit
    why: str
    aims: tuple[str, ...] = ()
    trust: Trust = Trust.WORKER  # the weakest of what it was made of
    suite: str = SUITE
    withdrawn: bool = False
    schema: int = 1


def candidate_id(edit: EvolvedEdit) -> str:
    """Return the id of a candidate: the same edit is the same candidate, however often it is proposed."""
    return f"can-{ids.short_hash(edit.digest)}"


def fault(candidate: EvolutionCandidate) -> str:
    """Return why a candidate is none, or empty. It is checked when it is proposed and when it is read."""
    edit = candidate.edit
    try:
        ids.check_name(candidate.suite, "suite")
    except ids.BadId as error:
        return str(error)
    if candidate.id != candidate_id(edit):
        return "its id is that of another edit"
    if reason := edit_fault(edit):
        return reason
    if len(candidate.why) > _MOST_WHY or len(candidate.aims) > _MOST_AIMS or not candidate.why.strip():
        return f"say in 1 to {_MOST_WHY} characters why it should help, with {_MOST_AIMS} cases at most"
    if not all(map(is_safe, (*edit.new_text.split("\n"), edit.name, candidate.why, *candidate.aims))):
        return "it holds what no text may: controls, or characters that hide or turn others"
    return ""


class PairedCase(Struct, frozen=True, omit_defaults=True):
    """One case under both; None where it could not be measured."""

    case: str
    champion: bool | None
    challenger: bool | None
    must: bool = False
    flaky: bool = False  # measured twice, it was not the same
    words: str = ""
    sibling: bool = False  # another one of its work unit counts: it is there as it must hold

    @property
    def measured(self) -> bool:
        """Whether it counts, and tells anything."""
        return self.champion is not None and self.challenger is not None and not self.flaky and not self.sibling

    @property
    def fails(self) -> bool:
        """Whether it must hold, and the challenger does not pass what the champion does, or nobody knows."""
        return self.must and (self.flaky or (self.champion is True and self.challenger is False))

    @property
    def fixed(self) -> bool:
        """Whether the challenger alone passes it."""
        return self.measured and bool(self.challenger) and not self.champion

    @property
    def broken(self) -> bool:
        """Whether the champion alone passes it."""
        return self.measured and bool(self.champion) and not self.challenger


class TrialResult(Struct, frozen=True):
    """What a trial measured. Costs are over all tasks of the cases, in `unit`."""

    pairs: tuple[PairedCase, ...]
    costs: tuple[float, float] = (0.0, 0.0)  # of the champion, of the challenger
    unit: str = QUESTIONS
    usd: float = 0.0  # what the trial itself cost, with what earlier ones of the same versions paid
    stopped: str = ""  # why it came to no end
    unmeasured: str = ""  # why a case could not be measured

    @property
    def measured(self) -> int:
        """How many cases tell anything."""
        return sum(pair.measured for pair in self.pairs)

    @property
    def fixes(self) -> int:
        """How many cases the challenger alone passes."""
        return sum(pair.fixed for pair in self.pairs)

    @property
    def regressions(self) -> int:
        """How many cases the champion alone passes."""
        return sum(pair.broken for pair in self.pairs)

    @property
    def p(self) -> float:
        """The chance of a result this good where the challenger is no better."""
        return exact_p(self.fixes, self.regressions, self.measured)


class TrialGround(Struct, frozen=True):
    """What the gate knows besides the result: how things stand now."""

    candidate: EvolutionCandidate
    champion: EvolvedVersion
    role: Role  # as it is without any edit
    aims: tuple[EvalCase, ...] = ()
    constitution: str = ""  # why it does not hold
    refusal: str = ""  # why what it changes is not evolution's to change
    look: int = 1  # at the candidate: the same sample once more is the same look
    rules: Rules | None = None  # the constitution's list of what is never learnt, and what a secret is


def objections(ground: TrialGround, result: TrialResult | None) -> tuple[str, ...]:
    """Return every reason against a challenger; none, and it may be promoted. Without a result: before the trial."""
    return (*_of_ground(ground), *(_of_result(ground, result) if result is not None else ()))


def _of_ground(ground: TrialGround) -> Iterable[str]:
    candidate, edit = ground.candidate, ground.candidate.edit
    if reason := fault(candidate):
        yield reason
    if ground.constitution:
        yield f"the constitution does not hold: {ground.constitution}"
    if candidate.trust.rank < _TRUSTED:
        yield f"it comes from an untrusted origin: {candidate.trust}"
    from lumen_tui.model import learning_rules  # 7 ms of patterns, which whoever only reads trials does without

    rules = ground.rules or learning_rules.Rules()
    texts = (f"{edit.new_text} {candidate.why}", *edit.text.splitlines(), candidate.why)  # a line may be all of it
    if dangers := [danger for text in texts for danger in learning_rules.against(text, rules)]:
        yield f"its words are dangerous: {', '.join(dict.fromkeys(dangers))}"
    if edit in ground.champion.edits:
        yield "it is in force already"
    if edit.rules.of_role:
        yield from _of_role(ground, edit)
    if ground.refusal:
        yield ground.refusal
    if edit.measure is Measure.PERSON:
        yield UNMEASURED
    if any(case.split is not Split.TRAIN for case in ground.aims):
        yield "it was made with cases in view that are not for proposers"


def _of_role(ground: TrialGround, edit: EvolvedEdit) -> Iterable[str]:
    """Yield what the role of an edit has against it."""
    role, champion = ground.role, ground.champion
    if role.source != "shipped":
        yield f"role {edit.role} is a person's own: `role adjust {edit.role}` is how it changes"
    if edit.rule is not None and edit.rule.tool not in ("*", *role.tools):
        yield f"role {edit.role} has no {edit.rule.tool}"
    if edit.kind is EditKind.SETTING and champion.with_edit(edit).applied(role) == champion.applied(role):
        yield f"{edit.name} is as low as that already: an edit only narrows what a role may do"
    if (size := champion.with_edit(edit).context(edit.role)) > MOST_CONTEXT:
        yield f"the edits of {edit.role} would have {size:,} bytes of the prompt: {MOST_CONTEXT:,} at most"


def _of_result(ground: TrialGround, result: TrialResult) -> Iterable[str]:
    if result.stopped:
        yield f"the trial came to no end: {result.stopped}"
        return
    if broken := [pair.case for pair in result.pairs if pair.fails]:
        yield f"it fails what must hold: {', '.join(broken[:3])}"
    if not result.measured:
        yield f"not measured: {result.unmeasured or 'no case of the gate is about its role'}"
        return
    if result.measured < LEAST_PAIRS:
        yield f"{result.measured} cases are too few: {LEAST_PAIRS} at least"
    if result.fixes <= result.regressions:
        yield "a tie keeps the old" if result.fixes == result.regressions else "it breaks more than it fixes"
    elif result.fixes < LEAST_FIXES:
        yield f"{result.fixes} fixed cases are too few: {LEAST_FIXES} at least"
    if (alpha := alpha_of(ground.look)) <= result.p < 1:
        yield f"it may be chance: p = {result.p:.3f}, and look {ground.look} needs less than {alpha:.3f}"
    champion, challenger = result.costs
    if challenger > champion * MOST_COST:
        yield f"it costs more: {challenger:,g} {result.unit} instead of {champion:,g}"


class TrialReport(Struct, frozen=True, omit_defaults=True):
    """One line of evals/trials.jsonl: what a trial found, and what the gate says of it."""

    id: str
    at: str
    by: str
    candidate: str
    champion: str
    challenger: str
    look: int
    sample: str  # a hash of what was compared on what
    cases: int
    measured: int
    fixes: int
    regressions: int
    p: float
    costs: tuple[float, float]
    constitution: str  # the hash of the approved text
    differing: tuple[PairedCase, ...] = ()
    objections: tuple[str, ...] = ()
    unit: str = QUESTIONS  # of the costs
    usd: float = 0.0
    schema: int = 1

    @property
    def passed(self) -> bool:
        """Whether the gate lets it be promoted."""
        return not self.objections

    @property
    def words(self) -> str:
        """The result in a line."""
        if not self.measured:
            return "not measured"
        counted = f"{self.fixes} fixed, {self.regressions} broken of {self.measured}, {p_words(self.p)}"
        return f"{counted}, {difference_words(self.fixes, self.regressions, self.measured)}"


def difference_words(fixes: int, regressions: int, pairs: int) -> str:
    """Return by how much the challenger is better, with 95 % confidence: `difference +27% to +78%`."""
    low, high = difference_interval(fixes, regressions, pairs)
    return f"difference {low:+.0%} to {high:+.0%}"


class TrialProgress(Struct, frozen=True, omit_defaults=True):
    """evals/trial.json: how far a trial is that asks a model, while the process that wrote it lives."""

    candidate: str
    at: str
    pairs: int  # cases in all
    runs: int = 0  # done, of twice as many
    measured: int = 0
    fixes: int = 0
    regressions: int = 0
    usd: float = 0.0
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    schema: int = 1

    @property
    def words(self) -> str:
        """How far it is, in a line. The interval is of what was seen so far; only the end decides."""
        cost = f", {dollars(self.usd)}" if self.usd else ""
        begun = f"{self.runs} of {2 * self.pairs} runs{cost}"
        if not self.measured:
            return begun
        found = f"{self.fixes} fixed, {self.regressions} broken of {self.measured}"
        return f"{begun}: {found}, {difference_words(self.fixes, self.regressions, self.measured)} so far"


def p_words(p: float) -> str:
    """Return a p-value as it is written; one that is never zero."""
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


class PromotionStep(StrEnum):
    """What was done to the pointer."""

    PROMOTE = "promote"
    ROLLBACK = "rollback"
    UNDO = "undo"
    TAKE = "take"  # of what nothing measures, by a person


class Promotion(Struct, frozen=True, omit_defaults=True):
    """One line of evals/promotions.jsonl, written before the pointer is swapped."""

    id: str
    at: str
    by: str
    step: PromotionStep
    version: str
    parent: str  # what the pointer named before
    candidate: str = ""
    reason: str = ""
    schema: int = 1


def carried_out(ledger: Iterable[Promotion], version: str) -> list[Promotion]:
    """Return the lines whose swap happened: `version` is what the pointer names now.

    A kill between line and pointer leaves a line that the next one, or the pointer, does not go on from.
    """
    done: list[Promotion] = []
    after = version
    for promotion in reversed(list(ledger)):
        if promotion.version == after:
            done.append(promotion)
            after = promotion.parent
    return done[::-1]
