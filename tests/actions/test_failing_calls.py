"""Every verb, with each call on the state folder failing once and for good: nothing that is not there is acknowledged.

It ends in a sentence, the doctor mends what is left, and the verb can be carried out again.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import lumen_sweeps
import pytest
from lumen_failures import ERRORS

from lumen_tui.actions.registry import HANDLERS
from tests.actions.acts import Act
from tests.actions.random_acts import Stage


@pytest.mark.sweep(most=10)
@pytest.mark.fault(
    "R3", "the n-th call fails once and for good (ENOSPC, EIO, EACCES, EROFS, EMFILE, ENOLCK), every verb"
)
@pytest.mark.parametrize("verb", sorted(HANDLERS))
def test_a_call_that_fails_is_told_and_mended(
    verb: str, stage: Stage, tmp_path: Path, sampled, record_property
) -> None:
    act = Act(verb, stage, tmp_path)
    points = [
        (call, error, for_good)
        for call, kind in enumerate(act.calls_that_may_fail())
        for error in ERRORS[kind]
        for for_good in (False, True)
    ]
    outcomes = Counter(act.fail(call, error, for_good=for_good) for call, error, for_good in sampled(points, 3))
    record_property(lumen_sweeps.OUTCOMES, ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))
