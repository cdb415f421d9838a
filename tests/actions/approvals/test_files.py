"""The files of approvals: one answer wins, kills leave nothing half, readers are not fooled."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest
from lumen_rows import each_row

from lumen_tui.engine.events import EventLog, recent_events
from lumen_tui.engine.monitors import ApprovalMonitor
from lumen_tui.model import times
from lumen_tui.model.approvals import AllowRule, Approval, Decision, allows, call_hash, preview_rule
from lumen_tui.model.snapshot import Need
from lumen_tui.model.tasks import Spec, Status, TaskView
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals

NOW = 1_800_000_000.0


def answer(request: Approval, allowed: bool = True, by: str = "ann", at: float = NOW + 1) -> Decision:
    return Decision(allowed=allowed, hash=request.hash, at=times.iso(at), by=by)


def test_the_hash_is_of_the_call_and_not_of_how_it_was_written():
    assert call_hash("shell", {"a": 1, "b": 2}) == call_hash("shell", {"b": 2, "a": 1})
    assert call_hash("shell", {"a": 1}) != call_hash("shell", {"a": 2})
    assert call_hash("shell", {"a": 1}) != call_hash("grep", {"a": 1})


def test_the_same_question_stands_once(store, ask):
    first = ask("make")
    assert ask("make", at=NOW + 5) == first
    assert [one.id for one in approvals.undecided(store.layout)] == [first.id]
    assert (store.layout.approval(first.id)).stat().st_mode & 0o077 == 0


def _race(root: Path, approval_id: str, by: str, allowed: bool, go: object, told: object) -> None:
    layout = Layout(root)
    request = approvals.read(layout, approval_id)
    assert request
    go.wait()  # type: ignore[attr-defined]
    try:
        approvals.decide(layout, request, answer(request, allowed, by), NOW + 1)
        told.put(by)  # type: ignore[attr-defined]
    except approvals.Answered:
        told.put("")  # type: ignore[attr-defined]


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_of_many_answers_at_once_exactly_one_wins(store, ask):
    context = multiprocessing.get_context("fork")
    request, go, told = ask(), context.Event(), context.Queue()
    people = [
        context.Process(target=_race, args=(store.root, request.id, f"person-{number}", number % 2 == 0, go, told))
        for number in range(8)
    ]
    for person in people:
        person.start()
    go.set()
    winners = [name for _ in people if (name := told.get(timeout=20))]
    for person in people:
        person.join(10)
    found = approvals.decision(store.layout, request.id)
    assert [found.by if found else ""] == winners


def test_an_answer_that_was_taken_stays(store, ask):
    request = ask()
    assert approvals.take(store.layout, request, 1, NOW) is None
    approvals.decide(store.layout, request, answer(request), NOW + 1)
    taken = approvals.take(store.layout, request, 1, NOW + 2)
    assert taken
    assert taken.allowed
    with pytest.raises(approvals.ActedOn):
        approvals.set_decision(store.layout, request.id, None)


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
def test_too_late_is_no(store, ask):
    request = ask()
    with pytest.raises(approvals.DeadlinePassed):
        approvals.decide(store.layout, request, answer(request), NOW + 3600)
    found = approvals.decision(store.layout, request.id)
    assert found
    assert (found.allowed, found.ended) == (False, "expired")
    assert "nobody answered within 1 h" in found.reason


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"allowed": "yes"}', b"[" * 100_000])
def test_an_answer_that_cannot_be_read_is_no(store, ask, content):
    request = ask()
    files.replace(approvals.decision_path(store.layout, request.id), content)
    found = approvals.decision(store.layout, request.id)
    assert found
    assert not found.allowed


def test_odd_files_among_the_questions_are_named_and_harm_nothing(store, ask):
    request = ask()
    (store.layout.approvals / "apr-bad.json").write_bytes(b"{")
    (store.layout.approvals / "apr-link.json").symlink_to("/etc/passwd")
    os.mkfifo(store.layout.approvals / "apr-pipe.json")
    (store.layout.approvals / "Not an id.json").write_text("x")
    (store.layout.approvals / "apr-folder.json").mkdir()
    other = store.layout.approvals / "apr-other.json"
    other.write_bytes(store.layout.approval(request.id).read_bytes())  # names another id
    assert [one.id for one in approvals.undecided(store.layout)] == [request.id]
    bad = ["apr-bad.json", "apr-folder.json", "apr-link.json", "apr-other.json", "apr-pipe.json"]
    assert approvals.unreadable(store.layout) == bad


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
def test_hostile_text_in_a_question_is_safe(store, ask):
    request = ask("echo \x1b[2J", why="\u202eevil")
    found = approvals.read(store.layout, request.id)
    assert found
    assert "\x1b" not in found.summary + str(found.arguments)
    assert "\u202e" not in found.why


def view(store, task_id: str, **more: object) -> TaskView:
    return TaskView(spec=Spec(id=task_id, objective="o"), status=Status.RUNNING, **more)  # type: ignore[arg-type]


def test_the_engine_expires_withdraws_and_puts_away(store, ask):
    log = EventLog(store)
    for name in ("tsk-lives", "tsk-unread"):
        store.layout.task(name).mkdir()
    late, open_one, orphan, ended = (
        ask("late", "tsk-lives"), ask("open", "tsk-lives", at=NOW + 3000), ask("orphan", "tsk-gone"),
        ask("e", "tsk-done"),
    )  # fmt: skip
    unread = ask("unread", "tsk-unread")
    views = {"tsk-lives": view(store, "tsk-lives"), "tsk-done": view(store, "tsk-done", finished=NOW + 1)}
    approvals.decide(store.layout, ended, answer(ended), NOW + 1)
    for _ in range(2):  # the second pass finds nothing more to do
        ApprovalMonitor(store.layout, log, views.get).check_all(NOW + 3600)
    decided = {one.id: approvals.decision(store.layout, one.id) for one in (late, orphan, ended)}
    assert [found.ended for found in decided.values() if found] == ["expired", "withdrawn", ""]
    assert {one.id for one in approvals.undecided(store.layout)} == {open_one.id, unread.id}
    assert {one.id for one in approvals.every(store.layout)} == {open_one.id, unread.id, late.id}
    kinds = [event.kind for event in recent_events(store, 9)]
    assert (kinds.count("approval_withdrawn"), kinds.count("approval_expired")) == (1, 1)


@pytest.mark.parametrize("ended", [False, True])
def test_what_a_worker_let_expire_is_told_once_and_needs_somebody_until_it_is_put_aside(store, ask, folder, ended):
    request = ask("make \x1b[2J deploy", "tsk-one")
    approvals.expire(store.layout, request, NOW + 3600)
    task = view(store, "tsk-one", finished=NOW + 3700 if ended else 0.0)
    for _ in range(2):
        monitor = ApprovalMonitor(store.layout, EventLog(store), lambda _: task)
        monitor.poll(NOW + 3601)
        monitor.poll(NOW + 3602)
    (event,) = [event for event in recent_events(store, 9) if event.kind == "approval_expired"]
    assert event.text.startswith("builder asked: make")
    assert event.text.endswith("expired, denied by itself after 1 h 0 m")
    (need,) = SnapshotReader(store.root).snapshot(NOW + 3700).attention
    assert (need.need, need.target, need.since) == (Need.EXPIRED, request.id, NOW + 3601)
    assert "\x1b" not in need.text
    folder.do("attention.dismiss", targets=request.id)
    assert SnapshotReader(store.root).snapshot(NOW + 3700).attention == ()


def test_what_expired_is_still_there_after_the_events_made_way_for_new_ones(store, ask):
    request, log = ask(), EventLog(store)
    ApprovalMonitor(store.layout, log, lambda _: view(store, "tsk-one")).check_all(NOW + 3600)
    store.layout.events.rename(store.layout.earlier_events)
    log.add("beat", "another", NOW + 3700)
    assert [need.target for need in SnapshotReader(store.root).snapshot(NOW + 3700).attention] == [request.id]
    ApprovalMonitor(store.layout, log, lambda _: view(store, "tsk-one")).check_all(NOW + 3800)
    assert [event.kind for event in recent_events(store, 9)] == ["beat"]


def test_a_kill_while_a_question_is_put_away_leaves_no_open_one(store, ask):
    request = ask(task="tsk-gone")
    approvals.decide(store.layout, request, answer(request), NOW + 1)
    os.rename(store.layout.approval(request.id), store.layout.done_approvals / f"{request.id}.json")
    assert approvals.undecided(store.layout) == []
    assert approvals.decision(store.layout, request.id)
    ApprovalMonitor(store.layout, EventLog(store), lambda _: None).check_all(NOW)
    assert os.listdir(store.layout.approvals) == ["done"]


def test_the_room_sees_what_waits_and_counts_it(store, ask):
    store.layout.task("tsk-one").mkdir()
    (store.layout.task("tsk-one") / "spec.json").write_text('{"id": "tsk-one", "objective": "o", "role": "builder"}')
    reader = SnapshotReader(store.root)
    assert reader.snapshot(NOW).approvals == ()
    request = ask("make deploy")
    ask("of a task that is not there", "tsk-none")
    snapshot = reader.snapshot(NOW + 1)
    assert [one.id for one in snapshot.approvals] == [request.id]
    (need,) = [item for item in snapshot.attention if item.need is Need.APPROVAL]
    assert (need.target, need.text, need.since) == (request.id, "builder asks: make deploy", NOW)
    assert reader.snapshot(NOW + 3600).approvals == ()  # its time is over
    approvals.decide(store.layout, request, answer(request), NOW + 2)
    assert reader.snapshot(NOW + 2).attention == ()


@each_row(
    ("pattern", "command", "covered"),
    [
        ("make test", "make test", True), ("make test", "make test; rm -rf /", False),
        ("make", "make test", False),
        ("git push *", "git push origin", True), ("git push *", "git push", False),
        ("git push *", "git pushx a", False),
        ("git push *", "git push a; rm -rf /", False), ("git push *", "git push $(rm x)", False),
        ("git push *", "git push a && b", False),
        ("git push *", "git push a\nrm x", False),
        ("git push *", "git push `x`", False),
        ("git push *", "git push a > /etc/x", False), ("git*", "git push", False),
        ("*", "rm", False), ("", "rm", False),
    ],
)  # fmt: skip
def test_a_rule_on_commands_covers_no_second_command(pattern, command, covered):
    rule = AllowRule("shell", "builder", pattern)
    assert allows(rule, tool="shell", role="builder", target=command) is covered
    assert not allows(rule, tool="shell", role="other", target=command)
    assert not allows(rule, tool="shell", role="builder", target=command, folder="/elsewhere")


def test_a_rule_on_paths_takes_stars():
    rule = AllowRule("write_file", "builder", "/srv/app/*.py")
    assert allows(rule, tool="write_file", role="builder", target="/srv/app/a.py")
    assert not allows(rule, tool="write_file", role="builder", target="/srv/other/a.py")
    assert not allows(rule, tool="edit_file", role="builder", target="/srv/app/a.py")


def test_a_rule_is_shown_before_it_is_saved(ask):
    request = ask("git push", folder="/srv")
    assert preview_rule(request) == "builder may always use shell on: git push in /srv, without asking"
    assert preview_rule(ask("x", rule="")) == ""
