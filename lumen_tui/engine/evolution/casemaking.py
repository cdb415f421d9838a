"""Cases made of recorded work: what each task that is over shows of the gate.

Three kinds of moments say what should have been decided. Where the checks of an attempt were run, its claim was true or
not: the gate should have let it end, or have held it. Where a person was asked about a call, the answer says it. Where
memory was searched, what was read whole after that is what was looked for, whether the search had shown it or not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import structs

from lumen_tui.model.acceptance import Verdict
from lumen_tui.model.evals import EvalCase, Expectation, case_id, trust_of, unit_of
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import task_files

if TYPE_CHECKING:
    from lumen_tui.worker.replay.rejudging import Rejudged, RejudgedCall
    from lumen_tui.worker.replay.run import Surroundings

_TRIES = 3  # searches in a row that may have been for the same
_MOST_QUERY = 300  # characters, as the tool takes them
_ENDS = {Verdict.PROVED: Expectation.PASS, Verdict.DISPROVED: Expectation.HOLD}


def surroundings(stopped: Callable[[], bool] = bool) -> Surroundings:
    """Return what judging needs of this process."""
    from lumen_tui.worker.replay.run import Surroundings

    return Surroundings(os.environ, time.time, time.monotonic, stopped=stopped)


def rejudged(store: Store, task: str, stopped: Callable[[], bool] = bool) -> Rejudged | None:
    """Return what the gate decides on a task under its own role; None where its record is of no use."""
    from lumen_tui.worker.replay.rejudging import RecordedTask  # all that tasks can do: 60 ms
    from lumen_tui.worker.replay.run import NotReplayable

    try:
        recorded = RecordedTask(store, task, surroundings(stopped))
        return recorded.under(recorded.role)
    except (NotReplayable, OSError):
        return None  # `replay TASK` says why


def collect(store: Store, tasks: Iterable[str], now_text: str) -> Iterator[EvalCase]:
    """Yield the cases of tasks that are over; those that run, or whose record is of no use, have none."""
    for task in tasks:
        folder = task_files.folder_of(store.layout, task)
        if folder is None or not task_files.status_of(folder).ended:
            continue
        judged = rejudged(store, task)
        if judged is not None:
            yield from cases_of(judged, now_text)


def cases_of(judged: Rejudged, now_text: str) -> Iterator[EvalCase]:
    """Yield the cases of one task."""
    for end in judged.ends:
        if end.verdict in _ENDS:
            words = f"attempt {end.attempt} said it was done: {end.verdict}"
            yield _case(judged, end.attempt, 0, _ENDS[end.verdict], words, now_text)
    for call in judged.calls:
        if call.answered is not None:
            expect = Expectation.PASS if call.answered else Expectation.HOLD
            words = f"{call.words}: {'allowed' if call.answered else 'refused'} by a person"
            yield _case(judged, call.attempt, call.number, expect, words, now_text)
    yield from _searches(judged, now_text)


def _searches(judged: Rejudged, now_text: str) -> Iterator[EvalCase]:
    """Yield the searches of a task that led to something that was read; the last few before it were for that."""
    for attempt in dict.fromkeys(call.attempt for call in judged.calls):
        pending: list[RejudgedCall] = []
        for call in judged.calls:
            if call.attempt != attempt:
                continue
            if call.query:
                pending = [*pending, call][-_TRIES:]
            elif call.read:
                for search in pending:
                    yield _found(judged, search, call.read, now_text)
                pending = []


def _found(judged: Rejudged, search: RejudgedCall, answer: str, now_text: str) -> EvalCase:
    query = one_line(search.query, _MOST_QUERY)
    words = f"{query}: {answer} was read"
    case = _case(judged, search.attempt, search.number, Expectation.FIND, words, now_text)
    return structs.replace(case, query=query, answer=answer)


def _case(judged: Rejudged, attempt: int, step: int, expect: Expectation, words: str, now_text: str) -> EvalCase:
    spec = judged.spec
    return EvalCase(
        case_id(spec.id, attempt, step),
        now_text,
        unit_of(spec),
        spec.id,
        attempt,
        step,
        expect,
        trust=trust_of(spec),
        role=spec.role,
        words=one_line(words, 200),
    )
