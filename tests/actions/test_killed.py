"""Every verb, killed before each call that changes the state folder: what is there then is usable and complete."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import lumen_sweeps
import pytest

from lumen_tui.actions.registry import HANDLERS
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.store.audit import journal
from tests.actions import random_acts
from tests.actions.acts import OWN, Act, newest_action
from tests.actions.conftest import NOW
from tests.actions.random_acts import Stage


def test_every_verb_has_arguments():
    differing = set(HANDLERS) ^ {*random_acts.VERBS, *OWN}
    assert not differing, f"tests/actions/random_acts.py has no arguments for a verb, or for one too many: {differing}"


@pytest.mark.fault("R1", "SIGKILL before each call that changes the folder, every verb")
@pytest.mark.sweep(most=14)
@pytest.mark.parametrize("verb", sorted(HANDLERS))
def test_a_killed_verb_leaves_a_folder_that_is_whole(verb: str, stage: Stage, tmp_path: Path, sampled, record_property):
    act = Act(verb, stage, tmp_path)
    outcomes = Counter(act.kill(call) for call in sampled(list(range(len(act.calls))), 3))
    record_property(lumen_sweeps.OUTCOMES, ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))


def test_an_action_that_is_being_done_by_somebody_alive_is_left_alone(desk):
    node = desk.discovery()
    action = newest_action(desk.store)
    with journal.Transaction(desk.store.layout) as transaction:
        transaction.announce(action)
        assert journal.open_entries(desk.store.layout) == []
        assert not [one for one in examine(desk.store, now=NOW).findings if one.check == "unfinished actions"]
    assert desk.node(node)
