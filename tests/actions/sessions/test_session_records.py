from __future__ import annotations

import json

import pytest

from lumen_tui.actions.checkpoints import MOST_TOUCHED, with_files
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.work import SessionDecision, WorkSession, with_decision
from lumen_tui.storage import files
from lumen_tui.store.work import sessions


def test_start_writes_the_documented_shape_and_a_node(desk):
    desk.unit()
    done = desk.do("session.start", wu_id="wu-042", agent_type="claude-code", context_tier="core", folder="/x")
    current = json.loads(sessions.current_path(desk.layout).read_text())
    assert list(current)[:6] == ["session_id", "started_at", "active_wu", "lane", "files_touched", "decisions"]
    assert (current["active_wu"], current["lane"], current["files_touched"]) == ("WU-042", "Framework: Core", [])
    assert current == json.loads((desk.root / "sessions" / f"{done.target}.json").read_text())
    node = desk.node(current["node_id"])
    assert (node["type"], node["lifecycle"], node["session_id"]) == ("session", "wu", done.target)
    assert node["content"] == "Session started for WU-042. Agent: claude-code, Context: core"
    assert node["metadata"] == {"agentType": "claude-code", "contextTier": "core"}


def test_parallel_sessions_are_told_apart_by_agent_and_by_id(desk):
    desk.unit(42)
    desk.unit(43, "UI")
    ana = desk.do("session.start", wu_id="WU-042", by="ana").target
    bo = desk.do("session.start", wu_id="WU-043", by="bo").target
    assert json.loads(sessions.current_path(desk.layout).read_text())["session_id"] == bo
    desk.do("checkpoint.save", note="ana's", by="ana")
    desk.do("checkpoint.save", note="bo's", by="bo")
    second = desk.do("session.start", wu_id="WU-043", by="ana").target
    first = desk.do("checkpoint.save", note="named", by="ana", session=ana[:9]).target
    newest = desk.do("checkpoint.save", note="newest", by="ana").target
    seen = [
        (one["wu_id"], one["session_id"]) for one in desk.records(desk.layout.memory) if one["type"] == "checkpoint"
    ]
    assert seen == [("WU-042", ana), ("WU-043", bo), ("WU-042", ana), ("WU-043", second)]
    assert desk.node(first)["session_id"] != desk.node(newest)["session_id"]


def test_a_session_is_closed_by_id_and_undo_opens_it_again(desk):
    desk.unit()
    one = desk.do("session.start", wu_id="WU-042", by="ana").target
    desk.do("session.end", session=one[4:9], by="bo")
    assert list(sessions.live(desk.layout)) == []
    ended = sessions.read(desk.layout, one)
    assert (ended.ended_by, desk.node(ended.node_id)["metadata"]["ended_by"]) == ("bo", "bo")
    assert not sessions.current_path(desk.layout).exists(), "no session is current"
    with pytest.raises(ActionError, match="by bo") as refused:
        desk.do("session.end", session=one)
    assert refused.value.missing
    desk.do("undo", by="bo")
    assert [found.session_id for found in sessions.live(desk.layout)] == [one]
    assert "ended_at" not in desk.node(ended.node_id)["metadata"]
    assert json.loads(sessions.current_path(desk.layout).read_text())["session_id"] == one
    desk.do("redo", by="bo")
    assert sessions.read(desk.layout, one).ended_at


def test_a_failed_end_leaves_the_session_open(desk):
    desk.unit()
    one = desk.do("session.start", wu_id="WU-042").target
    desk.layout.actions.unlink()
    desk.layout.actions.symlink_to(desk.root / "elsewhere")
    with pytest.raises(files.StoreError):
        desk.do("session.end")
    assert [found.session_id for found in sessions.live(desk.layout)] == [one]
    assert desk.page().session.session_id == one


@pytest.mark.parametrize(
    ("verb", "given", "said", "near"),
    [
        ("session.start", {"wu_id": "WU-0042"}, "wu new", ("WU-042",)),
        ("session.start", {"wu_id": "../x"}, "WU-042", ()),
        ("session.start", {"wu_id": "WU-042", "context_tier": "ful"}, "context tier", ("full",)),
        ("session.end", {"session": "../../etc/passwd"}, "not usable", ()),
        ("session.end", {"session": "current"}, "no session", None),
        ("session.end", {"session": "ses-none"}, "no session", None),
        ("checkpoint.save", {"wu_id": "WU-024"}, "no work unit", ("WU-042",)),
        ("checkpoint.save", {"wu_id": "WU-042", "session": "nope"}, "no session", None),
        ("decision.note", {"question": " ", "wu_id": "WU-042"}, "empty", ()),
        ("handoff.give", {"note": "x", "wu_id": "WU-42"}, "no work unit", ("WU-042",)),
        ("handoff.give", {"note": "x", "by": "nobody"}, "start --wu", ()),
    ],
)
def test_bad_input_writes_nothing_and_names_the_nearest(desk, verb, given, said, near):
    desk.unit()
    desk.do("session.start", wu_id="WU-042")
    before = desk.files()
    with pytest.raises(ActionError, match=said) as refused:
        desk.do(verb, **given)
    if near is not None:
        assert refused.value.candidates[: len(near)] == near
    else:
        assert "; there is ses-" in str(refused.value)
    assert desk.files() == before


def test_an_ambiguous_session_lists_what_it_could_be(desk):
    desk.unit()
    both = {desk.do("session.start", wu_id="WU-042").target for _ in range(2)}
    with pytest.raises(ActionError) as refused:
        desk.do("session.end", session="ses-")
    assert set(refused.value.candidates) == both


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"wuId":"WU-1","agent":"x"}', '{"session_id": 7}', "\xff"])
def test_a_foreign_or_broken_current_file_stops_nobody(desk, content):
    desk.unit()
    one = desk.do("session.start", wu_id="WU-042").target
    sessions.current_path(desk.layout).write_bytes(content.encode("latin-1"))
    (desk.root / "sessions" / "odd.json").write_bytes(content.encode("latin-1"))
    desk.do("checkpoint.save", note="goes on")
    assert [found.session_id for found in sessions.live(desk.layout)] == [one]
    desk.do("session.start", wu_id="WU-042", by="bo")
    assert json.loads(sessions.current_path(desk.layout).read_text())["agent"] == "bo"


def test_decisions_are_pending_until_they_are_answered(desk):
    desk.unit()
    one = desk.do("session.start", wu_id="WU-042").target
    plain = desk.do(
        "node.create", content="Retry or fail fast?", type="note", tags=("decision",), wu_id="WU-042"
    ).target
    asked = desk.do("decision.note", question="Which lock?", priority="P1").target
    desk.do("decision.note", question="Which format?", answer="JSON")
    assert [entry.id for entry in desk.page().pending_decisions] == [asked, plain], "by priority, then by date"
    desk.do("decision.answer", node_id=asked, answer="flock", by="bo")
    desk.do("decision.answer", node_id=plain, answer="Retry twice", by="bo")
    page = desk.page()
    assert page.pending_decisions == ()
    assert {entry.extra["answer"] for entry in page.decisions} == {"JSON", "flock", "Retry twice"}
    noted = {found.question: found.answer for found in sessions.read(desk.layout, one).decisions}
    assert noted == {"Which lock?": "flock", "Which format?": "JSON"}
    with pytest.raises(ActionError, match="answered already, by bo: flock"):
        desk.do("decision.answer", node_id=asked, answer="no")
    desk.do("undo", by="bo")
    assert [entry.id for entry in desk.page().pending_decisions] == [plain]


def test_what_is_no_decision_is_not_answered(desk):
    node = desk.do("node.create", content="a bug", type="bug").target
    with pytest.raises(ActionError, match="no decision"):
        desk.do("decision.answer", node_id=node, answer="x")


def test_a_session_record_does_not_grow_without_end():
    names = with_files([f"f{n}" for n in range(MOST_TOUCHED)], ("f3", "new", "new"))
    assert (len(names), names[-2:], names.count("f3")) == (MOST_TOUCHED, ["f3", "new"], 1)
    asked = WorkSession(session_id="ses-1", decisions=(SessionDecision("a"), SessionDecision("b")))
    assert with_decision(asked, SessionDecision("a", "yes")) == (SessionDecision("b"), SessionDecision("a", "yes"))
