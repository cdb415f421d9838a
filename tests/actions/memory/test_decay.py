from __future__ import annotations

import json
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumen_tui.actions import decay as decay_actions
from lumen_tui.actions.decay import ArchiveCandidate
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import decay, times
from lumen_tui.model.decay import Aging, DecayRule
from lumen_tui.store.memory.node_index import AgeIndex

DAY = 86400.0
LIFE = 30 * math.log2(10) * DAY  # 99.66 days
BEFORE, AFTER = math.floor(LIFE), math.floor(LIFE) + 1


def test_a_default_node_leaves_at_99_66_days_to_the_second(desk):
    born = desk.now
    node = desk.add()
    view = desk.index()
    assert times.iso(view.fading(DecayRule(), born)[0].fades_at) == times.iso(born + LIFE)
    desk.now = born + BEFORE
    assert desk.index().decay_view(DecayRule(), desk.now).due == 0
    assert desk.do("decay.apply").action_id == ""
    assert desk.status(node) == "open"
    desk.now = born + AFTER
    assert desk.index().decay_view(DecayRule(), desk.now).due == 1
    assert desk.do("decay.apply").summary == "1 node archived"
    assert desk.status(node) == "archived"
    assert round(LIFE / DAY, 2) == 99.66


def test_the_record_is_as_documented_and_nothing_else_of_it_changes(desk):
    node = desk.add(age=101, later_field={"kept": [1, None]}, tags=["x"])
    before = desk.node(node)
    desk.do("decay.apply")
    after = desk.node(node)
    said = after["metadata"]["decay"]
    assert said["reason"] == "Score 0.0969 below threshold 0.1"
    assert round(said["score"], 4) == 0.0969
    assert said["computed_at"] == after["metadata"]["archived_at"] == times.iso(desk.now)
    assert {key: after[key] for key in before} == before


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("summary", {}),
        ("note", {"lifecycle": "project"}),
        ("note", {"metadata": {"pinned": True}}),
        ("checkpoint", {"metadata": {"sensitive": True}}),
        ("discovery", {}),
        ("discovery", {"metadata": {"status": "open", "priority": "P3"}}),
        ("session", {"session_id": "ses-1"}),
    ],
)
def test_what_is_protected_never_leaves(desk, kind, more):
    node = desk.add(kind, age=4000, **more)
    for verb, words in (("decay.apply", {}), ("cleanup.nodes", {"ttl": "1d", "decay": True})):
        assert desk.do(verb, **words).action_id == ""
    assert desk.status(node) == "open"


def test_an_ended_session_leaves(desk):
    node = desk.add("session", age=101, metadata={"ended_at": times.iso(desk.now - 101 * DAY)})
    desk.do("decay.apply")
    assert desk.status(node) == "archived"


def test_undo_and_unarchive_bring_back(desk):
    one, two = desk.add(age=101), desk.add(age=102)
    before = [desk.node(node) for node in (one, two)]
    desk.do("decay.apply")
    desk.do("undo")
    assert [{**desk.node(node), "updated_at": 0, "updated_by": 0} for node in (one, two)] == [
        {**node, "metadata": {}, "updated_at": 0, "updated_by": 0} for node in before
    ]
    desk.do("redo")
    assert desk.status(one) == "archived"
    desk.do("node.unarchive", node_ids=one)
    assert desk.status(one) == "open"
    assert desk.do("decay.apply").action_id == "", "its age counts from the un-archiving"


def test_a_touch_keeps_a_node_and_rewrites_nothing(desk):
    node = desk.add(age=101)
    before = desk.layout.memory.read_bytes()
    desk.do("decay.touch", node_ids=node)
    assert desk.do("decay.apply").action_id == ""
    assert desk.layout.memory.read_bytes() == before
    assert json.loads(desk.layout.touches.read_bytes())["node_id"] == node


def test_what_is_touched_or_changed_between_the_look_and_the_lock_stays(desk):
    touched, pinned, leaves = desk.add(age=101), desk.add(age=101), desk.add(age=101)
    asked = []

    def plan(index: AgeIndex) -> list[ArchiveCandidate]:
        rows = index.untouched_since(decay.due_before(DecayRule(), desk.now))
        found = [ArchiveCandidate(row.node_id, row.touched, "old", 0.05) for row in rows]
        if not asked:
            desk.do("decay.touch", node_ids=touched)
            desk.do("decay.pin", node_ids=pinned)
        asked.append(len(found))
        return found

    decay_actions.archive_candidates(desk.store, desk.index(), plan, verb="decay.apply", by="ana", now=desk.now)
    assert asked == [3, 1]
    assert [desk.status(node) for node in (touched, pinned, leaves)] == ["open", "open", "archived"]


@pytest.mark.fault("R8", "a clock that jumps under an engine: no beat repeated, nothing archived")
@pytest.mark.parametrize("seconds", [-3599, -1, 0, 1800, 3599])
def test_nothing_leaves_within_an_hour_of_a_clock_jump(desk, seconds):
    node = desk.add(age=101)
    desk.clock_jump(desk.now - seconds)
    before = desk.files()
    for verb in ("decay.apply", "cleanup.nodes", "cleanup.signals"):
        with pytest.raises(ActionError, match="the clock jumped"):
            desk.do(verb)
    assert desk.files() == before
    desk.do("decay.apply", force=True)
    assert desk.status(node) == "archived"


@pytest.mark.fault("R8", "a clock that jumps under an engine: no beat repeated, nothing archived")
def test_an_hour_after_a_jump_decay_goes_on_and_a_rotated_journal_still_counts(desk):
    desk.add(age=101)
    desk.clock_jump(desk.now - 3601)
    assert desk.do("decay.apply").action_id
    desk.add(age=101)
    desk.clock_jump(desk.now - 10)
    os.rename(desk.layout.events, desk.root / "events.1.jsonl")
    with pytest.raises(ActionError, match="the clock jumped"):
        desk.do("decay.apply")


@given(
    ages=st.lists(st.floats(-10, 400), max_size=12),
    half_life=st.floats(0.5, 400),
    threshold=st.floats(0.001, 0.999),
    ahead=st.floats(0, 400),
)
def test_the_forecast_is_ordered_and_due_means_below_the_threshold(ages, half_life, threshold, ahead):
    rule, now = DecayRule(half_life, threshold), 1_800_000_000.0
    at = now + ahead * DAY
    fates = decay.forecast([Aging(f"mem-{n}", now - age * DAY) for n, age in enumerate(ages)], rule, at)
    assert [fate.fades_at for fate in fates] == sorted(fate.fades_at for fate in fates)
    assert sum(fate.due for fate in fates) == len([fate for fate in fates if fate.touched < decay.due_before(rule, at)])
    for fate in fates:
        if abs(fate.fades_at - at) > 1:
            assert fate.due == (fate.score < threshold) == (fate.fades_at < at)
        assert fate.score == decay.score(at - fate.touched, rule)


@pytest.mark.parametrize(("half_life", "threshold"), [(30, 0.1), (7, 0.5), (90, 0.01), (1, 0.9)])
def test_the_forecast_the_pane_and_the_command_name_the_same_nodes(desk, half_life, threshold):
    made = {desk.add(age=age): age for age in (0, 0.5, 1, 6.9, 7.1, 30, 99.6, 99.7, 300, 598, 900)}
    rule = DecayRule(half_life, threshold)
    index = desk.index()
    rows = index.untouched_since(math.inf)
    expected = {fate.node_id for fate in decay.forecast(rows, rule, desk.now) if fate.due}
    assert len(expected) == index.decay_view(rule, desk.now).due
    assert {row.node_id for row in index.fading(rule, desk.now) if row.fades_at < desk.now} == expected
    desk.do("decay.apply", half_life_days=half_life, threshold=threshold)
    assert {node for node in made if desk.status(node) == "archived"} == expected
    assert 0 < len(expected) < len(made)


def test_the_command_looks_first_and_then_does_it(desk, cli):
    node = desk.add(age=101)
    desk.add(age=99)
    before = desk.files()
    code, out, _ = cli("decay", "--dry-run", "--json")
    told = json.loads(out)
    assert (code, [one["id"] for one in told["nodes"]], told["dry_run"]) == (0, [node], True)
    assert told["nodes"][0]["last_touch"] == times.iso(desk.now - 101 * DAY)
    assert desk.files() == before
    assert len(json.loads(cli("decay", "--dry-run", "--at", "2d", "--json")[1])["nodes"]) == 2
    assert len(json.loads(cli("decay", "--dry-run", "--at", "2999-01-01", "--json")[1])["nodes"]) == 2
    assert json.loads(cli("decay", "--dry-run", "--half-life", "60d", "--json")[1])["nodes"] == []
    assert desk.files() == before
    code, out, _ = cli("decay", "--json")
    assert (code, json.loads(out)["summary"]) == (0, "1 node archived")
    assert cli("decay")[0] == 3
    assert cli("undo")[0] == 0
    assert desk.status(node) == "open"


@pytest.mark.parametrize(
    "words",
    [
        ["--at", "soon", "--dry-run"],
        ["--at", "2999-01-01"],
        ["--half-life", "x"],
        ["--half-life", "-3"],
        ["--threshold", "1"],
        ["--threshold", "-0.5"],
        ["set"],
        ["set", "--threshold", "7"],
        ["sett"],
    ],
)
def test_bad_words_write_nothing(desk, cli, words):
    desk.add(age=101)
    before = desk.files()
    assert cli("decay", *words)[0] == 2
    assert desk.files() == before


def test_settings_are_written_told_and_taken_back(desk, cli):
    desk.layout.operator.write_text('[room]\ntheme = "paper"\n')
    assert cli("decay", "set", "--half-life", "45", "--threshold", "0.2")[:2] == (
        0, "memory.decay.half_life_days 30 → 45; memory.decay.threshold 0.1 → 0.2\n",
    )  # fmt: skip
    assert 'theme = "paper"' in desk.layout.operator.read_text()
    desk.add(age=101)
    assert json.loads(cli("decay", "--dry-run", "--json")[1])["rule"] == {"half_life_days": 45.0, "threshold": 0.2}
    assert cli("undo")[0] == 0
    assert json.loads(cli("decay", "--dry-run", "--json")[1])["rule"] == {"half_life_days": 30.0, "threshold": 0.1}
    desk.do("redo")
    desk.do("setting.change", changes={"memory.decay.threshold": 0.3}, by="bo")
    with pytest.raises(ActionError, match="changed since by bo"):
        desk.do("undo")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"memory.decay.treshold": 0.2},
        {"memory.decay": 3},
        {"memory.decay.threshold": "low"},
        {"memory.decay.threshold": 2.0},
        {"memory.decay.half_life_days": 0},
        {"memory.decay.enabled": "yes"},
        {"nothing": 1},
    ],
)
def test_settings_that_make_no_sense_are_refused(desk, changes):
    before = desk.files()
    with pytest.raises(ActionError):
        desk.do("setting.change", changes=changes)
    assert desk.files() == before


def test_a_slip_in_a_setting_is_named(desk):
    with pytest.raises(ActionError) as refused:
        desk.do("setting.change", changes={"memory.decay.treshold": 0.2})
    assert "memory.decay.threshold" in refused.value.candidates
