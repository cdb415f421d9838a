"""Cases: the split follows from the work unit alone, and a line that somebody wrote is used only where it fits."""

from __future__ import annotations

import msgspec
import pytest

from lumen_tui.model.evals import (
    MOST_LINE,
    EvalCase,
    Expectation,
    Split,
    case_id,
    decode_case,
    fault,
    split_of,
    trust_of,
    unit_of,
)
from lumen_tui.model.evolution import Trust
from lumen_tui.model.tasks import Spec


def a_case(**fields: object) -> EvalCase:
    plain: dict[str, object] = {
        "id": case_id("tsk-a", 1, 0),
        "at": "2026-11-20T10:00:00Z",
        "unit": "WU-001",
        "task": "tsk-a",
        "attempt": 1,
        "step": 0,
        "expect": "hold",
        "role": "builder",
        "trust": "agent",
    }
    return msgspec.convert({**plain, **fields}, EvalCase)


def test_splits_have_their_shares_and_a_unit_stays_in_its_own() -> None:
    splits = [split_of(f"WU-{number:03}") for number in range(3_000)]
    shares = {split: splits.count(split) / 3_000 for split in Split}
    assert shares == pytest.approx({Split.TRAIN: 0.4, Split.GATE: 0.4, Split.FINAL: 0.2}, abs=0.03)
    assert {split_of("WU-007") for _ in range(5)} == {split_of("WU-007")}


def test_siblings_are_one_unit() -> None:
    def unit(**fields: object) -> str:
        return unit_of(msgspec.convert({"id": "tsk-a", "objective": "", **fields}, Spec))

    assert unit(wu_id="WU-004", objective="one") == unit(wu_id="WU-004", objective="another") == "WU-004"
    assert unit(objective="Look through night 12") == unit(objective="look  through NIGHT 13")
    assert unit(objective="look through nights") != unit(objective="look through days")


def test_a_split_cannot_be_written_into_a_line() -> None:
    line = msgspec.json.encode({**msgspec.to_builtins(a_case()), "split": "train"})
    case = decode_case(line)
    assert case is not None
    assert case.split is split_of("WU-001")


def test_what_a_worker_ordered_for_itself_decides_nothing() -> None:
    assert trust_of(Spec("tsk-a", "x", order=True)) is Trust.PERSON
    assert trust_of(Spec("tsk-a", "x", created_by="main")) is Trust.AGENT
    assert trust_of(Spec("tsk-a", "x", order=True, parent="tsk-b")) is Trust.WORKER
    assert not a_case(trust="worker").counts
    assert not a_case(trust="web").counts
    assert a_case(trust="agent").counts
    assert not a_case(dropped=True, trust="person").counts


HOSTILE = {
    "another id": {"id": "cas-0000000000000"},
    "a path as unit": {"unit": "../../etc"},
    "words as unit": {"unit": "objective of mine"},
    "a path as task": {"task": "../tsk-b", "id": case_id("../tsk-b", 1, 0)},
    "a path as role": {"role": "../builder"},
    "an escape": {"words": "\x1b]52;c;aGk=\x07"},
    "a reversal": {"words": "safe \u202e evas"},
    "many words": {"words": "x" * 301},
    "a long author": {"by": "x" * 101},
    "no attempt": {"attempt": 0, "id": case_id("tsk-a", 0, 0)},
    "a step back": {"step": -1, "id": case_id("tsk-a", 1, -1)},
    "no time": {"at": "soon"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_line_that_does_not_fit_is_not_used(name: str) -> None:
    case = a_case(**HOSTILE[name])
    assert fault(case)
    assert decode_case(msgspec.json.encode(case)) is None


def test_a_line_that_is_too_long_is_not_read() -> None:
    padded = msgspec.json.encode({**msgspec.to_builtins(a_case()), "note": "x" * MOST_LINE})
    assert decode_case(padded) is None
    assert decode_case(msgspec.json.encode(a_case())) == a_case()


def test_the_digest_is_of_what_is_measured_alone() -> None:
    assert a_case().digest == a_case(must=True, words="other", trust="person").digest
    assert a_case().digest != a_case(expect=str(Expectation.PASS)).digest
