from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from lumen_tui.actions import lanes
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import times
from lumen_tui.storage import files
from lumen_tui.store.work import work_units

CLAIMER = """
import sys
from pathlib import Path
from lumen_tui.actions.registry import named, perform
from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage.store import Store
store, who, unit = Store(Path(sys.argv[1])), sys.argv[2], sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
try:
    perform(store, named("wu.claim", {"wu_id": unit}), by=who, now=1_800_000_100.0)
    print("won")
except ActionError as error:
    print("lost", error)
"""


def holders(desk, lane="Framework: Core"):
    return json.loads(desk.layout.lane_lock(lane).read_text())["holders"]


def test_claim_takes_the_lane_and_a_full_lane_names_who_holds_it(desk):
    one, two = desk.unit(1), desk.unit(2)
    session = desk.do("session.start", wu_id=one).target
    desk.do("wu.claim", wu_id=one)
    (held,) = holders(desk)
    assert (held["wu_id"], held["by"], held["session_id"]) == (one, "ana", session)
    assert desk.layout.lane_lock("Framework: Core").name == "framework-core.lock"
    assert (desk.state(one).status, desk.state(one).claimed_by) == ("in_progress", "ana")
    before = desk.files()
    with pytest.raises(ActionError, match=r"full \(1 of 1\): WU-001 by ana"):
        desk.do("wu.claim", wu_id=two, by="bo")
    with pytest.raises(ActionError, match="held: WU-001 by ana"):
        desk.do("wu.claim", wu_id=one, by="bo")
    with pytest.raises(ActionError, match="yours already"):
        desk.do("wu.claim", wu_id=one)
    assert desk.files() == before
    desk.do("wu.claim", wu_id=desk.unit(3, "UI"), by="bo")
    assert [(holder.wu_id, holder.by) for holder in desk.page(two).lane_holders] == [(one, "ana")]


def test_the_limit_is_configurable_per_lane(desk):
    desk.settings('[lanes]\nwip = 1\nlimits = { "Framework: Core" = 2 }\n')
    for number in (1, 2):
        desk.do("wu.claim", wu_id=desk.unit(number))
    with pytest.raises(ActionError, match=r"2 of 2"):
        desk.do("wu.claim", wu_id=desk.unit(3))
    desk.do("wu.claim", wu_id=desk.unit(4, "UI"))
    with pytest.raises(ActionError, match=r"1 of 1"):
        desk.do("wu.claim", wu_id=desk.unit(5, "UI"))


def test_a_unit_in_progress_counts_without_its_lock_and_a_lock_without_its_unit_does_not(desk):
    one, two = desk.unit(1), desk.unit(2)
    desk.do("wu.claim", wu_id=one)
    desk.layout.lane_lock("Framework: Core").write_text("torn {")
    with pytest.raises(ActionError, match="WU-001 by ana"):
        desk.do("wu.claim", wu_id=two, by="bo")
    desk.do("wu.release", wu_id=one)
    files.replace(
        desk.layout.lane_lock("Framework: Core"),
        json.dumps({"holders": [{"lane": "Framework: Core", "wu_id": one, "by": "ghost"}]}).encode(),
    )
    desk.do("wu.claim", wu_id=two, by="bo")


@pytest.mark.parametrize(("old", "gone", "stale"), [(1, 1, True), (1, 0, False), (0, 1, False), (0, 0, False)])
def test_a_lock_is_stale_only_when_it_is_old_and_the_holder_is_gone(desk, old, gone, stale):
    one, two = desk.unit(1), desk.unit(2)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as holder:
        desk.do("wu.claim", wu_id=one, pid=holder.pid)
        assert holders(desk)[0]["pid"] == holder.pid
        if gone:
            holder.communicate(b"\n", timeout=20)
        desk.now += 25 * times.HOUR if old else times.HOUR
        if stale:
            desk.do("wu.claim", wu_id=two, by="bo")
            assert "taken over from ana" in _taken_over(desk, one)
        else:
            with pytest.raises(ActionError, match="full"):
                desk.do("wu.claim", wu_id=two, by="bo")
        if not gone:
            holder.communicate(b"\n", timeout=20)


def _taken_over(desk, wu_id):
    desk.do("wu.release", wu_id="WU-002", by="bo")
    return desk.do("wu.claim", wu_id=wu_id, by="bo").summary


def test_a_holder_without_a_process_is_gone_when_its_session_ended(desk):
    one, two = desk.unit(1), desk.unit(2)
    desk.do("session.start", wu_id=one)
    desk.do("wu.claim", wu_id=one)
    desk.now += 25 * times.HOUR
    with pytest.raises(ActionError, match="full"):
        desk.do("wu.claim", wu_id=two, by="bo")
    desk.do("session.end")
    desk.do("wu.claim", wu_id=two, by="bo")


def test_a_process_of_another_host_or_another_boot(desk):
    elsewhere = work_units.Holder(lane="x", wu_id="WU-1", pid=1, host="somewhere.else")
    assert not work_units.is_gone(desk.layout, elsewhere), "nothing is known about it"
    here = work_units.local_holder("x", "WU-1", by="a", since="", pid=os.getpid())
    assert not work_units.is_gone(desk.layout, here)
    before_reboot = work_units.Holder(**{**{n: getattr(here, n) for n in here.__struct_fields__}, "boot_id": "other"})
    assert work_units.is_gone(desk.layout, before_reboot)


def test_of_many_claims_at_once_the_limit_holds(desk):
    units = [desk.unit(number) for number in range(1, 7)]
    command = [sys.executable, "-c", CLAIMER, str(desk.root)]
    running = [
        subprocess.Popen([*command, f"agent{n}", unit], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n, unit in enumerate(units)
    ]
    for one in running:
        assert one.stdout.readline() == "ready\n"
    for one in running:
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.communicate(timeout=30)[0] for one in running]
    assert sum(text.startswith("won") for text in said) == 1
    assert sum("is full (1 of 1)" in text for text in said) == 5
    assert len(holders(desk)) == 1


@pytest.mark.parametrize("lane", ["Work", "roles", "Sessions", "OPERATOR", "///", "ünï"])
def test_no_lane_takes_the_programs_own_locks(desk, lane):
    one = desk.unit(1, lane)
    desk.do("wu.claim", wu_id=one)
    assert work_units.lane_holders(desk.layout, lane)[0].wu_id == one
    assert (desk.root / "locks" / "work.lock").read_bytes() == b""
    desk.do("wu.release", wu_id=one)
    assert work_units.lane_holders(desk.layout, lane) == []
    assert (desk.root / "locks" / "work.lock").exists()


def test_two_lanes_of_one_slug_keep_apart(desk):
    one, two = desk.unit(1, "Ä Core"), desk.unit(2, "Framework/Core/x")
    desk.do("wu.claim", wu_id=one)
    three = desk.do("wu.new", title="t", lane="Ö Core", id="WU-003").target
    desk.do("wu.claim", wu_id=three)
    assert {held["lane"] for held in holders(desk, "Ä Core")} == {"Ä Core", "Ö Core"}
    desk.do("wu.release", wu_id=one)
    assert [held["wu_id"] for held in holders(desk, "Ä Core")] == [three]
    assert desk.state(two).status == "ready"


def test_block_frees_the_lane_and_unblock_makes_it_ready(desk):
    one, two = desk.unit(1), desk.unit(2)
    desk.do("wu.claim", wu_id=one)
    with pytest.raises(ActionError, match="reason"):
        desk.do("wu.block", wu_id=one, reason=" ")
    desk.do("wu.block", wu_id=one, reason="no key")
    assert not desk.layout.lane_lock("Framework: Core").exists()
    desk.do("wu.claim", wu_id=two, by="bo")
    with pytest.raises(ActionError, match="no key"):
        desk.do("wu.claim", wu_id=one)
    with pytest.raises(ActionError, match="blocked"):
        desk.do("wu.done", wu_id=one)
    assert "no key" in "\n".join(lanes_of_page(desk, one))
    desk.do("wu.unblock", wu_id=one)
    assert (desk.state(one).status, desk.state(one).blocked_reason) == ("ready", "")


def lanes_of_page(desk, wu_id):
    from lumen_tui.actions import ready

    return ready.lines(desk.page(wu_id))


def test_unknown_fields_and_the_text_of_a_unit_survive_every_move(desk):
    one = desk.unit(1)
    path = desk.layout.work_unit(one)
    path.write_text(
        path.read_text().replace('priority = "P2"', 'priority = "P2"\nestimate = 5\n[extra]\na = [1]') + "\nProse.\n"
    )
    for verb, given in (("claim", {}), ("block", {"reason": "r"}), ("unblock", {}), ("claim", {}), ("done", {})):
        desk.do(f"wu.{verb}", wu_id=one, **given)
    text = path.read_text()
    assert "estimate = 5" in text
    assert "a = [" in text
    assert text.endswith("Prose.\n")


def test_done_stamps_frees_broadcasts_and_says_who(desk):
    one = desk.unit(41)
    desk.do("wu.claim", wu_id=one)
    desk.do("checkpoint.save", note="finished", wu_id=one)
    done = desk.do("wu.done", wu_id=one)
    assert "warning" not in done.summary
    stamp = json.loads((desk.root / "stamps" / "WU-041.done").read_text())
    (signal,) = desk.records(desk.layout.signals)
    assert (signal["type"], signal["wu_id"], signal["lane"]) == ("wu_completion", one, "Framework: Core")
    assert stamp["signal_id"] == signal["id"]
    assert desk.state(one).done_by == "ana"
    assert not desk.layout.lane_lock("Framework: Core").exists()
    with pytest.raises(ActionError, match="done already, by ana") as refused:
        desk.do("wu.done", wu_id=one)
    assert refused.value.missing
    assert len(desk.records(desk.layout.signals)) == 1


def test_done_that_was_cut_off_before_the_broadcast_makes_up_for_it_once(desk):
    one = desk.unit(41)
    desk.do("wu.done", wu_id=one)
    told = desk.records(desk.layout.signals)[0]["id"]
    desk.layout.signals.write_bytes(b"")
    assert "now the others are told" in desk.do("wu.done", wu_id=one).summary
    assert [signal["id"] for signal in desk.records(desk.layout.signals)] == [told]
    with pytest.raises(ActionError):
        desk.do("wu.done", wu_id=one)


@pytest.mark.parametrize(
    ("rule", "skip", "refused", "warned"),
    [("off", False, 0, 0), ("warn", False, 0, 1), ("warn", True, 0, 0), ("block", False, 1, 0), ("block", True, 0, 0)],
)
def test_the_done_gate(desk, rule, skip, refused, warned):
    desk.settings(f'[memory.enforcement]\nrequire_checkpoint_for_done = "{rule}"\n')
    one = desk.unit(41)
    desk.do("checkpoint.save", note="of an earlier attempt", wu_id=one)
    desk.do("wu.claim", wu_id=one)
    if refused:
        before = desk.files()
        with pytest.raises(ActionError, match="no checkpoint since it was claimed"):
            desk.do("wu.done", wu_id=one)
        assert desk.files() == before
        desk.do("checkpoint.save", note="now", wu_id=one)
    assert ("no checkpoint" in desk.do("wu.done", wu_id=one, no_checkpoint_check=skip).summary) == bool(warned)


def test_decay_runs_on_done_and_its_failure_never_stops_done(desk, monkeypatch):
    old = desk.do("node.create", content="long ago", type="note").target
    desk.now += 200 * times.DAY
    one, two, three = (desk.unit(number, "") for number in (1, 2, 3))
    desk.settings('[memory.decay]\ntrigger = "manual"\n')
    desk.do("wu.done", wu_id=one)
    assert "metadata" not in desk.node(old)
    desk.settings("")
    monkeypatch.setattr("lumen_tui.actions.decay.apply", _broken)
    assert "warning: decay did not run (boom)" in desk.do("wu.done", wu_id=two).summary
    assert desk.state(two).status == "done"
    monkeypatch.undo()
    desk.do("wu.done", wu_id=three)
    assert desk.node(old)["metadata"]["status"] == "archived"
    assert desk.do("undo").summary.startswith("undone: WU-003 done: unit 3")
    assert desk.node(old).get("metadata", {}) == {}, "what its decay archived comes back with it"


def _broken(*_, **__):
    raise RuntimeError("boom")


def test_undo_and_redo_of_claim_block_and_done_after_a_restart(desk):
    one = desk.unit(1)
    fresh = desk.files()["work/WU-001.md"]
    desk.do("wu.claim", wu_id=one)
    desk.do("wu.block", wu_id=one, reason="r")
    desk.do("undo")
    assert (desk.state(one).status, holders(desk)[0]["by"]) == ("in_progress", "ana")
    desk.do("wu.done", wu_id=one)
    assert work_units.read_stamp(desk.layout, one)
    desk.do("undo")
    assert (desk.state(one).status, work_units.read_stamp(desk.layout, one)) == ("in_progress", {})
    assert holders(desk)[0]["wu_id"] == one
    desk.do("redo")
    assert work_units.read_stamp(desk.layout, one)["done_by"] == "ana"
    desk.do("undo")
    desk.do("undo")
    assert desk.files()["work/WU-001.md"] == fresh
    assert not desk.layout.lane_lock("Framework: Core").exists()


def test_undo_refuses_where_the_lane_was_taken_or_the_unit_was_changed(desk):
    one, two = desk.unit(1), desk.unit(2)
    desk.do("wu.claim", wu_id=one)
    desk.do("wu.block", wu_id=one, reason="r")
    desk.do("wu.claim", wu_id=two, by="bo")
    with pytest.raises(ActionError, match="WU-002 by bo"):
        desk.do("undo")
    assert desk.state(one).status == "blocked"
    desk.do("wu.unblock", wu_id=one, by="cy")
    with pytest.raises(ActionError, match="changed since by cy"):
        desk.do("undo")


@pytest.mark.parametrize("verb", ["claim", "block", "release", "done"])
def test_where_the_journal_of_actions_fails_nothing_stays_changed(desk, verb):
    one = desk.unit(1)
    if verb in ("release", "done"):
        desk.do("wu.claim", wu_id=one)
    before = desk.files()
    desk.layout.actions.rename(desk.root / "kept")
    desk.layout.actions.symlink_to(desk.root / "elsewhere")
    with pytest.raises(files.StoreError):
        desk.do(f"wu.{verb}", wu_id=one, **({"reason": "r"} if verb == "block" else {}))
    desk.layout.actions.unlink()
    (desk.root / "kept").rename(desk.layout.actions)
    assert {name: data for name, data in desk.files().items() if not name.endswith("core.lock")} == {
        name: data for name, data in before.items() if not name.endswith("core.lock")
    }
    held = [holder.wu_id for holder in lanes.in_lane(desk.store, "Framework: Core")]
    assert held == ([one] if verb in ("release", "done") else [])
    assert [holder.wu_id for holder in work_units.lane_holders(desk.layout, "Framework: Core")] == held


def test_closing_a_blocker_unblocks(desk):
    one, two = desk.unit(1, "A"), desk.unit(2, "B")
    bug = desk.do("node.create", content="Race in the lock", type="bug", wu_id=two).target
    desk.do("relation.add", from_id=one, to_id=two, type="blocks")
    desk.do("relation.add", from_id=bug[:9], to_id=two, type="blocks")
    assert {blocker.id for blocker in desk.page(two).blockers} == {one, bug}
    with pytest.raises(ActionError, match="blocked by"):
        desk.do("wu.claim", wu_id=two)
    desk.do("wu.done", wu_id=one)
    desk.do("node.archive", node_ids=bug, reason="mended")
    assert desk.page(two).blockers == ()
    desk.do("wu.claim", wu_id=two)


def test_relations_are_checked_and_can_be_taken_away(desk):
    one, two, three = (desk.unit(number, "") for number in (1, 2, 3))
    desk.do("relation.add", from_id=one, to_id=two, type="blocks")
    desk.do("relation.add", from_id=two, to_id=three, type="blocks")
    before = desk.files()
    for given, said in (
        ((three, one, "blocks"), "circle"), ((one, one, "blocks"), "itself"), ((one, two, "blocks"), "already"),
        ((one, "WU-009", "blocks"), "no work unit"), ((one, "mem-x", "blocks"), "no node"),
        ((one, two, "block"), "one of"),
    ):  # fmt: skip
        with pytest.raises(ActionError, match=said):
            desk.do("relation.add", **dict(zip(("from_id", "to_id", "type"), given, strict=True)))
    assert desk.files() == before
    desk.do("relation.remove", from_id=one, to_id=two, type="blocks")
    assert desk.page(two).blockers == ()
    with pytest.raises(ActionError, match="there is no relation"):
        desk.do("relation.remove", from_id=one, to_id=two, type="blocks")
    assert len(desk.records(desk.layout.relationships)) == 3, "nothing is rewritten"
