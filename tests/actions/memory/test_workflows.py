"""The documented workflows, run as written, through the command line."""

from __future__ import annotations

import json

import pytest

from lumen_tui.store.work import work_units


@pytest.fixture
def ok(cli):
    """A command that ends well; what it printed."""

    def run(*words: str) -> str:
        code, out, err = cli(*words)
        assert code == 0, (words, err)
        return out.strip()

    return run


def test_a_discovery_becomes_a_work_unit(desk, ok):
    """During WU-042 a race condition is noted; triage lists it; promoting it makes WU-043."""
    ok("wu", "new", "Session handling", "--id", "WU-042", "--lane", "Framework: Core")
    ok("start", "--wu", "WU-042")
    node = ok(
        "create", "Found race condition in session manager", "--type", "discovery", "--priority", "P1",
        "--tags", "bug,auth,race-condition", "--wu", "WU-042",
    )  # fmt: skip
    listed = json.loads(ok("triage", "--json"))
    assert [(one["id"], one["type"], one["metadata"]["priority"], one["wu_id"]) for one in listed] == [
        (node, "discovery", "P1", "WU-042"),
    ]  # fmt: skip
    assert listed[0]["tags"] == ["bug", "auth", "race-condition"]
    ok("triage", "--promote", node, "--lane", "Framework: Core", "--title", "Fix the race in the session manager")
    unit = work_units.read_unit(desk.layout, "WU-043")
    assert (unit.type, unit.lane, unit.discovery, unit.discovered_in, unit.priority) == (
        "bug", "Framework: Core", node, "WU-042", "P1",
    )  # fmt: skip
    assert desk.meta(node)["promoted_to"] == "WU-043"
    assert json.loads(ok("triage", "--json")) == []
    why = json.loads(ok("why", node, "--json"))
    assert [(step["link"], step["id"]) for step in why["down"]] == [("promoted to", "WU-043")]
    ok("undo")
    assert work_units.read_unit(desk.layout, "WU-043") is None
    assert [one["id"] for one in json.loads(ok("triage", "--json"))] == [node]


def test_research_over_days(desk, ok):
    """Start WU-050; each morning `ready` has yesterday's checkpoint; on day 3 one summary concludes it."""
    ok("wu", "new", "Which queue to use", "--id", "WU-050", "--lane", "Research")
    ok("wu", "claim", "WU-050")
    ok("start", "--wu", "WU-050")
    ok("decide", "Broker or plain files?", "--answer", "plain files", "--wu", "WU-050")
    ok("checkpoint", "read three designs", "--progress", "30%", "--next-steps", "measure appends", "--wu", "WU-050")
    ok("signal", "day 1: leaning to plain files", "--wu", "WU-050")
    desk.now += 86400
    morning = ok("ready", "--wu", "WU-050")
    for said in ("read three designs", "measure appends", "day 1: leaning to plain files", "plain files"):
        assert said in morning
    ok("decide", "One file or one for each lane?", "--answer", "one file", "--wu", "WU-050")
    ok("decide", "What when the disk is full?", "--wu", "WU-050")
    found = ok("create", "flock over NFS is not measured", "--type", "question", "--priority", "P2", "--wu", "WU-050")
    ok("checkpoint", "appends measured", "--progress", "80%", "--next-steps", "write it up", "--wu", "WU-050")
    ok("signal", "day 2: one file it is", "--wu", "WU-050")
    desk.now += 86400
    morning = ok("ready", "--wu", "WU-050")
    for said in ("appends measured", "write it up", "day 2: one file it is", "What when the disk is full?"):
        assert said in morning
    summary = ok("summarize", "--wu", "WU-050")
    text = desk.node(summary)["content"]
    order = [
        "# WU-050: Which queue to use", "## Outcome", "appends measured (80%)", "## Decisions",
        "Broker or plain files? → plain files", "One file or one for each lane? → one file", "## What was done",
        "read three designs (30%)", "## Found", f"STILL OPEN as {found}", "## Next", "write it up",
        "What when the disk is full?",
    ]  # fmt: skip
    places = [text.find(said) for said in order]
    assert places == sorted(places)
    assert -1 not in places
    sources = desk.meta(summary)["source_nodes"]
    assert len(sources) == 5, "two decisions, two checkpoints, the session"
    assert {step["id"] for step in json.loads(ok("why", summary, "--json"))["up"]} == set(sources)
    assert [one["type"] for one in json.loads(ok("export", "--wu", "WU-050", "-t", "summary", "--json"))] == ["summary"]
    assert [one["id"] for one in json.loads(ok("triage", "--json"))] == [found], "it is still to be judged"
    after = ok("ready", "--wu", "WU-050")
    assert "appends measured" in after
    assert "What when the disk is full?" in after
    ok("wu", "done", "WU-050")
    assert ok("summarize", "--wu", "WU-050") != summary, "the outcome is another one now"
