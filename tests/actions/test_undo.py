from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.tasks import Exit, Status
from lumen_tui.storage import files, locks
from lumen_tui.store.audit import journal
from lumen_tui.store.settings.roles import load_role
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_files import read_spec
from lumen_tui.store.work import work_units


def state_of(desk, node_id: str) -> str:
    return desk.node(node_id).get("metadata", {}).get("status", "open")


def test_undo_after_a_restart_takes_a_promote_back(desk):
    node = desk.discovery()
    before = desk.node(node)
    desk.do("triage.promote", node_ids=node, lane="Core")
    desk.restart()
    desk.do("undo")
    after = desk.node(node)
    assert {key: after[key] for key in before if key != "metadata"} == {
        key: before[key] for key in before if key != "metadata"
    }
    assert after.get("metadata", {}) == {}
    assert work_units.list_units(desk.store.layout)[0] == []
    desk.restart()
    desk.do("redo")
    assert state_of(desk, node) == "promoted"
    assert work_units.read_unit(desk.store.layout, "WU-001").discovery == node
    desk.do("undo")
    assert desk.do("wu.new", title="next").target == "WU-002", "a retired number is not used again"


def test_undo_goes_back_step_by_step_and_redo_forward(desk):
    one, two = desk.discovery("one"), desk.discovery("two")
    desk.do("triage.archive", node_ids=one, reason="r")
    desk.do("triage.archive", node_ids=two, reason="r")
    desk.do("undo")
    desk.do("undo")
    assert (state_of(desk, one), state_of(desk, two)) == ("open", "open")
    desk.do("redo")
    assert (state_of(desk, one), state_of(desk, two)) == ("archived", "open")
    desk.do("decay.pin", node_ids=two)
    with pytest.raises(ActionError) as refused:
        desk.do("redo")
    assert refused.value.missing


def test_undo_is_by_the_same_operator(desk):
    node = desk.discovery()
    desk.do("triage.archive", node_ids=node, reason="r", by="ana")
    with pytest.raises(ActionError) as refused:
        desk.do("undo", by="bo")
    assert refused.value.missing
    assert state_of(desk, node) == "archived"


def test_undo_refuses_with_who_and_when_where_it_was_changed_since(desk):
    node = desk.discovery()
    desk.do("triage.archive", node_ids=node, reason="r", by="ana")
    desk.do("node.unarchive", node_ids=node, by="bo")
    desk.do("triage.archive", node_ids=node, reason="another", by="bo")
    desk.now += 11
    before = desk.files()
    with pytest.raises(ActionError) as refused:
        desk.do("undo", by="ana")
    assert "by bo" in str(refused.value)
    assert "10 s ago" in str(refused.value)
    assert desk.files() == before


def test_a_refusal_names_the_action_and_the_one_before_it(desk):
    one, two = desk.discovery("the first thing"), desk.discovery("the second thing")
    first = desk.do("triage.archive", node_ids=one, reason="r", by="ana")
    desk.do("triage.archive", node_ids=two, reason="r", by="ana")
    desk.do("node.unarchive", node_ids=two, by="bo")
    desk.do("triage.archive", node_ids=two, reason="another", by="bo")
    with pytest.raises(ActionError) as refused:
        desk.do("undo", by="ana")
    said = str(refused.value)
    assert (
        said.index("the second thing") < said.index("not undone") < said.index("by bo") < said.index("the first thing")
    )
    assert f"`undo {first.action_id}`" in said
    desk.do("undo", by="ana", action_id=first.action_id[:9])
    with pytest.raises(ActionError) as refused:
        desk.do("undo", by="ana")
    said = str(refused.value)
    assert "discovery noted: “the first thing”" in said, "neither what was undone nor what cannot be is offered"


def test_where_nothing_before_it_can_be_undone_a_refusal_says_so(desk):
    node = desk.discovery(by="bo")
    desk.do("triage.archive", node_ids=node, reason="r", by="ana")
    desk.do("node.unarchive", node_ids=node, by="bo")
    desk.do("triage.archive", node_ids=node, reason="another", by="bo")
    desk.do("kill", by="ana")
    desk.do("unkill", by="ana")
    with pytest.raises(ActionError) as refused:
        desk.do("undo", by="ana")
    assert str(refused.value).endswith("ends every worker again; nothing before it can be undone either")


def test_an_action_that_is_not_there_is_told_apart_from_none_at_all(desk):
    with pytest.raises(ActionError, match="nothing of yours to undo"):
        desk.do("undo", action_id="act-zzzz")
    desk.do("triage.archive", node_ids=desk.discovery(), reason="r")
    with pytest.raises(ActionError, match="no action 'act-zzzz' of yours") as refused:
        desk.do("undo", action_id="act-zzzz")
    assert refused.value.missing


def test_undo_of_a_promote_refuses_where_the_work_unit_was_edited(desk):
    node = desk.discovery()
    done = desk.do("triage.promote", node_ids=node, lane="Core")
    path = desk.store.layout.work_unit(done.target)
    path.write_text(path.read_text() + "\nSomebody's note.\n")
    before = desk.files()
    with pytest.raises(ActionError, match=f"{done.target} was changed since"):
        desk.do("undo")
    assert desk.files() == before


def test_an_undo_cut_off_half_way_is_finished_by_the_next(desk):
    node = desk.discovery()
    done = desk.do("triage.promote", node_ids=node, lane="Core")
    work_units.retire_unit(desk.store.layout, done.target)  # as far as a killed undo came
    desk.do("undo")
    assert state_of(desk, node) == "open"
    assert work_units.list_units(desk.store.layout)[0] == []


def test_a_named_action_can_be_undone_out_of_turn(desk):
    one, two = desk.discovery("one"), desk.discovery("two")
    first = desk.do("triage.archive", node_ids=one, reason="r")
    desk.do("triage.archive", node_ids=two, reason="r")
    desk.do("undo", action_id=first.action_id)
    assert (state_of(desk, one), state_of(desk, two)) == ("open", "archived")


def test_a_bulk_action_too_long_for_one_line_is_undone_as_one(desk):
    found = [desk.discovery(f"thing {number}") for number in range(400)]
    desk.do("triage.archive", node_ids=found, reason="a reason of some length " * 10)
    lines = [line for line in desk.store.layout.actions.read_bytes().splitlines() if b'"triage.archive"' in line]
    assert len(lines) > 2
    assert sum(one.verb == "triage.archive" for one in journal.actions(desk.store.layout)) == 1
    desk.do("undo")
    assert {state_of(desk, node) for node in found} == {"open"}


@pytest.mark.parametrize("verb", ["triage.keep", "decay.pin", "node.archive"])
def test_every_node_verb_goes_back(desk, verb):
    node = desk.discovery()
    arguments = {"reason": "r"} if verb == "node.archive" else {}
    desk.do(verb, node_ids=node, **arguments)
    assert desk.node(node)["metadata"] != {}
    desk.do("undo")
    assert desk.node(node).get("metadata", {}) == {}


def test_undo_of_merge_gives_the_tags_back(desk):
    other, stays = desk.discovery(tags=["a"]), desk.discovery(tags=["b"])
    desk.do("triage.merge", node_ids=other, into=stays)
    desk.do("undo")
    assert desk.node(stays)["tags"] == ["b"]
    assert state_of(desk, other) == "open"


def test_undo_of_task_edit(desk):
    task = desk.do("task.new", objective="count lines").target
    desk.do("task.edit", task_id=task, changes={"priority": "P0"})
    desk.do("undo")
    assert read_spec(desk.store.layout, task).priority == "P2"


def test_undo_of_role_verbs(desk):
    desk.do("role.fire", name="builder", reason="too dear")
    desk.do("undo")
    assert load_role(desk.store.layout, "builder").source == "shipped"
    desk.do("redo")
    with pytest.raises(FileNotFoundError):
        load_role(desk.store.layout, "builder")
    desk.do("role.rehire", name="builder")
    assert load_role(desk.store.layout, "builder").source == "shipped"


def test_a_dismissed_item_comes_back_with_undo(desk):
    desk.do("attention.dismiss", targets="tsk-lost")
    undone = desk.do("undo")
    assert "dismissed" in undone.summary
    assert [action.verb for action in journal.actions(desk.store.layout)] == ["attention.dismiss", "undo"]


def test_undo_of_a_setting_does_not_wait_for_the_memory(desk):
    desk.discovery()
    desk.do("setting.change", changes={"memory.decay.threshold": 0.2})
    with desk.store.layout.memory.open("rb") as memory, ThreadPoolExecutor(1) as pool:
        fcntl.flock(memory, fcntl.LOCK_EX)
        undone = pool.submit(desk.do, "undo")
        try:
            assert undone.result(5).summary.startswith("undone")
        finally:
            fcntl.flock(memory, fcntl.LOCK_UN)
    assert list(journal.actions(desk.store.layout))[-1].undoes


def test_a_refused_undo_writes_nothing_whatever_it_refuses_for(desk):
    task = desk.do("task.new", objective="hello").target
    end = Exit(task, Status.DONE, "2027-01-15T08:00:00.000Z")
    files.replace(desk.store.layout.task(task) / "exit.json", msgspec.json.encode(end))
    _refused(desk, "has ended already")
    desk.do("signal.read", signal_ids=desk.do("signal.send", message="hello").target, by="bo")
    _refused(desk, "read by bo")
    unit = desk.do("wu.new", title="a thing", lane="Core").target
    desk.do("session.start", wu_id=unit, by="bo")
    _refused(desk, "is open on|was changed since")
    desk.do("task.cancel", task_id=desk.do("task.new", objective="b", by="bo").target)
    desk.do("undo")
    _refused(desk, "a cancel is not repeated by redo", "redo")


def _refused(desk, why: str, verb: str = "undo") -> None:
    before = desk.files()
    with pytest.raises(ActionError, match=why):
        desk.do(verb)
    assert desk.files() == before


def test_a_cancel_that_no_engine_has_taken_up_is_taken_back_and_the_worker_goes_on(desk):
    task = desk.do("task.new", objective="hello").target
    lock = locks.try_lock(desk.store.layout.task(task) / "run.lock")
    assert lock is not None
    desk.do("task.cancel", task_id=task)
    assert desk.do("undo").summary.startswith("undone")
    assert task_files.status_of(desk.store.layout.task(task)) is Status.RUNNING
    desk.do("task.cancel", task_id=task)
    stop = {"status": "cancelled", "reason": "r", "after": ""}  # as an engine does
    files.replace(desk.store.layout.task(task) / "stop.json", msgspec.json.encode(stop))
    command = msgspec.json.decode(list(desk.store.commands.lines())[-1])
    desk.store.command_receipts.append({"command_id": command["id"], "at": "", "ok": True})
    _refused(desk, "still ending: try again")


def test_an_approval_of_the_constitution_comes_back_with_its_name_and_date(desk):
    desk.do("constitution.approve", by="bo")
    before = desk.store.layout.approved_constitution.read_bytes()
    desk.store.layout.constitution.write_text("# Other\n\nBe kind.\n")
    desk.do("constitution.approve")
    desk.do("undo")
    assert desk.store.layout.approved_constitution.read_bytes() == before
