"""LumenFlow's work units: YAML documents, events and stamps, of a project as its own program writes it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import times
from lumen_tui.storage import frontmatter
from lumen_tui.store.memory import import_lumenflow
from lumen_tui.store.memory.importing import Destination, ImportReport
from lumen_tui.store.work import unit_yaml, work_units

AT = "2026-11-21T06:00:00.000Z"
DOCUMENT = """\
id: WU-7
title: 'Migration guide: adopting it'
lane: 'Content: Documentation'
type: chore
status: {status}
priority: P1
created: 2026-01-30
code_paths:
  - apps/docs/guide.mdx
tests:
  manual:
    - Verify that it renders
  unit: []
notes: ''
requires_review: false
assigned_to: tom@example.org
description: 'Create a guide for existing users who want to adopt it.
  Covers: when to use each mode, how to migrate.'
acceptance:
  - Explains when to use it
  - Has examples
claimed_at: 2026-01-30T23:49:38.316Z
phase: 2
"""


def project(tmp_path: Path, *, status: str = "ready", events: tuple[dict[str, Any], ...] = (), stamp: str = "") -> Path:
    """A LumenFlow project with one work unit and no memory/."""
    root = tmp_path / "project"
    for folder in ("docs/tasks/wu", ".lumenflow/state", ".lumenflow/stamps"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "docs/tasks/wu/WU-7.yaml").write_text(DOCUMENT.format(status=status))
    (root / ".lumenflow/state/wu-events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    if stamp:
        (root / f".lumenflow/stamps/{stamp}.done").write_text(f"WU {stamp} — A title\nCompleted: 2026-02-01\n")
    return root


def take(desk: Any, root: Path) -> ImportReport:
    folder = import_lumenflow.lumenflow_folder(root)
    assert folder is not None
    return import_lumenflow.import_lumenflow(Destination(desk.store.layout, AT), folder)


def unit(desk: Any, wu_id: str) -> Any:
    return work_units.read_tracked(desk.store.layout, wu_id)


def event(kind: str, when: str, wu_id: str = "WU-7", **more: str) -> dict[str, Any]:
    return {"type": kind, "wuId": wu_id, "timestamp": f"2026-02-0{when}T00:00:00.000Z", **more}


def test_a_folder_without_memory_brings_its_units_with_all_that_they_say(desk, tmp_path):
    take(desk, project(tmp_path))
    found = unit(desk, "WU-7")
    assert (found.title, found.lane, found.priority) == ("Migration guide: adopting it", "Content: Documentation", "P1")
    assert (found.status, found.acceptance) == ("ready", ("Explains when to use it", "Has examples"))
    assert "Covers: when to use each mode" in found.body
    table = frontmatter.split(desk.store.layout.work_unit("WU-7").read_text())[0]["lumenflow"]
    assert (table["type"], table["phase"], table["code_paths"]) == ("chore", 2, ["apps/docs/guide.mdx"])
    assert table["tests"] == {"manual": ["Verify that it renders"], "unit": []}
    assert table["requires_review"] is False
    desk.do("wu.claim", wu_id="WU-7")
    assert unit(desk, "WU-7").status == "in_progress", "it can be started"


def test_a_unit_whose_stamp_says_done_is_done_and_one_that_only_has_a_stamp_is_there(desk, tmp_path):
    root = project(tmp_path, status="in_progress", stamp="WU-7")
    (root / ".lumenflow/stamps/WU-8.done").write_text("WU WU-8 — Only a stamp\nCompleted: 2026-02-01\n")
    take(desk, root)
    assert (unit(desk, "WU-7").status, unit(desk, "WU-7").done_at[:10]) == ("done", "2026-02-01")
    assert (unit(desk, "WU-8").title, unit(desk, "WU-8").status) == ("Only a stamp", "done")
    with pytest.raises(ActionError, match="is done"):
        desk.do("wu.claim", wu_id="WU-8")


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((event("create", "1", lane="Core", title="From events"),), "ready"),
        ((event("claim", "1", lane="Core", title="From events"),), "in_progress"),
        ((event("claim", "1", lane="Core", title="From events"), event("block", "2", reason="waits")), "blocked"),
        ((event("claim", "1", lane="Core", title="From events"), event("release", "2", reason="r")), "ready"),
        ((event("claim", "1", lane="Core", title="From events"), event("complete", "3")), "done"),
    ],
)
def test_without_a_document_the_events_say_how_it_is(desk, tmp_path, events, status):
    root = project(tmp_path, events=tuple({**one, "wuId": "WU-9"} for one in events))
    take(desk, root)
    found = unit(desk, "WU-9")
    assert (found.title, found.lane, found.status) == ("From events", "Core", status)
    assert found.blocked_reason == ("waits" if status == "blocked" else "")
    table = frontmatter.split(desk.store.layout.work_unit("WU-9").read_text())[0]["lumenflow"]
    assert [one["type"] for one in table["events"]] == [one["type"] for one in events], "its history stays with it"


def test_checkpoints_among_the_events_are_checkpoints_of_the_unit(desk, tmp_path):
    note = event("checkpoint", "2", note="half of it", progress="50%", nextSteps="the rest", sessionId="s-1")
    take(desk, project(tmp_path, events=(note,)))
    (line,) = desk.store.nodes.lines()
    node = json.loads(line)
    assert (node["type"], node["content"], node["wu_id"]) == ("checkpoint", "half of it", "WU-7")
    assert (node["metadata"]["progress"], node["metadata"]["nextSteps"]) == ("50%", "the rest")


def test_what_blocks_a_unit_there_blocks_it_here_even_in_a_circle(desk, tmp_path):
    root = project(tmp_path)
    path = root / "docs/tasks/wu/WU-7.yaml"
    path.write_text(path.read_text() + "blocked_by:\n  - WU-8\nblocks:\n  - WU-8\n")
    (root / "docs/tasks/wu/WU-8.yaml").write_text(DOCUMENT.format(status="ready").replace("WU-7", "WU-8"))
    take(desk, root)
    with pytest.raises(ActionError, match="is blocked by WU-8"):
        desk.do("wu.claim", wu_id="WU-7")


@pytest.mark.parametrize("status", ["cancelled", "superseded"])
def test_what_is_over_without_being_done_is_said(desk, tmp_path, status):
    report = take(desk, project(tmp_path, status=status))
    assert unit(desk, "WU-7").status == "done"
    assert report.notes == [f"work units that are {status} in LumenFlow, done here: 1"]
    assert f'status = "{status}"' in desk.store.layout.work_unit("WU-7").read_text()


def test_once_more_changes_no_byte_and_undo_takes_all_of_it(desk, tmp_path):
    root = project(tmp_path, events=(event("claim", "1", lane="Core", title="x"), event("checkpoint", "2", note="n")))
    before = desk.files()
    desk.do("import.lumenflow", path=str(root))
    after = desk.files()
    assert desk.do("import.lumenflow", path=str(root)).action_id == ""
    assert desk.files() == after
    desk.do("undo")
    assert {**desk.files(), "actions.jsonl": b""} == {**before, "actions.jsonl": b"", "memory/memory.jsonl": b""}


def edited(root: Path, status: str, when: str) -> None:
    """What LumenFlow's own program would do to the document later."""
    (root / "docs/tasks/wu/WU-7.yaml").write_text(DOCUMENT.format(status=status) + f"completed_at: {when}\n")


def test_a_unit_that_nobody_changed_here_follows_its_source_and_undo_gives_it_back(desk, tmp_path):
    root = project(tmp_path)
    desk.do("import.lumenflow", path=str(root))
    before = desk.store.layout.work_unit("WU-7").read_bytes()
    edited(root, "done", "2026-03-01T00:00:00.000Z")
    desk.do("import.lumenflow", path=str(root))
    assert unit(desk, "WU-7").status == "done"
    desk.do("undo")
    assert desk.store.layout.work_unit("WU-7").read_bytes() == before


@pytest.mark.parametrize(("there", "status"), [("2001-01-01", "blocked"), ("2099-01-01", "done")])
def test_of_two_changes_the_later_one_stands(desk, tmp_path, there, status):
    root = project(tmp_path)
    take(desk, root)
    desk.do("wu.block", wu_id="WU-7", reason="not now")
    here = times.epoch("2050-01-01")
    os.utime(desk.store.layout.work_unit("WU-7"), (here, here))
    edited(root, "done", f"{there}T00:00:00.000Z")
    report = take(desk, root)
    assert unit(desk, "WU-7").status == status
    assert any("ours is kept" in problem for part in report.parts for problem in part.problems) == (status == "blocked")
    once = desk.files()
    take(desk, root)
    assert desk.files() == once


def test_a_unit_that_a_mention_made_gets_its_title_and_keeps_its_state(desk, tmp_path):
    desk.do("wu.new", title="Untitled", id="WU-7")
    desk.do("wu.claim", wu_id="WU-7")
    take(desk, project(tmp_path))
    found = unit(desk, "WU-7")
    assert (found.title, found.lane) == ("Migration guide: adopting it", "Content: Documentation")
    assert (found.status, found.claimed_by) == ("in_progress", "ana")


def test_what_has_no_place_is_counted_by_kind(desk, tmp_path):
    root = project(tmp_path)
    for name in ("templates/a.md", "templates/b.md", "telemetry/tools.ndjson", "locks/core.lock", "memory/config.yaml"):
        (root / ".lumenflow" / name).parent.mkdir(exist_ok=True)
        (root / ".lumenflow" / name).write_text("x")
    (root / "docs/tasks/initiatives").mkdir()
    (root / "docs/tasks/initiatives/INIT-1.yaml").write_text("id: INIT-1\n")
    assert take(desk, root).left_out == {
        "initiatives": 1,
        "files of locks/": 1,
        "files of telemetry/": 1,
        "files of templates/": 2,
        "memory/config.yaml": 1,
    }


def nested(depth: int) -> str:
    return "a: " + "[" * depth + "]" * depth


HOSTILE = {
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "an anchor on a text": "id: &x WU-7\n",
    "deep": nested(5000),
    "deep in blocks": "".join(f"{' ' * at}a:\n" for at in range(3000)),
    "dashes": "- " * 3000,
    "a tag": "id: !!python/object/apply:os.system ['true']\n",
    "another tag": "id: !!binary aGk=\n",
    "a list": "- id: WU-7\n",
    "two documents": "id: WU-7\n---\nid: WU-8\n",
    "a key twice": "id: WU-7\nid: WU-8\n",
    "half a text": "id: 'WU-7\n",
    "too large": "id: WU-7\nnotes: " + "x" * 300_000,
    "another id": "id: ../../etc/passwd\n",
    "a number as id": "id: 7\n",
    "nothing": "",
    "a control character": "id: \x01\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_named_and_hides_only_itself(desk, tmp_path, name):
    root = project(tmp_path)
    (root / "docs/tasks/wu/WU-8.yaml").write_text(HOSTILE[name])
    report = take(desk, root)
    (part,) = [part for part in report.parts if part.target == "work"]
    assert (part.added, part.quarantined) == (1, 1)
    assert "WU-8.yaml: " in part.problems[0]
    assert len(part.problems[0]) < 600


def test_links_out_of_the_folder_are_not_followed(desk, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "memory.jsonl").write_text(json.dumps({"id": "mem-1", "type": "note", "content": "c", "created_at": AT}))
    (secret / "WU-8.yaml").write_text(DOCUMENT.format(status="ready").replace("WU-7", "WU-8"))
    (secret / "WU-9.done").write_text("x")
    root = project(tmp_path)
    (root / ".lumenflow/memory").mkdir()
    (root / ".lumenflow/memory/memory.jsonl").symlink_to(secret / "memory.jsonl")
    (root / "docs/tasks/wu/WU-8.yaml").symlink_to(secret / "WU-8.yaml")
    (root / ".lumenflow/stamps/WU-9.done").symlink_to(secret / "WU-9.done")
    os.mkfifo(root / ".lumenflow/memory/signals.jsonl")
    report = take(desk, root)
    assert not desk.store.layout.work_unit("WU-8").exists()
    assert not (desk.root / "stamps/WU-9.done").exists()
    assert list(desk.store.nodes.lines()) == []
    assert report.left_out["memory.jsonl, a link to outside of the folder"] >= 1


@pytest.mark.parametrize(
    "line",
    ["{", "[1]", '{"type":"claim"}', '{"type":"x","wuId":"WU-7","timestamp":"2026-01-01T00:00:00Z"}', '"\\ud800"',
     '{"type":"claim","wuId":"WU-7","timestamp":5}', '{"type":"claim","wuId":["WU-7"],"timestamp":"2026-01-01"}'],
)  # fmt: skip
def test_a_damaged_event_is_named_and_hides_only_itself(desk, tmp_path, line):
    root = project(tmp_path)
    with (root / ".lumenflow/state/wu-events.jsonl").open("a") as file:
        file.write(f"{line}\n{json.dumps(event('complete', '3'))}\n")
    report = take(desk, root)
    assert sum(part.quarantined for part in report.parts) == 1
    table = frontmatter.split(desk.store.layout.work_unit("WU-7").read_text())[0]["lumenflow"]
    assert len(table["events"]) == 1


def test_scalars_are_those_of_the_core_schema():
    text = "a: yes\nb: 2026-01-01\nc: 0123\nd: 1.5\ne: ~\nf: '12'\ng: true\nh: |\n  two\n  lines\ni: 0x1f\n"
    assert unit_yaml.read(text.encode()) == {
        "a": "yes", "b": "2026-01-01", "c": 123, "d": 1.5, "e": None, "f": "12", "g": True, "h": "two\nlines\n",
        "i": "0x1f",
    }  # fmt: skip


@pytest.mark.parametrize("value", ["no", "~", "", "WU-7", "a: b", "1", "\x85\u2028\x7f", "ünï", ["x", {"a": None}], 3])
def test_what_is_written_reads_the_same_with_and_without_the_package(value):
    data = unit_yaml.write({"id": "WU-7", "value": value})
    assert unit_yaml.read(data) == {"id": "WU-7", "value": value}
    assert unit_yaml.read(b"# a comment\n" + data) == {"id": "WU-7", "value": value}, "read by the YAML package"
