"""Exports for other tools, against what docs/memory-layer.md says of their formats, and the way back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from lumen_tui.model import lumenflow
from lumen_tui.model.beads import node_of
from lumen_tui.storage import frontmatter
from lumen_tui.storage.rewriting import unwatched
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import export_beads, export_lumenflow, import_beads, import_lumenflow
from lumen_tui.store.memory.edges import in_force
from lumen_tui.store.memory.exporting import ExportRefused
from lumen_tui.store.memory.importing import Destination
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.work import unit_yaml

AT = "2026-11-21T06:00:00.000Z"
DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@pytest.fixture
def full(desk: Any) -> Any:
    """A folder with every kind of record, made by verbs, and records as only other programs write them."""
    desk.do("wu.new", title="Session manager", id="WU-042", lane="Framework: Core", body="Short.")
    desk.do("session.start", wu_id="WU-042", agent_type="claude-code")
    for text in ("validation works", "read by bob"):
        desk.do("signal.send", message=text, wu_id="WU-042")
    desk.do("signal.send", message="for bob alone", to="bob")
    desk.do("signal.read_all", by="eve")
    first = desk.discovery("Race\n\nIn the manager.", tags=["auth", "bug"], priority="P1", wu_id="WU-042")
    others = [desk.discovery(text) for text in ("archived", "deleted", "promoted", "kept", "second")]
    desk.do("triage.archive", node_ids=others[0], reason="a double")
    desk.do("node.delete", node_ids=others[1])
    desk.do("triage.promote", node_ids=others[2], lane="Core")
    desk.do("triage.keep", node_ids=others[3], days=7)
    note = desk.do("node.create", content="A note ünï ☃", type="note").target
    desk.do("node.create", content="Checkpoint: tests written", type="checkpoint", wu_id="WU-042")
    for start, kind, finish in (
        (first, "blocks", others[4]), (first, "blocks", "WU-042"), ("WU-043", "blocks", "WU-042"),
        (first, "related", note),
    ):  # fmt: skip
        desk.do("relation.add", from_id=start, type=kind, to_id=finish)
    desk.do("relation.remove", from_id=first, type="related", to_id=note)
    desk.do("wu.block", wu_id="WU-043", reason="waits")
    desk.do("wu.new", title="Done one", lane="UI")
    desk.do("wu.done", wu_id="WU-044")
    odd = [
        {"id": "mem-fd1d", "type": "discovery", "content": "of their form", "created_at": AT, "lifecycle": "wu"},
        {"id": "mem-a1b2.1", "type": "thought", "content": "", "created_at": "yesterday", "tags": None, "wu_id": "X-1"},
        {"id": "bd-1", "type": "discovery", "content": "x" * 700, "created_at": "2025-10-14T13:08:00.61-07:00"},
        {"id": "odd", "type": "note", "content": "c", "created_at": AT, "metadata": {"lumen": 1, "a": [{}]}, "n": None},
        {"id": "bare", "type": "note", "content": "c", "created_at": AT, "metadata": {}, "session_id": 7},
        node_of({"id": "bd-2", "title": "Issue", "status": "open", "priority": 4, "created_at": AT, "labels": ["l"]}),
    ]
    with desk.store.layout.memory.open("a") as file:
        file.writelines(json.dumps(node) + "\n" for node in odd)
    return desk


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def listing(store: Store) -> dict[str, Any]:
    """What `export --json`, `wu --json`, `inbox --json` and `link` read."""
    return {
        "nodes": {str(node["id"]): node for node in newest_nodes(store.layout)},
        "units": {path.name: frontmatter.split(path.read_text()) for path in store.layout.work.glob("*.md")},
        "signals": [json.loads(line) for line in store.signals.lines()],
        "receipts": [json.loads(line) for line in store.receipts.lines()],
        "edges": set(in_force(store.layout)),
        "sessions": {path.name: json.loads(path.read_text()) for path in store.layout.sessions.rglob("*.json")},
    }


def empty(tmp_path: Path) -> Store:
    store = Store(tmp_path / "empty")
    store.layout.create()
    return store


def out(desk: Any, tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    export_lumenflow.export(desk.store.layout, folder, unwatched)
    return folder


def must_be_taken(node: dict[str, Any]) -> None:
    """A node by the rules of LumenFlow's reader: one line that breaks one makes it refuse the file."""
    assert re.fullmatch(r"mem-[a-z0-9]{4}", node["id"])
    assert node["type"] in ("session", "discovery", "checkpoint", "note", "summary")
    assert node["lifecycle"] in ("ephemeral", "session", "wu", "project")
    assert isinstance(node["content"], str)
    assert node["content"]
    assert re.fullmatch(DATE, node["created_at"], re.ASCII)
    assert re.fullmatch(DATE, node.get("updated_at", AT), re.ASCII)
    assert re.fullmatch(r"WU-\d+", node.get("wu_id", "WU-1"), re.ASCII)
    assert re.fullmatch(UUID, node.get("session_id", "00000000-0000-4000-8000-000000000000"))
    assert isinstance(node.get("metadata", {}), dict)
    assert all(isinstance(tag, str) for tag in node.get("tags", []))


def test_every_line_is_one_that_lumenflow_takes(full, tmp_path):
    memory = out(full, tmp_path) / ".lumenflow" / "memory"
    nodes = lines(memory / "memory.jsonl")
    for node in nodes:
        must_be_taken(node)
    names = {node["id"] for node in nodes}
    assert len(names) == len(nodes) == len(listing(full.store)["nodes"])
    for signal in lines(memory / "signals.jsonl"):
        texts = ("id", "message", "created_at", "type", "sender", "origin", "remote_id")
        assert all(isinstance(signal[key], str) and signal[key].strip() for key in texts)
        assert isinstance(signal["read"], bool)
    assert [signal["read"] for signal in lines(memory / "signals.jsonl")][:3] == [True, True, False]
    for edge in lines(memory / "relationships.jsonl"):
        assert {edge["from_id"], edge["to_id"]} <= names
        assert edge["type"] in ("blocks", "parent_child", "related", "discovered_from")
    assert all(isinstance(receipt["signal_id"], str) for receipt in lines(memory / "signal-receipts.jsonl"))


def test_the_current_session_says_what_a_new_node_belongs_to(full, tmp_path):
    session = json.loads((out(full, tmp_path) / ".lumenflow/sessions/current.json").read_text())
    assert re.fullmatch(UUID, session["session_id"])
    assert session["wu_id"] == "WU-042"


def test_work_units_are_documents_events_and_stamps(full, tmp_path):
    project = out(full, tmp_path)
    documents = {path.stem: unit_yaml.read(path.read_bytes()) for path in (project / "docs/tasks/wu").glob("*.yaml")}
    assert {name: document["status"] for name, document in documents.items()} == {
        "WU-042": "in_progress", "WU-043": "blocked", "WU-044": "done",
    }  # fmt: skip
    for name, document in documents.items():
        assert document["id"] == name
        assert document["type"] in ("feature", "bug", "documentation", "process", "tooling", "chore", "refactor")
        assert len(str(document["description"]).strip()) >= 50
        assert document["acceptance"]
        assert document["lane"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(document["created"]))
    assert (documents["WU-042"]["blocked_by"], documents["WU-043"]["blocks"]) == (["WU-043"], ["WU-042"])
    events = lines(project / ".lumenflow/state/wu-events.jsonl")
    assert [event["type"] for event in events if event["wuId"] == "WU-044"] == ["create", "claim", "complete"]
    assert all(re.fullmatch(DATE, event["timestamp"]) for event in events)
    assert all(event["lane"] and event["title"] for event in events if event["type"] in ("create", "claim"))
    stamp = (project / ".lumenflow/stamps/WU-044.done").read_text()
    assert re.fullmatch(r"WU WU-044 — Done one\nCompleted: \d{4}-\d\d-\d\d\n", stamp)


def test_there_and_back_into_an_empty_folder_is_the_same_listing(full, tmp_path):
    project = out(full, tmp_path)
    store = empty(tmp_path)
    to = Destination(store.layout, AT)
    report = import_lumenflow.import_lumenflow(to, project / ".lumenflow")
    assert report.quarantined == 0
    assert listing(store) == listing(full.store)
    assert import_lumenflow.import_lumenflow(to, project / ".lumenflow").added == 0


def test_back_into_the_folder_that_it_came_from_changes_no_byte(full, tmp_path):
    project = out(full, tmp_path)
    before = full.files()
    report = import_lumenflow.import_lumenflow(Destination(full.store.layout, AT), project / ".lumenflow")
    assert full.files() == before
    assert [problem for part in report.parts for problem in part.problems] == []


def test_what_lumenflow_changed_meanwhile_comes_back_changed(full, tmp_path):
    project = out(full, tmp_path)
    path = project / ".lumenflow/memory/memory.jsonl"
    race = next(node for node in lines(path) if node["content"].startswith("Race"))
    ours = race["metadata"]["lumen"]["id"]["here"]
    later = {**race, "content": "Race, seen again", "updated_at": "2099-01-01T00:00:00.000Z"}
    found = {"id": "mem-0000", "type": "discovery", "lifecycle": "wu", "content": "new", "created_at": AT}
    with path.open("a") as file:
        file.write(json.dumps(later) + "\n" + json.dumps(found) + "\n")
    edge = {"from_id": "mem-0000", "to_id": race["id"], "type": "discovered_from", "created_at": AT}
    with (path.parent / "relationships.jsonl").open("a") as file:
        file.write(json.dumps(edge) + "\n")
    document = project / "docs/tasks/wu/WU-042.yaml"
    document.write_text(document.read_text().replace("status: in_progress", "status: done"))
    store = empty(tmp_path)
    import_lumenflow.import_lumenflow(Destination(store.layout, AT), project / ".lumenflow")
    there = listing(store)
    assert there["nodes"][ours]["content"] == "Race, seen again"
    assert there["nodes"][ours]["created_by"] == "ana"
    assert ("mem-0000", ours, "discovered_from") in there["edges"]
    assert there["units"]["WU-042.md"][0]["status"] == "done"


@pytest.mark.parametrize("place", ["file", "full", "link", "inside"])
def test_an_export_replaces_nothing(full, tmp_path, place):
    target = full.root / "out" if place == "inside" else tmp_path / "target"
    if place == "file":
        target.write_text("mine")
    if place == "full":
        target.mkdir()
        (target / "mine").write_text("mine")
    if place == "link":
        (tmp_path / "elsewhere").mkdir()
        target.symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.iterdir()), full.files()
    with pytest.raises(ExportRefused):
        export_lumenflow.export(full.store.layout, target, unwatched)
    if place != "full":
        with pytest.raises(ExportRefused):
            export_beads.export(full.store.layout, target, unwatched)
    assert (sorted(tmp_path.iterdir()), full.files()) == before


def test_an_export_that_is_stopped_leaves_nothing(full, tmp_path):
    def stop(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        export_lumenflow.export(full.store.layout, tmp_path / "new", stop)
    with pytest.raises(KeyboardInterrupt):
        export_beads.export(full.store.layout, tmp_path / "new.jsonl", stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_what_is_not_in_an_export_is_named(full, tmp_path):
    signals = len(listing(full.store)["signals"])
    with full.store.layout.memory.open("ab") as file:
        file.write(b'{"id":\n')
    with full.store.layout.signals.open("ab") as file:
        file.write(b"{\n")
    (full.store.layout.work / "WU-099.md").write_text("no front matter")
    report = export_lumenflow.export(full.store.layout, tmp_path / "project", unwatched)
    assert report.left_out["damaged lines of signals (doctor names them)"] == 1
    assert report.left_out["damaged lines of nodes (doctor names them)"] == 1
    assert report.left_out["work units whose file cannot be read"] == 1
    assert report.left_out["entries of the audit log"] > 0
    report = export_beads.export(full.store.layout, tmp_path / "issues.jsonl", unwatched)
    assert report.left_out["withdrawn relationships"] == 1
    assert report.left_out["signals"] == signals


def must_be_an_issue(issue: dict[str, Any]) -> None:
    """An issue by the rules of beads' own import."""
    assert 0 < len(issue["title"]) <= 500
    assert 0 <= issue["priority"] <= 4
    assert issue["status"] in ("open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked")
    assert (issue["status"] == "closed") == ("closed_at" in issue)
    for key in ("created_at", "updated_at"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)", issue[key])
    for dependency in issue.get("dependencies", []):
        assert dependency["issue_id"] == issue["id"]
        assert 0 < len(dependency["type"]) <= 50
        assert isinstance(dependency.get("metadata", ""), str)


def test_issues_of_beads_there_and_back(full, tmp_path):
    path = tmp_path / "issues.jsonl"
    export_beads.export(full.store.layout, path, unwatched)
    records = lines(path)
    issues = {record["id"]: record for record in records if record.get("_type") != "memory"}
    for issue in issues.values():
        must_be_an_issue(issue)
    assert issues["bd-2"]["priority"] == 4
    assert issues["WU-044"]["status"] == "closed"
    assert {record["value"] for record in records if record.get("_type") == "memory"} >= {"A note ünï ☃"}
    store = empty(tmp_path)
    to = Destination(store.layout, AT)
    report = import_beads.import_beads(to, path)
    assert report.quarantined == 0
    ours, theirs = listing(full.store), listing(store)
    assert theirs["units"] == ours["units"]
    kept = {name: node for name, node in ours["nodes"].items() if node["type"] in ("discovery", "note", "summary")}
    assert theirs["nodes"] == kept
    assert theirs["edges"] == ours["edges"]
    assert import_beads.import_beads(to, path).added == 0


def test_an_issue_that_was_closed_in_beads_comes_back_closed(full, tmp_path):
    path = tmp_path / "issues.jsonl"
    export_beads.export(full.store.layout, path, unwatched)
    records = lines(path)
    race = next(record for record in records if record.get("title") == "Race")
    race |= {
        "status": "closed",
        "closed_at": "2099-01-01T00:00:00Z",
        "close_reason": "fixed",
        "updated_at": "2099-01-01T00:00:00Z",
    }
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    import_beads.import_beads(Destination(full.store.layout, AT), path)
    node = full.node(race["id"])
    assert (node["metadata"]["status"], node["metadata"]["archive_reason"]) == ("archived", "fixed")
    assert node["created_by"] == "ana"


ANY = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEYS = ("type", "lifecycle", "content", "created_at", "updated_at", "wu_id", "session_id", "tags", "metadata", "x")


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(some.dictionaries(some.sampled_from(KEYS), ANY))
def test_any_record_is_made_one_that_is_taken_and_comes_back_as_it_was(fields):
    node = {"id": "mem-7f2k9c0w4h1zt", **fields}
    there = lumenflow.node_there(node, lumenflow.short_ids([str(node["id"])]))
    must_be_taken(there)
    assert lumenflow.node_here(json.loads(json.dumps(there))) == node


def test_ids_of_four_characters_are_unlike_each_other_and_always_the_same():
    ours = [f"mem-{number:013d}" for number in range(20_000)] + ["mem-ab12"]
    names = lumenflow.short_ids(ours)
    assert len(set(names.values())) == len(ours)
    assert names["mem-ab12"] == "mem-ab12"
    assert lumenflow.short_ids(ours) == names
