"""Suites: made of recorded work, read by split, marked by a person, and taken back."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from lumen_folder import StateFolder

from lumen_tui.__main__ import main
from lumen_tui.actions import evals
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.evals import MOST_CASES, SUITE, EvalCase, Expectation, Split, case_id, split_of
from lumen_tui.model.evolution import Trust
from lumen_tui.store.evolution import suites
from lumen_tui.store.evolution.suites import SuiteReader

NOW = 1_800_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    made = StateFolder(tmp_path / "state", NOW)
    made.layout.create()
    return made


def cases(count: int, **fields: object) -> list[EvalCase]:
    """Cases of as many work units."""
    made = [
        EvalCase(
            case_id(f"tsk-{number}", 1, 0), "2026-11-20T10:00:00Z", f"WU-{number:03}", f"tsk-{number}", 1, 0,
            Expectation.HOLD, Trust.AGENT, role="builder",
        )
        for number in range(count)
    ]  # fmt: skip
    return [msgspec.structs.replace(case, **fields) for case in made]


def test_the_gate_never_gets_a_case_of_the_final_split(folder: StateFolder) -> None:
    evals.keep(folder.layout, SUITE, cases(200), by="ana", now=NOW)
    units = {
        split: {case.unit for case in SuiteReader(folder.layout, SUITE, split).cases()}
        for split in Split
        if split is not Split.FINAL
    }
    assert all(split_of(unit) is split for split, found in units.items() for unit in found)
    assert not units[Split.GATE] & units[Split.TRAIN]
    assert len(units[Split.GATE]) > 50
    with pytest.raises(ValueError, match="for a person alone"):
        SuiteReader(folder.layout, SUITE, Split.FINAL)


def test_a_line_that_claims_another_split_or_trust_of_its_own_changes_nothing(folder: StateFolder) -> None:
    final = next(case for case in cases(50) if case.split is Split.FINAL)
    line = {**msgspec.to_builtins(final), "split": "gate"}
    path = suites.path_of(folder.layout, SUITE)
    path.write_bytes(json.dumps(line).encode() + b"\n" + b'{"id":"cas-torn"')
    assert suites.cases(folder.layout, SUITE)[final.id] == final
    assert SuiteReader(folder.layout, SUITE, Split.GATE).cases() == []


def test_the_gate_gets_neither_dropped_cases_nor_those_of_a_workers_own_tasks(folder: StateFolder) -> None:
    trusted, own = cases(60)[:30], cases(60, trust=Trust.WORKER)[30:]
    evals.keep(folder.layout, SUITE, [*trusted, *own], by="ana", now=NOW)
    read = SuiteReader(folder.layout, SUITE, Split.GATE).cases()
    assert {case.id for case in read} == {case.id for case in trusted if case.split is Split.GATE}
    first = read[-1]
    folder.do("evolution.mark", ids=first.id, must=True)
    assert SuiteReader(folder.layout, SUITE, Split.GATE).cases()[0].id == first.id
    folder.do("evolution.mark", ids=first.id, dropped=True)
    assert first.id not in {case.id for case in SuiteReader(folder.layout, SUITE, Split.GATE).cases()}


def test_a_person_who_marks_a_case_vouches_for_it(folder: StateFolder) -> None:
    (own,) = cases(1, trust=Trust.WORKER)
    evals.keep(folder.layout, SUITE, [own], by="ana", now=NOW)
    folder.do("evolution.mark", ids=own.id, must=True)
    marked = suites.cases(folder.layout, SUITE)[own.id]
    assert (marked.must, marked.trust, marked.by, marked.counts) == (True, Trust.PERSON, "ana", True)
    folder.do("undo")
    assert suites.cases(folder.layout, SUITE)[own.id].trust is Trust.WORKER


def test_what_was_collected_is_taken_back_and_done_again_as_one(folder: StateFolder) -> None:
    evals.keep(folder.layout, SUITE, cases(3), by="ana", now=NOW)
    folder.do("undo")
    assert all(case.dropped for case in suites.cases(folder.layout, SUITE).values())
    folder.do("redo")
    assert not any(case.dropped for case in suites.cases(folder.layout, SUITE).values())


def test_the_same_case_is_taken_in_once_and_a_full_suite_takes_none(folder: StateFolder) -> None:
    evals.keep(folder.layout, SUITE, cases(2), by="ana", now=NOW)
    with pytest.raises(ActionError, match="has a case that is not in the suite"):
        evals.keep(folder.layout, SUITE, cases(2), by="ana", now=NOW)
    with pytest.raises(ActionError, match="at most"):
        evals.keep(folder.layout, SUITE, cases(MOST_CASES + 1), by="ana", now=NOW)
    assert len(suites.cases(folder.layout, SUITE)) == 2


@pytest.mark.parametrize("name", ["../x", "a/b", "", "-x", "A"])
def test_a_suite_is_no_path(folder: StateFolder, name: str) -> None:
    with pytest.raises(ValueError, match="suite"):
        suites.cases(folder.layout, name)
    assert main(["--state", str(folder.root), "evolve", "cases", f"--suite={name}"]) == 2


def test_nothing_is_said_of_a_mark_that_changes_nothing(folder: StateFolder) -> None:
    evals.keep(folder.layout, SUITE, cases(1), by="ana", now=NOW)
    (case,) = suites.cases(folder.layout, SUITE).values()
    for arguments in ({"ids": case.id}, {"ids": case.id, "must": False}, {"ids": "nothing", "must": True}):
        with pytest.raises(ActionError):
            folder.do("evolution.mark", **arguments)
