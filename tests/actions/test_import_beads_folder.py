"""beads' folder: issues, and beside them labels, dependencies, comments and what else it keeps there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.model.searching import parse
from lumen_tui.queries.search.search import Searcher
from lumen_tui.store.memory import import_beads
from lumen_tui.store.memory.importing import Destination, ImportReport

AT = "2026-11-21T06:00:00.000Z"
ISSUE = {"id": "bd-1", "title": "Lock is lost", "status": "open", "priority": 1, "created_at": AT, "updated_at": AT}


def folder(tmp_path: Path, **files: list[Any]) -> Path:
    """`.beads` with these files, each a list of records or raw lines."""
    root = tmp_path / "project"
    (root / ".beads").mkdir(parents=True, exist_ok=True)
    for name, records in files.items():
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        (root / ".beads" / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines))
    return root


def take(desk: Any, root: Path) -> ImportReport:
    path = import_beads.issues_file(root)
    assert path is not None
    return import_beads.import_beads(Destination(desk.store.layout, AT), path)


def edges(desk: Any) -> list[tuple[str, str, str]]:
    found = [json.loads(line) for line in desk.store.relationships.lines()]
    return [(edge["from_id"], edge["type"], edge["to_id"]) for edge in found]


def found(desk: Any, words: str) -> list[str]:
    with Searcher(desk.store.layout) as searcher:
        return [hit.ref for hit in searcher.search(parse(words, desk.now), desk.now).hits if hit.type == "discovery"]


def dependency(on: str, kind: str = "blocks", issue: str = "bd-1") -> dict[str, str]:
    return {"issue_id": issue, "depends_on_id": on, "type": kind, "created_at": AT}


def test_what_is_beside_an_issue_joins_it_and_once_more_changes_nothing(desk, tmp_path):
    inside = {
        **ISSUE,
        "labels": ["core"],
        "comments": [{"id": 1, "text": "inside"}],
        "dependencies": [dependency("bd-2")],
    }
    root = folder(
        tmp_path,
        issues=[inside, {**ISSUE, "id": "bd-2"}],
        labels=[{"issue_id": "bd-1", "label": "core"}, {"issue_id": "bd-1", "label": "urgent"}],
        dependencies=[dependency("bd-2"), dependency("bd-2", "parent-child"), dependency("bd-2", issue="bd-9")],
        comments=[
            {"id": 1, "issue_id": "bd-1", "text": "inside"},
            {"id": 2, "issue_id": "bd-1", "author": "eve", "text": "b"},
        ],
        events=[{"id": 1}, {"id": 2}],
    )
    report = take(desk, root)
    node = desk.node("bd-1")
    assert node["tags"] == ["core", "urgent"]
    assert [comment["id"] for comment in node["metadata"]["beads"]["comments"]] == [1, 2]
    assert edges(desk) == [("bd-2", "blocks", "bd-1"), ("bd-2", "parent_child", "bd-1")]
    assert report.left_out == {
        "dependencies of issues that are not in the file": 1,
        "lines of history (events.jsonl)": 2,
    }
    before = desk.files()
    assert take(desk, root).added == 0
    assert desk.files() == before


def test_what_is_outside_of_the_project_keeps_its_name_and_is_found(desk, tmp_path):
    take(desk, folder(tmp_path, issues=[ISSUE], dependencies=[dependency("external:beads:mol-run")]))
    assert edges(desk) == [("external:beads:mol-run", "blocks", "bd-1")]
    desk.do("triage.promote", node_ids="bd-1", lane="Core")
    assert found(desk, "external:beads:mol-run") == ["bd-1"]


def test_comments_and_design_are_searched(desk, tmp_path):
    comment = {"id": "c-1", "issue_id": "bd-1", "author": "eve", "text": "seen with a flibbertigibbet"}
    take(desk, folder(tmp_path, issues=[{**ISSUE, "design": "use flock(2)"}], comments=[comment]))
    assert found(desk, "flibbertigibbet") == found(desk, "flock") == ["bd-1"]


def test_the_lowest_priority_is_said(desk, tmp_path):
    report = take(desk, folder(tmp_path, issues=[{**ISSUE, "priority": 4}]))
    assert desk.node("bd-1")["metadata"]["priority"] == "P3"
    assert desk.node("bd-1")["metadata"]["beads"]["priority"] == 4
    assert report.notes == ["of priority 4 (backlog), which is P3 here and stays 4 in metadata.beads: 1"]


def test_memories_are_notes_for_the_whole_project(desk, tmp_path):
    root = folder(
        tmp_path, issues=[{"_schema": "beads-jsonl/1"}, {"_type": "memory", "key": "build", "value": "make first"}]
    )
    assert take(desk, root).quarantined == 0
    (line,) = desk.store.nodes.lines()
    node = json.loads(line)
    assert (node["type"], node["lifecycle"], node["content"]) == ("note", "project", "make first")
    path = root / ".beads/issues.jsonl"
    again = import_beads.import_beads(Destination(desk.store.layout, "2027-01-01T00:00:00.000Z"), path)
    assert again.added == 0


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_lines_of_one_issue_the_one_changed_last_counts(desk, tmp_path, order):
    two = [{**ISSUE, "title": "Older"}, {**ISSUE, "title": "Newer", "updated_at": "2026-12-01T00:00:00Z"}]
    report = take(desk, folder(tmp_path, issues=two[::order]))
    assert desk.node("bd-1")["content"] == "Newer"
    assert report.notes == ["lines that repeat an issue, of which the one changed last counts: 1"]


def test_a_circle_of_dependencies_hangs_nothing(desk, tmp_path):
    circle = [dependency("bd-2"), dependency("bd-1", issue="bd-2"), dependency("bd-1")]
    take(desk, folder(tmp_path, issues=[ISSUE, {**ISSUE, "id": "bd-2"}], dependencies=circle))
    assert len(edges(desk)) == 3
    desk.do("triage.archive", node_ids="bd-1", reason="a double")
    desk.do("triage.promote", node_ids="bd-2", lane="Core")


@pytest.mark.parametrize(
    "field", ["labels", "dependencies", "comments", "metadata", "priority", "status", "description"]
)
@pytest.mark.parametrize("value", [None, 5, "x", [5, None, {}], {"a": [1]}, [[[[]]]], True])
def test_a_field_of_a_wrong_type_hides_nothing_else(desk, tmp_path, field, value):
    root = folder(tmp_path, issues=[{**ISSUE, field: value}], labels=[{"issue_id": "bd-1", "label": "core"}])
    assert take(desk, root).quarantined == 0
    node = desk.node("bd-1")
    assert node["content"].startswith("Lock is lost")
    assert "core" in node["tags"]


def test_damaged_lines_beside_the_issues_are_counted(desk, tmp_path):
    bad = ["{", "[1]", '{"label":"x"}', "", '{"issue_id":5,"label":"x"}', '{"issue_id":"' + "x" * 1_100_000 + '"}']
    report = take(desk, folder(tmp_path, issues=[ISSUE], labels=bad))
    assert report.left_out == {"lines of labels.jsonl that cannot be used": 5}


def test_links_out_of_the_folder_are_not_read(desk, tmp_path):
    (tmp_path / "secret").write_text(json.dumps({"issue_id": "bd-1", "label": "stolen"}) + "\n")
    root = folder(tmp_path, issues=[ISSUE])
    (root / ".beads/labels.jsonl").symlink_to(tmp_path / "secret")
    take(desk, root)
    assert "tags" not in desk.node("bd-1")


def test_its_database_is_named_where_there_is_nothing_else(desk, tmp_path):
    from lumen_tui.actions.outcome import ActionError

    (tmp_path / ".beads/dolt").mkdir(parents=True)
    with pytest.raises(ActionError, match="bd export"):
        desk.do("import.beads", path=str(tmp_path))
    root = folder(tmp_path, issues=[ISSUE])
    (root / ".beads/dolt").mkdir()
    (root / ".beads/dolt/manifest").write_text("x")
    assert take(desk, root).left_out == {"files of dolt/": 1}
