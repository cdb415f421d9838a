"""Every verb, killed before each call that changes the state folder: what is there then is usable and complete."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import lumen_sweeps
import pytest

from lumen_tui.actions import edits
from lumen_tui.actions.registry import HANDLERS
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.model.records import Stage as ActionStage
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


def test_one_that_cannot_be_taken_back_still_counts_after_it_was_cut_off(desk):
    """Such as a cleanup of more than is kept: its signals are in the archive, and the journal must not deny it."""
    action = edits.new_action("cleanup.signals", (), summary="5 signals moved", by="ana", now=NOW, final="too large")
    if (child := os.fork()) == 0:
        with journal.Transaction(desk.store.layout) as transaction:
            transaction.announce(action)
            os._exit(0)
    os.waitpid(child, 0)
    cut_off = [one for one in examine(desk.store, now=NOW).findings if one.check == "unfinished actions"]
    assert [one.repaired for one in cut_off] == [""]
    examine(desk.store, now=NOW, fix=True)
    assert newest_action(desk.store).id == action.id
    assert newest_action(desk.store).stage == ActionStage.DONE
