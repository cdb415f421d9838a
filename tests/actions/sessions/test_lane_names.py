"""One lane has one name, however it is written; a slip is asked back by every verb that takes a lane."""

from __future__ import annotations

import pytest
from lumen_rows import each_row

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import lanes

SLIPS = ("Coer", "Cor", "Coree", "C ore", "Core:")
OTHERS = ("Code", "UI", "Core 2", "Team A", "Docs")


@each_row("slip", SLIPS)
def test_a_slip_is_one(slip):
    assert lanes.is_slip(slip, "Core")


@each_row(("one", "two"), [("Team A", "Team B"), ("Core 1", "Core 2"), ("UI", "UX"), *[(o, "Core") for o in OTHERS]])
def test_names_that_differ_on_purpose_are_two_lanes(one, two):
    assert not lanes.is_slip(one, two)
    assert not lanes.is_slip(two, one)


def test_case_and_blanks_make_no_other_lane(desk):
    one, two = desk.unit(1, "Framework: Core"), desk.unit(2, "framework:  core")
    assert desk.state(two).lane == "Framework: Core"
    desk.do("wu.claim", wu_id=one)
    with pytest.raises(ActionError, match=r"full \(1 of 1\): WU-001"):
        desk.do("wu.claim", wu_id=two, lane="FRAMEWORK: CORE")


def test_lanes_of_two_spellings_from_before_are_one(desk):
    """Files that an earlier version wrote, or a person by hand."""
    one, two = desk.unit(1, "Core"), desk.unit(2, "UI")
    path = desk.layout.work_unit(two)
    path.write_text(path.read_text().replace('lane = "UI"', 'lane = "core"'))
    desk.do("wu.claim", wu_id=one)
    with pytest.raises(ActionError, match="full"):
        desk.do("wu.claim", wu_id=two)
    desk.do("wu.release", wu_id=one)
    desk.do("wu.claim", wu_id=two)
    with pytest.raises(ActionError, match="full"):
        desk.do("wu.claim", wu_id=one)


def test_a_limit_holds_for_the_lane_however_it_is_written(desk):
    desk.settings('[lanes]\nlimits = { "core" = 2 }\n')
    for number in (1, 2):
        desk.do("wu.claim", wu_id=desk.unit(number, "Core"))
    with pytest.raises(ActionError, match="2 of 2"):
        desk.do("wu.claim", wu_id=desk.unit(3, "CORE"))


VERBS = (
    ("wu", "new", "x", "--lane"), ("wu", "claim", "WU-002", "--lane"), ("task", "new", "x", "--lane"),
    ("signal", "x", "--lane"), ("inbox", "--lane"), ("mem:signal", "x", "--lane"),
)  # fmt: skip


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
@pytest.mark.parametrize("known_by", ["a work unit", "the settings"])
def test_every_verb_asks_a_slip_back(shell, words, known_by):
    if known_by == "a work unit":
        shell.ok("wu", "new", "a", "--lane", "Core", "--id", "WU-001")
    else:
        (shell.root / "lumen.toml").write_text('[lanes]\nlimits = { "Core" = 2 }\n')
    shell.ok("wu", "new", "b", "--id", "WU-002")
    ran = shell(*words, "Coer")
    assert (ran.returncode, "did you mean: Core" in ran.stderr) == (2, True), ran.stderr
    assert shell(*words, "core").returncode == 0, "another case is the same lane"
    if "claim" in words:
        shell.ok("wu", "release", "WU-002")
    assert shell(*words, "Docs").returncode == 0, "a lane of its own may be new"


def test_a_promoted_discovery_goes_to_the_known_lane(shell):
    shell.ok("wu", "new", "a", "--lane", "Core", "--id", "WU-001")
    found = shell.ok("create", "a race")
    assert "did you mean: Core" in shell("triage", "--promote", found, "--lane", "Coer").stderr
    shell.ok("triage", "--promote", found, "--lane", "core")
    assert shell.json("wu", "show", "WU-002")["lane"] == "Core"


def test_a_lane_that_is_really_called_so_is_named_in_the_settings(shell):
    shell.ok("wu", "new", "a", "--lane", "Core")
    (shell.root / "lumen.toml").write_text('[lanes]\nlimits = { "Coer" = 1 }\n')
    shell.ok("wu", "new", "b", "--lane", "Coer")
    assert {one["lane"] for one in shell.json("wu", "list")} == {"Core", "Coer"}


def test_the_lane_filters_take_any_case(shell):
    shell.ok("wu", "new", "a", "--lane", "Core")
    shell.ok("signal", "x", "--lane", "Core")
    assert len(shell.json("inbox", "--lane", "core", "--no-mark")) == 1
    assert len(shell.json("wu", "list", "--lane", "CORE")) == 1


def test_a_task_has_the_lane_of_its_work_unit(shell):
    shell.ok("wu", "new", "a", "--lane", "Core", "--id", "WU-001")
    shell.ok("task", "new", "look", "--wu", "WU-001")
    assert [one["lane"] for one in shell.json("task", "list")] == ["Core"]
