"""A cheap model as judge behind the gate: it sees what the rules let pass before that is written, and can only object.

It is asked in a process of its own, outside of the lock, so that no operator waits for it. Where there is no answer the
rules alone have judged.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from lumen_tui.actions.evolution import gate_rules
from lumen_tui.engine.evolution.candidates import LearningCandidate
from lumen_tui.engine.evolution.gate import CandidateGate, Key, Opinion, Passed, key_of
from lumen_tui.engine.supervisor.workers import worker_env
from lumen_tui.model import evolvedfiles, session_review
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.evolution import ExtractionState, Observation, SessionReport
from lumen_tui.model.session_review import (
    MOST_CASES,
    ProposingResult,
    ReadingResult,
    ReviewCase,
    ReviewRequest,
    ReviewResult,
    ShorteningResult,
)
from lumen_tui.model.text import one_line
from lumen_tui.providers.choose import key_names, provider_name
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import evolved
from lumen_tui.store.evolution.constitution import read_constitution
from lumen_tui.store.evolution.text_files import read_text
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    from lumen_tui.model.config import Config, EvolutionConfig

_PATIENCE = 180.0  # seconds for one answer
_LOOK = 0.1
_T = TypeVar("_T", ReadingResult, ReviewResult, ShorteningResult, ProposingResult)


def ask_process(job: str, config: Config, order: msgspec.Struct, kind: type[_T], over: Callable[[], bool]) -> _T:
    """Have a worker process `read`, `judge`, `shorten` or `propose` by an order; return its answer.

    The `problem` of one that is none says why. `over` ends it.
    """
    models = config.models
    keys = key_names(provider_name(models, os.environ), models, "evolution", "haiku")
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "lumen_tui.worker.evolution", job],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=worker_env(keys),
        umask=0o077,
    )
    ends = time.monotonic() + _PATIENCE
    order_bytes: bytes | None = msgspec.json.encode(order)
    try:
        while True:
            try:
                output, _ = child.communicate(order_bytes, timeout=_LOOK)
                return msgspec.json.decode(output, type=kind)
            except subprocess.TimeoutExpired:
                order_bytes = None
            if over() or time.monotonic() > ends:
                return kind(problem="it took too long")
    except UNDECODABLE:
        return kind(problem=f"the reading process ended with code {child.returncode}")
    finally:
        child.kill()
        child.wait()


MODEL = "model"  # [evolution] judge
NOT_ASKED = "the model that judges was not asked"
Batch = tuple[Sequence[LearningCandidate], ExtractionState]  # candidates of one session, and what its extraction holds


class JudgingTotals(msgspec.Struct):
    """What a model made of the candidates of one pass."""

    asked: int = 0
    against: int = 0
    usd: float = 0.0
    tokens: int = 0
    brain: str = ""
    problem: str = ""

    @property
    def summary(self) -> str:
        """One plain sentence; empty where there was nothing to judge."""
        sentences = []
        if self.asked:
            count = f"{self.asked} candidate{'' if self.asked == 1 else 's'}"
            sentences.append(
                f"{self.brain} judged {count} that the rules let pass: {self.against or 'none'} objected to "
                f"({self.tokens:,} tokens, ${self.usd:.4f})"
            )
        if self.problem:
            sentences.append(
                f"no model judges, the rules alone have judged{' the rest' * bool(sentences)}: {self.problem}"
            )
        return "; ".join(sentences)


class ModelJudge:
    """Asks for one state folder. `done` sums up all questions since it was last set; the first failure ends them.

    `refusal` says why no question is asked at all.
    """

    def __init__(self, store: Store, config: EvolutionConfig, *, over: Callable[[], bool], refusal: str = "") -> None:
        self._store = store
        self._config = config
        self._over = over
        self._refusal = refusal
        self.done = JudgingTotals()

    def opinion(self, batches: Iterable[Batch], now: float) -> Opinion | None:
        """Return what the model objects to among what the rules let pass.

        None where `over` says that it is enough, or where the constitution does not hold any more: then nothing is to
        be written, and the same is read another time.
        """
        passed = self._passed(batches, now)
        config = load_config(self._store.layout)[0]
        against: dict[Key, str] = {}
        for begin in range(0, len(passed), MOST_CASES):
            if self.done.problem:
                break
            if self._over():
                return None
            self._ask(passed[begin : begin + MOST_CASES], config, against)
            if self._over() or read_constitution(self._store.layout).why:
                return None
        return Opinion(against, self.done.brain)

    def _passed(self, batches: Iterable[Batch], now: float) -> list[Observation]:
        """Return what would be accepted by the rules alone; nothing is written."""
        judging = CandidateGate(self._store.layout, self._config, dry_run=True)
        noted = Passed([])
        for candidates, held in batches:
            judging.take(candidates, ExtractionState(new=held.new), SessionReport(""), now, noted)
        return noted.seen

    def _ask(self, cases: list[Observation], config: Config, against: dict[Key, str]) -> None:
        refused = ReviewResult(problem=self._refusal)
        answer = refused if self._refusal else _answer(config, self._trial(cases), self._over)
        done = self.done
        done.usd += answer.usd
        done.tokens += answer.tokens
        done.brain = one_line(answer.brain, 80) or done.brain
        if answer.problem:
            done.problem = one_line(answer.problem, 300)
            return
        redact = gate_rules(self._store.layout).redact
        objections = {key_of(cases[number - 1]): redact(reason) for number, reason in answer.against.items()}
        done.asked += len(cases)
        done.against += len(objections)
        against |= objections

    def _trial(self, cases: list[Observation]) -> ReviewRequest:
        layout = self._store.layout
        redact = gate_rules(layout).redact
        files = dict.fromkeys(case.target for case in cases)
        standing = {file: redact(_newest(read_text(evolved.path_of(layout, file)) or "")) for file in files}
        return ReviewRequest(
            str(self._store.root),
            tuple(ReviewCase(str(case.kind), case.text, case.quote, str(case.trust), case.target) for case in cases),
            standing,
            redact(read_constitution(layout).approved)[: session_review.MOST_CONSTITUTION],
        )


def _newest(text: str) -> str:
    """Return the entries of a learnt file, one per line, without ids; the last ones if there are many."""
    lines = "\n".join(f"- {entry}" for entry in evolvedfiles.entries(text).values())
    return (
        lines
        if len(lines) <= session_review.MOST_STANDING
        else lines[-session_review.MOST_STANDING :].partition("\n")[2]
    )


def _answer(config: Config, trial: ReviewRequest, over: Callable[[], bool]) -> ReviewResult:
    """Run the process to its end, which is now where `over` says so."""
    return ask_process("judge", config, trial, ReviewResult, over)
