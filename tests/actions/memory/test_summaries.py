from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import times
from lumen_tui.model.summary import MOST_BYTES, Subject, draft
from lumen_tui.storage import files

WU = "WU-001"


def work(desk, **more):
    """A unit with two checkpoints, a note, an answered and a pending decision, an open and an archived discovery."""
    desk.do("wu.new", title="Session manager", id=WU, lane="Core")
    made = {
        "first": desk.add(
            "checkpoint", age=3, wu_id=WU, content="Checkpoint: locks in place", metadata={"progress": "40%"}
        ),
        "note": desk.add("note", age=2.5, wu_id=WU, content="flock is released at a kill"),
        "decided": desk.add(
            "note", age=2, wu_id=WU, tags=["decision"], content="Which lock?\nAnswer: flock",
            metadata={"question": "Which lock?", "answer": "flock", "answered_at": times.iso(desk.now - 86400)},
        ),
        "pending": desk.add("note", age=1.5, wu_id=WU, tags=["decision"], content="Keep the old format?"),
        "open": desk.add("discovery", age=1.4, wu_id=WU, content="Race at logout", metadata={"priority": "P1"}),
        "closed": desk.add("discovery", age=1.3, wu_id=WU, content="Slow start"),
        "last": desk.add(
            "checkpoint", age=1, wu_id=WU, content="Checkpoint: tests pass",
            metadata={"progress": "90%", "nextSteps": "merge it"},
        ),
    }  # fmt: skip
    desk.do("triage.archive", node_ids=made["closed"], reason="measured: it is not")
    desk.add("note", wu_id="WU-002", content="another unit's")
    return made


def test_it_reads_like_a_conclusion(desk, cli):
    made = work(desk)
    code, out, _ = cli("summarize", "--wu", "wu-001", "--dry-run")
    assert code == 0
    assert out == (
        "# WU-001: Session manager\n\n"
        "## Outcome\n- ready, lane Core\n"
        "- In the end (2027-01-14): tests pass (90%)\n- Still open: 1 found, 1 to decide\n\n"
        "## Decisions\n- Which lock? → flock (2027-01-14)\n\n"
        "## What was done\n- 2027-01-12 locks in place (40%)\n- 2027-01-12 flock is released at a kill\n"
        "- 2027-01-14 tests pass (90%)\n\n"
        f"## Found\n- Slow start — measured: it is not\n- P1 Race at logout — STILL OPEN as {made['open']}\n\n"
        f"## Next\n- merge it\n- Decide ({made['pending']}): Keep the old format?\n"
        f"- Judge what was found ({made['open']}): Race at logout\n"
    )


def test_open_discoveries_and_pending_decisions_are_never_swallowed(desk):
    made = work(desk)
    summary = desk.do("summary.make", wu_id=WU).target
    into = {name: desk.meta(node).get("summarized_into") for name, node in made.items()}
    assert into == {
        "first": summary, "note": summary, "decided": summary, "pending": None, "open": None, "closed": None,
        "last": None,
    }  # fmt: skip
    desk.now += 400 * 86400
    desk.do("cleanup.nodes", ttl="1d", decay=True)
    desk.do("decay.apply")
    assert desk.status(made["open"]) == "open"
    assert [row.node.id for row in desk.index().discoveries(desk.now)] == [made["open"]]
    assert desk.status(summary) == "open"


def test_the_record_keeps_its_sources(desk):
    made = work(desk)
    done = desk.do("summary.make", wu_id=WU)
    node = desk.node(done.target)
    assert (node["type"], node["lifecycle"], node["wu_id"]) == ("summary", "project", WU)
    meta = node["metadata"]
    assert meta["source_nodes"] == [made[name] for name in ("first", "note", "decided", "closed", "last")]
    assert (meta["source_count"], meta["still_open"]) == (5, [made["open"], made["pending"]])
    assert desk.meta(made["first"])["summarized_at"] == times.iso(desk.now)


def test_the_same_sources_give_the_same_summary(desk, cli):
    work(desk)
    first = desk.do("summary.make", wu_id=WU)
    desk.now += 9
    before = desk.files()
    again = desk.do("summary.make", wu_id=WU, by="bo")
    assert (again.target, again.action_id) == (first.target, "")
    assert json.loads(cli("summarize", "--wu", WU, "--json")[1])["id"] == first.target
    assert desk.files() == before


def test_what_is_new_makes_a_new_one_that_replaces_the_old(desk):
    made = work(desk)
    old = desk.do("summary.make", wu_id=WU).target
    desk.add("checkpoint", wu_id=WU, content="Checkpoint: merged")
    new = desk.do("summary.make", wu_id=WU).target
    assert new != old
    assert desk.meta(old)["summarized_into"] == desk.meta(made["first"])["summarized_into"] == new
    assert made["first"] in desk.meta(new)["source_nodes"]
    desk.do("undo")
    assert desk.status(new) == "deleted"
    assert "summarized_into" not in desk.meta(old)
    assert desk.meta(made["first"])["summarized_into"] == old
    assert desk.do("summary.make", wu_id=WU).target == new
    assert desk.status(new) == "open"


def test_undo_takes_everything_back(desk):
    made = work(desk)
    before = {name: desk.meta(node) for name, node in made.items()}
    summary = desk.do("summary.make", wu_id=WU).target
    desk.do("undo")
    assert {name: desk.meta(node) for name, node in made.items()} == before
    assert desk.status(summary) == "deleted"
    desk.do("redo")
    assert desk.meta(made["first"])["summarized_into"] == summary
    assert desk.status(summary) == "open"


def test_of_a_finished_unit_the_last_checkpoint_is_taken_too(desk):
    made = work(desk)
    desk.do("wu.claim", wu_id=WU)
    desk.do("wu.done", wu_id=WU, no_checkpoint_check=True)
    summary = desk.do("summary.make", wu_id=WU).target
    assert desk.meta(made["last"])["summarized_into"] == summary
    assert "\n- done, lane Core\n" in desk.node(summary)["content"]


def test_pinned_sensitive_and_handed_over_nodes(desk):
    work(desk)
    pinned = desk.add("note", wu_id=WU, content="pinned", metadata={"pinned": True})
    secret = desk.add("note", wu_id=WU, content="the password", metadata={"sensitive": True})
    handed = desk.add("note", wu_id=WU, content="go on here", tags=["handoff"])
    summary = desk.do("summary.make", wu_id=WU).target
    assert not [node for node in (pinned, secret, handed) if "summarized_into" in desk.meta(node)]
    assert "password" not in desk.node(summary)["content"]
    assert secret not in desk.meta(summary)["source_nodes"]


def test_a_unit_without_anything_is_told_apart_from_one_that_is_not_there(desk, cli):
    work(desk)
    desk.do("wu.new", title="empty", id="WU-010")
    before = desk.files()
    code, _, err = cli("summarize", "--wu", "WU-010")
    assert (code, "nothing to summarize on WU-010 yet" in err) == (3, True)
    code, _, err = cli("summarize", "--wu", "WU-0011")
    assert (code, "there is no work unit WU-0011" in err, "did you mean: WU-001" in err) == (3, True, True)
    assert cli("summarize", "--wu", "../x")[0] == 2
    with pytest.raises(ActionError):
        desk.do("summary.make", wu_id="WU-999")
    assert desk.files() == before


def test_thousands_of_sources_fit_one_line(desk):
    nodes = [
        {
            "id": f"mem-{n:013d}", "type": "note", "content": f'"{n}" ' + "\\ü" * 200, "wu_id": WU,
            "created_at": times.iso(desk.now),
        }
        for n in range(3000)
    ]  # fmt: skip
    desk.store.nodes.append_all(nodes)
    summary = desk.do("summary.make", wu_id=WU).target
    assert desk.meta(summary)["source_count"] == 3000
    assert {desk.meta(f"mem-{n:013d}")["summarized_into"] for n in (0, 1700, 2999)} == {summary}
    assert max(map(len, desk.layout.memory.read_bytes().splitlines())) < files.MAX_LINE
    desk.do("undo")
    assert "summarized_into" not in desk.meta("mem-0000000001700")


texts = st.text(max_size=300)
facts = st.dictionaries(
    st.sampled_from(["status", "question", "answer", "progress", "nextSteps", "pinned", "sensitive", "priority"]),
    st.one_of(texts, st.booleans(), st.none(), st.integers(), st.lists(texts, max_size=2)),
)
records = st.fixed_dictionaries(
    {
        "id": st.integers(0, 10**9).map(lambda n: f"mem-{n:013d}"),
        "type": st.sampled_from(["note", "checkpoint", "discovery", "session", "summary", "other"]),
        "content": texts, "created_at": texts, "tags": st.lists(texts | st.just("decision"), max_size=3),
        "metadata": st.one_of(facts, st.none()),
    }
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(records, max_size=30, unique_by=lambda node: node["id"]))
def test_any_nodes_give_a_safe_text_within_its_bounds(nodes):
    made = draft(Subject(WU, "t"), nodes)
    again = draft(Subject(WU, "t"), nodes[::-1])
    assert made == again
    if made is None:
        return
    assert len(json.dumps(made.content, ensure_ascii=False).encode("utf-8", "replace")) <= MOST_BYTES
    assert "\x1b" not in made.content
    assert "\u202e" not in made.content
    assert not set(made.taken) & set(made.still_open)
