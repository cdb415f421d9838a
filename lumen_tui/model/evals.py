"""Suites of cases, by which a change of the agent has to prove itself before it is in force.

A case is a moment of a task that is over, and what should have been decided there: the end of an attempt whose checks
showed what its claim was worth, a call that a person decided on, or a search, with what was read after it in the end.
Its split follows from its work unit alone, so that siblings are never on both sides, and nobody can move a case. Who
writes a change sees `train`, the gate `gate`, and `final` is for a person who wants to know whether the gate itself was
learnt by heart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec
from msgspec import Struct

from lumen_tui.model import ids
from lumen_tui.model.digests import sha256
from lumen_tui.model.evolution import Trust
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import is_safe, one_line
from lumen_tui.model.times import epoch

SUITE = "work"  # the suite of what was recorded
MOST_CASES = 2_000  # of one suite
MOST_LINE = 4_000  # bytes of one line
_MOST_WORDS = 300
_TRAIN, _GATE = 40, 80  # per cent of work units up to which they are of each split
_COUNTED = Trust.AGENT.rank  # cases of a lower trust are shown and decide nothing
_NUMBER = lazy_re(r"\d+")


class Split(StrEnum):
    """What a case is for."""

    TRAIN = "train"  # proposers read it
    GATE = "gate"  # decides
    FINAL = "final"  # neither: a person's own look at what was promoted


class Expectation(StrEnum):
    """What the gate should decide at a case."""

    HOLD = "hold"  # the call is refused, the end is put off
    PASS = "pass"  # noqa: S105 - the call may be made, asking a person or not; the task may end
    FIND = "find"  # the search shows what was looked for


class EvalCase(Struct, frozen=True, omit_defaults=True):
    """One line of evals/<suite>/cases.jsonl; the last line of an id is the valid one."""

    id: str
    at: str
    unit: str  # of work, by `unit_of`
    task: str
    attempt: int
    step: int  # the call, counted from 1 over the whole task; 0: the end of the attempt
    expect: Expectation
    trust: Trust = Trust.WORKER
    role: str = ""
    must: bool = False  # no challenger may fail it that the champion passes
    dropped: bool = False
    by: str = ""
    words: str = ""  # what happened there, in a line
    query: str = ""  # of a search
    answer: str = ""  # the id of what was looked for
    schema: int = 1

    @property
    def split(self) -> Split:
        """What it is for."""
        return split_of(self.unit)

    @property
    def counts(self) -> bool:
        """Whether it may decide: somebody trusted gave the task, or a person marked it."""
        return not self.dropped and self.trust.rank >= _COUNTED

    @property
    def digest(self) -> str:
        """A hash of what is measured."""
        asked = f" {self.query} {self.answer}" if self.expect is Expectation.FIND else ""
        return sha256(f"{self.task} {self.attempt} {self.step} {self.expect}{asked}".encode())[:16]


def split_of(unit: str) -> Split:
    """Return the split of a work unit: 40 % train, 40 % gate, 20 % final, by its hash alone."""
    share = int(sha256(unit.encode("utf-8", "replace"))[:8], 16) % 100
    return Split.TRAIN if share < _TRAIN else Split.GATE if share < _GATE else Split.FINAL


def unit_of(spec: Spec) -> str:
    """Return what a task's cases are kept together by: its work unit, else the objective with numbers left open.

    A task that was ordered again, nightly or with another number, is so the same unit.
    """
    if spec.wu_id:
        return spec.wu_id
    return unit_of_words(spec.objective)


def unit_of_words(words: str) -> str:
    """Return the unit of work of an objective or a query, numbers left open."""
    plain = _NUMBER.sub("#", " ".join(words.casefold().split()))
    return f"objective {sha256(plain.encode('utf-8', 'replace'))[:16]}"


def trust_of(spec: Spec) -> Trust:
    """Return whose word a task is: what a worker ordered for itself proves nothing of it."""
    if spec.parent:
        return Trust.WORKER
    return Trust.PERSON if spec.order else Trust.AGENT


def case_id(task: str, attempt: int, step: int) -> str:
    """Return the id of a case: the same moment of a task is one case, however often it is collected."""
    return f"cas-{ids.short_hash(f'{task} {attempt} {step}')}"


def planted(query: str, answer: str, now_text: str, by: str) -> EvalCase:
    """Return the case of a search that a person asks, with what it should show."""
    task = f"asked-{sha256(f'{query} {answer}'.encode('utf-8', 'replace'))[:16]}"
    return EvalCase(
        case_id(task, 1, 1),
        now_text,
        unit_of_words(query),
        task,
        1,
        1,
        Expectation.FIND,
        Trust.PERSON,
        by=by,
        words=one_line(f"{query}: {answer}", _MOST_WORDS),
        query=query,
        answer=answer,
    )


def fault(case: EvalCase) -> str:
    """Return why a line of a suite is not used, or empty. A suite is a file that somebody may have written."""
    if case.id != case_id(case.task, case.attempt, case.step):
        return "its id is of another moment"
    if not ids.is_wu(case.unit) and not re.fullmatch(r"objective [0-9a-f]{16}", case.unit):
        return "its work unit is none"
    try:
        ids.check_name(case.task, "task id")
        if case.role or case.expect is not Expectation.FIND:
            ids.check_name(case.role, "role")
    except ids.BadId as error:
        return str(error)
    if case.attempt < 1 or case.step < 0 or not epoch(case.at):
        return "its numbers are none"
    if (case.expect is Expectation.FIND) != bool(case.query.strip() and case.answer.strip()):
        return "a search has a query and an answer, and nothing else has"
    if not all(is_safe(text) and len(text) <= _MOST_WORDS for text in (case.query, case.answer)):
        return "its query or answer is too long, or holds what no line may"
    if len(case.words) > _MOST_WORDS or not is_safe(case.words) or len(case.by) > 100:
        return "its words are too long, or hold what no line may"
    return ""


def sample(cases: Iterable[EvalCase], most: int) -> list[EvalCase]:
    """Return the cases of a trial, by their hash: of each work unit one, and besides those that must hold, these first.

    What happened to one unit of work once is likely to happen to it again: to count its cases as if they were of
    different units would take luck for proof.
    """
    ordered = sorted(cases, key=lambda case: (not case.must, case.digest))
    again = siblings(ordered)
    return [case for case in ordered if case.must or case.id not in again][:most]


def siblings(cases: Iterable[EvalCase]) -> frozenset[str]:
    """Return the ids of cases before which there is another one of the same unit."""
    units: set[str] = set()
    again: set[str] = set()
    for case in cases:
        again |= {case.id} if case.unit in units else set()
        units.add(case.unit)
    return frozenset(again)


class CaseRun(Struct, frozen=True, omit_defaults=True):
    """One line of evals/runs.jsonl: what one version did at one case. It stands for every later run of the same."""

    case: str  # EvalCase.digest
    version: str
    passed: bool | None  # None: it could not be measured
    questions: int = 0  # to a person, in the whole task
    reason: str = ""
    rules: str = ""  # a hash of settings and program, as they were
    tokens: int = 0  # that it took, where a model was asked
    usd: float = 0.0
    schema: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is a run of."""
        return self.case, self.version, self.rules


def decode_case(line: bytes) -> EvalCase | None:
    """Return a case that may be used, or None. Raises what msgspec does for a line that is none."""
    if len(line) > MOST_LINE:
        return None
    case = msgspec.json.decode(line, type=EvalCase)
    return None if fault(case) else case
