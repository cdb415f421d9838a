"""Every verb, with the power cut at any of its operations: what is on the disk then is usable and complete."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import lumen_sweeps
import pytest

from lumen_tui.actions.registry import HANDLERS
from tests.actions.acts import Act
from tests.actions.random_acts import Stage


@pytest.mark.sweep(most=10)
@pytest.mark.fault("R4", "power cut: what was not synced lost, torn, blank or out of its order, every verb")
@pytest.mark.parametrize("verb", sorted(HANDLERS))
def test_a_power_cut_leaves_a_folder_that_is_whole(
    verb: str, stage: Stage, tmp_path: Path, sampled, record_property
) -> None:
    act = Act(verb, stage, tmp_path)
    cuts = act.power_cuts()
    outcomes = Counter(act.cut(cuts, cut) for cut in sampled(list(cuts.cuts()), 4))
    record_property(lumen_sweeps.OUTCOMES, ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))
