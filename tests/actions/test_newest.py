"""Undo acts on the newest entry of this operator and client, or says why not; it never reaches past it."""

from __future__ import annotations

import pytest

from lumen_tui.actions import acting
from lumen_tui.actions.approvals import put_rule
from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import HANDLERS, named, perform
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.loop import Pause
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.requests.memory import PinNodes
from lumen_tui.model.tasks import Status
from lumen_tui.storage import locks, process
from lumen_tui.store.audit import journal
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.pauses import pause_all
from tests.actions.test_importing import folder


def test_a_new_task_is_taken_back_and_not_what_was_done_before_it(desk):
    desk.do("attention.snooze", targets="tsk-failed")
    task = desk.do("task.new", objective="hello").target
    said = desk.do("undo").summary
    assert "queued" in said
    assert task_files.folder_of(desk.store.layout, task) is None
    desk.do("redo")
    assert task_files.status_of(desk.store.layout.task(task)) is Status.QUEUED
    desk.do("undo")
    assert "snoozed" in desk.do("undo").summary


def test_a_task_that_has_begun_is_cancelled(desk):
    task = desk.do("task.new", objective="hello").target
    lock = locks.try_lock(desk.store.layout.task(task) / "run.lock")
    assert lock is not None
    assert "asked to cancel it" in desk.do("undo").summary


@pytest.mark.parametrize("in_force", [False, True])
def test_a_pause_is_taken_back_whether_the_engine_did_it_yet_or_not(desk, in_force):
    desk.do("relay.submit", relay_name="box", text="a text", base=0)
    desk.do("engine.pause", reason="backup")
    if in_force:  # as an engine does
        command = list(desk.store.commands.lines())[-1]
        desk.store.command_receipts.append({"command_id": _field(command, "id"), "at": "", "ok": True})
        pause_all(desk.store.layout, Pause(at="2027-01-15T08:00:02.000Z", by="ana", reason="backup"))
    said = desk.do("undo").summary
    assert said.startswith("undone: paused all")
    if in_force:
        assert b'"resume"' in list(desk.store.commands.lines())[-1]
        assert b'"alone"' in list(desk.store.commands.lines())[-1]
    else:
        assert b"taken back" in list(desk.store.command_receipts.lines())[-1]


def _field(line: bytes, name: str) -> str:
    import json

    return str(json.loads(line)[name])


def test_what_is_read_is_unread_again(desk):
    for number in range(3):
        desk.do("signal.send", message=f"note {number}", by="bo")
    before = desk.store.layout.receipts.read_bytes() if desk.store.layout.receipts.exists() else b""
    desk.do("signal.read_all")
    desk.do("undo")
    assert desk.store.layout.receipts.read_bytes() == before
    desk.do("redo")
    assert b'"upto":true' in desk.store.layout.receipts.read_bytes()


def test_a_signal_is_taken_back_until_somebody_has_read_it(desk):
    sent = desk.do("signal.send", message="hello").target
    desk.do("undo")
    assert sent.encode() not in desk.store.layout.signals.read_bytes()
    desk.do("redo")
    desk.do("signal.read", signal_ids=sent, by="bo")
    with pytest.raises(ActionError, match=f"read by bo: send a correction ..signal TEXT --reply-to {sent}"):
        desk.do("undo")


def test_a_unit_is_not_taken_away_under_an_open_session_and_the_checkpoint_goes_first(desk):
    unit = desk.do("wu.new", title="A", id="WU-100")
    desk.do("session.start", wu_id="WU-100")
    saved = desk.do("checkpoint.save", note="cp", wu_id="WU-100").target
    with pytest.raises(ActionError, match="WU-100 was changed since"):
        desk.do("undo", action_id=unit.action_id)
    desk.do("undo")
    assert desk.node(saved)["metadata"]["status"] == "deleted"
    desk.do("undo")
    desk.do("undo")
    assert not desk.store.layout.work_unit("WU-100").exists()


def test_what_cannot_be_undone_says_what_to_do_instead_and_holds_nothing_up(desk):
    node = desk.discovery()
    pinned = desk.do("decay.pin", node_ids=node)
    desk.do("kill")
    with pytest.raises(ActionError) as refused:
        desk.do("undo")
    assert "not undone, as" in str(refused.value)
    assert f"`undo {pinned.action_id}`" in str(refused.value)
    assert desk.node(node)["metadata"]["pinned"] is True
    desk.do("undo", action_id=pinned.action_id)
    assert desk.node(node).get("metadata", {}) == {}


def test_an_import_is_one_entry_that_is_undone_as_a_whole(desk, tmp_path):
    desk.discovery("ours")
    before = {name: data for name, data in desk.files().items() if not name.startswith(("actions", "index"))}
    done = desk.do("import.lumenflow", path=str(folder(tmp_path)))
    assert done.report.added == 10
    desk.do("undo")
    after = {name: data for name, data in desk.files().items() if not name.startswith(("actions", "index")) and data}
    assert after == {name: data for name, data in before.items() if data}
    with pytest.raises(ActionError, match="same import"):
        desk.do("redo")
    assert desk.do("import.lumenflow", path=str(tmp_path / "project")).report.added == 10
    assert desk.do("import.lumenflow", path=str(tmp_path / "project")).action_id == "", "nothing came, nothing to undo"


def test_undo_of_an_import_refuses_where_something_builds_on_it(desk, tmp_path):
    desk.do("import.lumenflow", path=str(folder(tmp_path)))
    (tmp_path / "project" / ".lumenflow" / "memory" / "memory.jsonl").write_bytes(b"")
    entry = next(journal.in_effect(desk.store.layout, lambda _: True))
    desk.do("decay.pin", node_ids="mem-5dcc")
    before = desk.node("mem-5dcc")
    with pytest.raises(ActionError, match="mem-5dcc was changed since it was imported"):
        desk.do("undo", action_id=entry.first.id)
    assert desk.node("mem-5dcc") == before


def test_an_import_that_was_moved_by_a_rewrite_is_found_again(desk, tmp_path):
    gone = desk.do("signal.send", message="before it").action_id
    desk.do("import.lumenflow", path=str(folder(tmp_path)))
    kept = desk.do("signal.send", message="behind it").target
    imported = list(journal.in_effect(desk.store.layout, lambda _: True))[1].first
    desk.do("undo", action_id=gone)
    desk.do("undo", action_id=imported.id)
    assert [_field(line, "id") for line in desk.store.signals.lines()] == [kept]


def test_two_rooms_of_one_login_undo_each_its_own(desk):
    room = RemotePort(desk.root, "ana")
    one, two = desk.discovery("one", by="bo"), desk.discovery("two", by="bo")
    room.submit(PinNodes(node_ids=[one]))
    perform(desk.store, named("decay.pin", {"node_ids": [two]}), by="ana", now=desk.now + 50, client="cli")
    room.submit(Undo())
    assert desk.node(one).get("metadata", {}) == {}
    assert desk.node(two)["metadata"]["pinned"] is True
    with pytest.raises(ActionError) as refused:
        room.submit(Undo())
    assert "what you did last was on the command line: “two” pinned (`undo act-" in str(refused.value)


def test_a_room_goes_on_with_what_rooms_did_that_have_ended(desk):
    node = desk.discovery(by="bo")
    ended = f"{process.myself().pid}-1-{process.boot_id()[:8]}"  # the pid came round again
    gone = RemotePort(desk.root, "ana", client=f"room-{ended}")
    gone.submit(PinNodes(node_ids=[node]))
    RemotePort(desk.root, "ana").submit(Undo())
    assert desk.node(node).get("metadata", {}) == {}


def test_records_of_earlier_versions_belong_to_every_client():
    action = Action(id="act-1", at="", by="ana", verb="v", target="", summary="")
    assert acting.undo_filter("ana", "cli")(action)
    assert acting.undo_filter("ana", acting._ROOM + "1-1-x")(action)
    assert not acting.undo_filter("bo", "cli")(action)


def test_every_verb_that_writes_leaves_an_entry(desk):
    """The verbs that were without one: each names what it did, and the next undo is about it and nothing else."""
    node, other = desk.discovery("a"), desk.discovery("b")
    desk.do("wu.new", title="t", id="WU-001")
    desk.do("signal.send", message="m", by="bo")
    plain = {
        "decay.touch": {"node_ids": node}, "relation.add": {"from_id": node, "to_id": other, "type": "related"},
        "decision.note": {"question": "q?", "wu_id": "WU-001"}, "handoff.give": {"note": "n", "wu_id": "WU-001"},
        "signal.read_all": {}, "engine.pause": {}, "node.create": {"content": "c"}, "task.new": {"objective": "o"},
        "session.start": {"wu_id": "WU-001"}, "checkpoint.save": {"note": "n", "wu_id": "WU-001"},
    }  # fmt: skip
    assert plain.keys() <= HANDLERS.keys()
    for verb, arguments in plain.items():
        done = desk.do(verb, **arguments)
        newest = next(journal.in_effect(desk.store.layout, lambda action: action.by == "ana"))
        assert verb in {action.verb for action in newest.actions}
        assert done.action_id in {action.id for action in newest.actions}
    for _ in plain:
        assert desk.do("undo").summary.startswith("undone")
    newest = next(journal.in_effect(desk.store.layout, lambda action: action.by == "ana"))
    assert newest.first.verb == "wu.new"


def test_an_import_is_undone_where_all_that_was_done_to_it_was_undone(desk, tmp_path):
    done = desk.do("import.lumenflow", path=str(folder(tmp_path)))
    before = desk.store.layout.memory.read_bytes()
    other = desk.discovery("ours, noted later")
    wanted = desk.do("decay.pin", node_ids=_field(before.splitlines()[-1], "id"))
    with pytest.raises(ActionError, match="changed since it was imported: undo that first"):
        desk.do("undo", action_id=done.action_id)
    desk.do("undo", action_id=wanted.action_id)
    desk.do("undo", action_id=done.action_id)
    assert {_field(line, "id") for line in desk.store.layout.memory.read_bytes().splitlines()} == {other}


def test_a_session_taken_back_leaves_the_pointer_of_another_tool_byte_for_byte(desk, tmp_path):
    done = desk.do("import.lumenflow", path=str(folder(tmp_path)))
    desk.do("session.start", wu_id=desk.do("wu.new", title="t").target)
    desk.do("undo")
    assert desk.store.layout.current_session.read_text() == '{"wuId":"WU-42"}'
    desk.do("undo", action_id=done.action_id)
    assert not desk.store.layout.current_session.exists()


def test_a_relation_that_comes_back_is_still_by_whoever_drew_it(desk):
    one, two = desk.discovery("a", by="bo"), desk.discovery("b", by="bo")
    ends = {"from_id": one, "to_id": two, "type": "related"}
    desk.do("relation.add", by="bo", **ends)
    drawn = desk.store.layout.relationships.read_bytes()
    desk.do("relation.remove", **ends)
    assert _field(desk.store.layout.relationships.read_bytes().splitlines()[-1], "created_by") == "ana"
    desk.do("undo")
    assert desk.store.layout.relationships.read_bytes().splitlines()[-1] == drawn.strip()


def test_a_session_that_is_open_again_is_the_current_one_where_it_was_started_last(desk):
    for lane in ("Core", "UI"):
        desk.do("session.start", wu_id=desk.do("wu.new", title="t", lane=lane).target)
        desk.now += 5
    before = desk.store.layout.current_session.read_bytes()
    desk.do("session.end")
    assert desk.store.layout.current_session.read_bytes() != before
    desk.do("undo")
    assert desk.store.layout.current_session.read_bytes() == before


def test_a_rule_that_comes_back_has_its_number_again(desk):
    for number, pattern in enumerate(("make deploy", "git push")):
        rule = {"tool": "shell", "role": "builder", "pattern": pattern, "by": "bo", "at": f"2027-01-0{number + 1}"}
        put_rule(desk.store, Change(kind="allow", key="", before=None, after=rule))
    before = desk.store.layout.operator.read_bytes()
    desk.do("approval.forget", number=1)
    desk.do("undo")
    assert desk.store.layout.operator.read_bytes() == before
