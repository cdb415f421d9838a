"""What an export left in the other tool's records may come back as anything: it hides only itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from lumen_tui.model import beads_marks, lumenflow, lumenunits
from lumen_tui.store.memory import import_beads, import_lumenflow
from lumen_tui.store.memory.importing import Destination
from lumen_tui.store.work import unit_yaml, work_units

AT = "2026-11-21T06:00:00.000Z"
NODE = {"id": "mem-ab12", "type": "note", "lifecycle": "wu", "content": "c", "created_at": AT}
ISSUE = {"id": "bd-1", "title": "Lock", "status": "open", "priority": 1, "created_at": AT, "updated_at": AT}
UNIT = {"id": "WU-7", "title": "T", "lane": "Core", "status": "ready", "created": "2026-01-01", "description": "D"}
NAMES = (
    "id",
    "type",
    "content",
    "metadata",
    "node",
    "beads",
    "bare",
    "unit",
    "front",
    "body",
    "there",
    "here",
    "events",
)
ANY = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=4) | some.just("../x"),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)
SLOW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@SLOW
@given(ANY)
def test_no_mark_is_an_error(mark):
    lumenflow.node_here({**NODE, "metadata": {"lumen": mark}})
    lumenflow.marked_here({"id": "sig-1", "message": "m", "created_at": AT, "lumen": mark})
    lumenflow.edge_here({"from_id": "a", "to_id": "b", "type": "blocks", "metadata": {"lumen": mark}}, {})
    beads_marks.node_of({**ISSUE, "metadata": {"lumen": mark}})
    beads_marks.note_of({"_type": "memory", "key": "k", "value": "v", "lumen": mark})
    dependency = {"depends_on_id": "bd-2", "type": "blocks", "metadata": json.dumps({"lumen": mark})}
    list(beads_marks.edges_of({**ISSUE, "dependencies": [dependency]}))
    lumenunits.unit_of(lumenunits.UnitSource("WU-7", {**UNIT, "lumen": mark}))


def sides(**here: Any) -> dict[str, Any]:
    """A mark by which each of these fields is what it was here."""
    there = {**NODE, "from_id": "a", "to_id": "b"}
    return {key: {"here": value, **({"there": there[key]} if key in there else {})} for key, value in here.items()}


BAD_NODES = [{"id": "../../x"}, {"id": 5}, {"content": None}, {"created_at": []}, {"type": {}}]


@pytest.mark.parametrize("fields", BAD_NODES, ids=str)
def test_a_mark_that_makes_no_node_is_quarantined(desk, tmp_path, fields):
    memory = tmp_path / ".lumenflow/memory"
    memory.mkdir(parents=True)
    bad = {**NODE, "metadata": {"lumen": sides(**fields)}}
    (memory / "memory.jsonl").write_text(json.dumps(bad) + "\n" + json.dumps({**NODE, "id": "mem-cd34"}) + "\n")
    to = Destination(desk.store.layout, AT)
    report = import_lumenflow.import_lumenflow(to, memory.parent)
    assert (report.added, report.quarantined) == (1, 1)


@pytest.mark.parametrize("fields", [{"id": "../x"}, {"id": 5}, {"type": []}], ids=str)
def test_a_mark_that_makes_no_node_of_an_issue_is_quarantined(desk, tmp_path, fields):
    mark = {"node": {key: {"here": value, "there": beads_marks.node_of(ISSUE)[key]} for key, value in fields.items()}}
    path = tmp_path / "issues.jsonl"
    issues = [{**ISSUE, "metadata": {"lumen": mark}}, {**ISSUE, "id": "bd-2"}]
    path.write_text("".join(json.dumps(issue) + "\n" for issue in issues))
    report = import_beads.import_beads(Destination(desk.store.layout, AT), path)
    assert (report.added, report.quarantined) == (1, 1)


FRONTS = [
    {"status": ["done"]}, {"lane": 5}, {"title": None}, {"acceptance": "x"}, {"lumenflow": []},
    {"lumenflow": {"a": None}}, {"status": "no such"}, {"x": [1, {"a": [None]}]}, {"claimed_at": {}},
]  # fmt: skip


@pytest.mark.parametrize("fields", FRONTS, ids=str)
@pytest.mark.parametrize("tool", ["lumenflow", "beads"])
def test_a_unit_that_comes_back_broken_leaves_no_file_that_cannot_be_read(desk, tmp_path, fields, tool):
    front = {"id": "WU-7", "title": "T", **fields}
    to = Destination(desk.store.layout, AT)
    if tool == "beads":
        path = tmp_path / "issues.jsonl"
        issue = {**ISSUE, "id": "WU-7", "metadata": {"lumen": {"unit": {"front": front, "body": "b"}}}}
        path.write_text(json.dumps(issue) + "\n")
        report = import_beads.import_beads(to, path)
    else:
        report = _lumenflow_unit(to, tmp_path, {**UNIT, "lumen": {"front": front, "body": "b"}})
    written = desk.store.layout.work_unit("WU-7").exists()
    assert written != bool(report.quarantined)
    assert work_units.list_units(desk.store.layout)[1] == []


def _lumenflow_unit(to: Destination, tmp_path: Path, document: dict[str, Any]) -> Any:
    folder = tmp_path / "docs/tasks/wu"
    folder.mkdir(parents=True)
    (tmp_path / ".lumenflow/state").mkdir(parents=True)
    (folder / "WU-7.yaml").write_bytes(unit_yaml.write(document))
    return import_lumenflow.import_lumenflow(to, tmp_path / ".lumenflow")
