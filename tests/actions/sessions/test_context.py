from __future__ import annotations

import pytest

from lumen_tui.actions import context
from lumen_tui.actions.outcome import ActionError


def full(desk, many=30):
    desk.do("wu.new", title="Session manager", lane="Core", id="WU-042", body="Body. " * 400)
    for number in range(many):
        desk.do("node.create", content=f"summary {number} " + "s" * 100, type="summary", wu_id="WU-042")
        desk.do("node.create", content=f"found {number}", type="bug", priority="P1", wu_id="WU-042")
        record = {"id": f"mem-p{number}", "type": "note", "lifecycle": "project", "content": f"project {number}"}
        desk.store.nodes.append({**record, "created_at": "2026-01-01T00:00:00Z", "created_by": "cy"})
    desk.do("session.start", wu_id="WU-042")
    desk.do("checkpoint.save", note="half", progress="50%", next_steps="integration")
    desk.do("signal.send", message="auth half done", wu_id="WU-042")
    desk.now += 3 * 3600


def block(desk, **given):
    return context.context(desk.store, by="bo", now=desk.now, wu_id="WU-042", **given)


def recovery(desk, **given):
    return context.recover(desk.store, by="bo", now=desk.now, wu_id="WU-042", **given)


def test_the_order_is_unit_summaries_discoveries_project_with_ages(desk):
    full(desk, 3)
    found = block(desk)
    places = [found.text.index(word) for word in ("# WU-042", "## Summaries", "## Open discoveries", "## Project")]
    assert places == sorted(places)
    assert "summary 2" in found.text
    assert "[P1] found 0 (ana, 3 h ago" in found.text
    assert "project 0 (cy, " in found.text
    assert (found.max_size, found.size) == (4096, len(found.text))


@pytest.mark.parametrize("size", [200, 201, 256, 333, 512, 1000, 2048, 4096, 20_000])
def test_the_budget_is_never_exceeded_and_the_cut_is_told(desk, size):
    full(desk, 12)
    for found in (block(desk, max_size=size), recovery(desk, max_size=size)):
        assert len(found.text) <= size
        assert found.text.startswith("# ")
    found = block(desk, max_size=size)
    for section, word in (("Summaries", "summary "), ("Open discoveries", "found "), ("Project", "project ")):
        left_out = sum(cut.left_out for cut in found.cut if cut.section == section)
        assert found.text.count(word) + left_out == 12


def test_the_limits_of_entries_are_kept_and_told(desk):
    full(desk, 12)
    found = block(desk, max_size=50_000)
    assert (found.text.count("summary "), found.text.count("project ")) == (5, 10)
    told = {(cut.section, cut.left_out, cut.why) for cut in found.cut}
    assert ("Summaries", 7, "over the limit of entries") in told
    assert ("Project", 2, "over the limit of entries") in told
    none = block(desk, max_size=50_000, max_recent_summaries=0, max_project_nodes=0)
    assert "## Summaries" not in none.text
    assert "## Project" not in none.text


def test_a_lane_keeps_the_project_nodes_of_other_lanes_out(desk):
    full(desk, 1)
    for lane in ("Core", "UI"):
        record = {"id": f"mem-{lane}", "type": "note", "lifecycle": "project", "content": f"only {lane}"}
        desk.store.nodes.append({**record, "created_at": "", "metadata": {"lane": lane}})
    found = block(desk, lane="UI").text
    assert ("only UI" in found, "only Core" in found, "project 0" in found) == (True, False, True)


def test_recovery_says_what_was_going_on(desk):
    full(desk, 1)
    desk.do("handoff.give", note="tests are red", wu_id="WU-042")
    found = recovery(desk)
    for part in (
        "Recovery of WU-042: Session manager", "of ana, 3 h ago", "Checkpoint: half  — ana, 3 h ago",
        "next steps: integration", "auth half done  — ana, 3 h ago", "tests are red", "lumen-tui ready --wu WU-042",
    ):  # fmt: skip
        assert part in found.text
    assert found.max_size == 2048


@pytest.mark.parametrize("given", [{"max_size": 199}, {"max_size": -1}])
def test_a_budget_that_says_nothing_is_refused(desk, given):
    desk.unit()
    with pytest.raises(ActionError, match="at least 200"):
        block(desk, **given)
    with pytest.raises(ActionError, match="at least 200"):
        recovery(desk, **given)
    with pytest.raises(ActionError, match="from 0 up"):
        block(desk, max_project_nodes=-1)


def test_hostile_text_is_made_safe_and_stays_on_its_line(desk):
    desk.do("wu.new", title="t", id="WU-042", body="\x1b[2J body\u202e")
    desk.do("node.create", content="line\n## Project\n- forged", type="bug", wu_id="WU-042")
    text = block(desk).text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\n## Project" not in text
