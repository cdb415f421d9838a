from __future__ import annotations

import json
from pathlib import Path

import lumen_sweeps
import pytest

from lumen_tui.model import beads
from lumen_tui.storage.journal import Journal
from lumen_tui.store.memory import import_beads, import_lumenflow, nodes
from lumen_tui.store.memory.importing import Destination

AT = "2026-11-21T06:00:00.000Z"
MEMORY = [
    b'{"id":"mem-fd1d","type":"discovery","lifecycle":"wu","content":"Found race condition","created_at":'
    b'"2026-11-21T03:57:11.571Z","wu_id":"WU-42","metadata":{"priority":"P1"},"tags":["bug","auth"],"theirs":[1,{}]}',
    b'{"id":"mem-5dcc","type":"session","lifecycle":"wu","content":"Session started","created_at":"2026-11-21"}',
    b'{"id":"mem-a1b2.1","type":"note","content":"child","created_at":"x","tags":null}',
    b'{"id":"mem-fd1d","type":"discovery","lifecycle":"wu","content":"Found race condition","created_at":'
    b'"2026-11-21T03:57:11.571Z","metadata":{"status":"archived","archive_reason":"Duplicate of WU-100"}}',
]


def folder(tmp_path: Path) -> Path:
    memory = tmp_path / "project" / ".lumenflow" / "memory"
    memory.mkdir(parents=True)
    (memory / "memory.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(MEMORY) + b"\r\n\n")
    (memory / "signals.jsonl").write_text(
        '{"id":"sig-77353557","message":"Completed","created_at":"2026-11-21T03:56:52.116Z","read":false,'
        '"type":"coordination","sender":"system","origin":"local","remote_id":"sig-77353557","wu_id":"WU-42"}\n'
    )
    (memory / "signal-receipts.jsonl").write_text('{"signal_id":"sig-77353557","read_at":"2026-11-21T03:57:02.931Z"}\n')
    (memory / "relationships.jsonl").write_text(
        '{"from_id":"mem-5986","to_id":"mem-fd1d","type":"discovered_from","created_at":"2026-11-21T03:57:14.918Z"}\n'
    )
    for name, text in (("sessions/current.json", '{"wuId":"WU-42"}'), ("stamps/WU-041.done", "done\n")):
        path = memory.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return memory.parent


def test_lumenflow_lines_come_over_byte_for_byte_and_once(desk, tmp_path):
    source = folder(tmp_path)
    assert import_lumenflow.lumenflow_folder(tmp_path / "project") == source
    report = import_lumenflow.import_lumenflow(Destination(desk.store.layout, AT), source)
    assert (report.added, report.quarantined) == (4 + 1 + 1 + 1 + 1 + 1 + 1, 0), "the stamp makes a unit that is done"
    assert list(desk.store.nodes.lines()) == MEMORY
    assert desk.node("mem-fd1d")["metadata"]["status"] == "archived"
    before = desk.files()
    again = import_lumenflow.import_lumenflow(Destination(desk.store.layout, "2027-01-01T00:00:00.000Z"), source)
    assert (again.added, sum(part.present for part in again.parts)) == (0, 10)
    assert desk.files() == before


def test_only_the_new_lines_of_a_grown_source_come_over(desk, tmp_path):
    source = folder(tmp_path)
    import_lumenflow.import_lumenflow(Destination(desk.store.layout, AT), source)
    desk.do("decay.pin", node_ids="mem-5dcc")
    with (source / "memory" / "memory.jsonl").open("ab") as file:
        file.write(MEMORY[0] + b"\n")  # an older state that came back
    assert import_lumenflow.import_lumenflow(Destination(desk.store.layout, AT), source).added == 1
    assert desk.node("mem-fd1d")["theirs"] == [1, {}]
    assert desk.node("mem-5dcc")["metadata"]["pinned"] is True


def test_damaged_and_overlong_lines_go_to_quarantine_once(desk, tmp_path):
    source = folder(tmp_path)
    bad = [
        b'{"id":"mem-1',
        b"\xff\xfe",
        b'{"id":"mem-2","type":"note"}',
        b"[1]",
        b'{"id":"../x","type":"n","content":"","created_at":""}',
        b'{"id":"mem-3","content":"' + b"x" * 3_000_000 + b'"}',
        b"[" * 5000,
    ]
    (source / "memory" / "memory.jsonl").write_bytes(b"\n".join([MEMORY[0], *bad, MEMORY[1]]) + b"\n")
    report = import_lumenflow.import_lumenflow(Destination(desk.store.layout, AT), source)
    part = report.parts[0]
    assert (part.read, part.added, part.quarantined) == (9, 2, 7)
    assert list(desk.store.nodes.lines()) == MEMORY[:2]
    kept = [json.loads(line) for line in Journal(desk.store.layout.quarantine).lines()]
    assert [one["where"].rpartition(":")[2] for one in kept] == ["2", "3", "4", "5", "6", "7", "8"]
    assert "1 MiB" in kept[5]["reason"]
    assert part.problems[0].startswith(f"{source}/memory/memory.jsonl:2: ")
    before = desk.files()
    import_lumenflow.import_lumenflow(Destination(desk.store.layout, AT), source)
    assert desk.files() == before


def test_our_own_session_and_stamp_files_are_kept(desk, tmp_path):
    (desk.root / "sessions" / "current.json").write_text("{}")
    source = folder(tmp_path)
    (source / "stamps" / "..done").write_text("x")
    report = import_lumenflow.import_lumenflow(Destination(desk.store.layout, AT), source)
    assert (desk.root / "sessions" / "current.json").read_text() == "{}"
    assert "ours is another" in report.parts[-2].problems[0]
    assert report.parts[-1].quarantined == 1


ISSUE = {
    "id": "bd-a3f8.1", "title": "Lock is lost", "description": "On restart.", "design": "flock", "status": "open",
    "priority": 1, "issue_type": "bug", "created_at": "2025-10-14T13:08:00.610819-07:00", "labels": ["core"],
    "updated_at": "2025-10-15T00:00:00Z", "estimated_minutes": 30, "comments": [{"id": 1, "text": "seen twice"}],
    "dependencies": [
        {"issue_id": "bd-a3f8.1", "depends_on_id": "bd-1", "type": "blocks", "created_at": "2025-10-16T00:00:00Z"},
        {"issue_id": "bd-a3f8.1", "depends_on_id": "bd-2", "type": "parent-child"},
        {"issue_id": "bd-a3f8.1", "depends_on_id": "bd-3", "type": "discovered-from"},
        {"issue_id": "bd-a3f8.1", "depends_on_id": "bd 4", "type": "waits-for"},
    ],
}  # fmt: skip


def issues(tmp_path: Path, *found: object) -> Path:
    path = tmp_path / ".beads" / "issues.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(one) + "\n" for one in found))
    return path


DECISIONS = {
    "triage.archive": {"reason": "a double"},
    "triage.promote": {"lane": "Core"},
    "triage.keep": {"days": 7},
    "decay.pin": {},
}


@pytest.mark.parametrize("verb", DECISIONS)
@pytest.mark.parametrize("changed_at", ["2025-01-01T00:00:00Z", "2026-11-22T08:00:00Z", "2035-01-01T00:00:00Z"])
def test_no_import_takes_back_what_a_person_decided(desk, tmp_path, verb, changed_at):
    path = issues(tmp_path, ISSUE)
    import_beads.import_beads(Destination(desk.store.layout, AT), path)
    desk.do(verb, node_ids="bd-a3f8.1", **DECISIONS[verb])
    before = desk.node("bd-a3f8.1")
    path.write_text(json.dumps({**ISSUE, "title": "Lock is lost again", "updated_at": changed_at}) + "\n")
    report = import_beads.import_beads(Destination(desk.store.layout, AT), path)
    after = desk.node("bd-a3f8.1")
    decided = {key: value for key, value in before["metadata"].items() if key not in ("beads", "priority")}
    assert decided.items() <= after["metadata"].items()
    newer = changed_at > "2030"
    assert after["content"].startswith("Lock is lost again") == newer, "what is newer is taken over all the same"
    nodes_part = report.parts[0]
    assert nodes_part.kept == (not newer or "status" in decided), "it is said what does not take effect"
    lines = list(desk.store.nodes.lines())
    import_beads.import_beads(Destination(desk.store.layout, AT), path)
    assert list(desk.store.nodes.lines()) == lines, "once more changes nothing"


def test_an_older_export_of_another_tool_does_not_turn_back_a_newer_one(desk, tmp_path):
    path = issues(tmp_path, {**ISSUE, "title": "Newer"})
    import_beads.import_beads(Destination(desk.store.layout, AT), path)
    path.write_text(json.dumps({**ISSUE, "updated_at": "2025-10-14T23:00:00Z"}) + "\n")
    report = import_beads.import_beads(Destination(desk.store.layout, AT), path)
    assert desk.node("bd-a3f8.1")["content"].startswith("Newer")
    assert "ours is kept" in report.parts[0].problems[0]


def test_an_open_issue_becomes_a_discovery_with_everything_kept(desk, tmp_path):
    path = issues(tmp_path, ISSUE)
    assert import_beads.issues_file(tmp_path) == path
    report = import_beads.import_beads(Destination(desk.store.layout, AT), path)
    assert (report.added, report.quarantined) == (1 + 4, 0)
    node = desk.node("bd-a3f8.1")
    assert (node["type"], node["content"], node["tags"]) == (
        "discovery",
        "Lock is lost\n\nOn restart.",
        ["core", "bug"],
    )
    assert node["metadata"]["priority"] == "P1"
    kept = {**node["metadata"]["beads"], "id": node["id"], "title": "Lock is lost", "description": "On restart."}
    assert {**kept, "created_at": node["created_at"], "updated_at": node["updated_at"]} == ISSUE
    edges = [json.loads(line) for line in desk.store.relationships.lines()]
    assert [(one["from_id"], one["type"], one["to_id"]) for one in edges[:3]] == [
        ("bd-1", "blocks", "bd-a3f8.1"),
        ("bd-2", "parent_child", "bd-a3f8.1"),
        ("bd-a3f8.1", "discovered_from", "bd-3"),
    ]
    assert (edges[3]["type"], edges[3]["beads_type"], edges[3]["to_id"]) == (
        "related",
        "waits-for",
        beads.node_id("bd 4"),
    )
    desk.do("triage.promote", node_ids="bd-a3f8", lane="Core")
    before = desk.files()
    assert import_beads.import_beads(Destination(desk.store.layout, "2027-01-01T00:00:00.000Z"), path).added == 0
    assert desk.files() == before


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"status": "closed", "closed_at": "2025-11-01T00:00:00Z"}, ("archived", "P1")),
        ({"status": "tombstone"}, ("deleted", "P1")),
        ({"status": "in_progress", "priority": 4}, (None, "P3")),
        ({"status": "blocked", "priority": 0}, (None, "P0")),
        ({"priority": "high"}, (None, None)),
    ],
)
def test_status_and_priority_of_issues(desk, tmp_path, change, expected):
    import_beads.import_beads(Destination(desk.store.layout, AT), issues(tmp_path, {**ISSUE, **change}))
    metadata = desk.node("bd-a3f8.1")["metadata"]
    assert (metadata.get("status"), metadata.get("priority")) == expected


def test_an_id_that_cannot_be_one_here_is_mapped_and_remembered(desk, tmp_path):
    import_beads.import_beads(Destination(desk.store.layout, AT), issues(tmp_path, {**ISSUE, "id": "a/b c"}))
    assert desk.node(beads.node_id("a/b c"))["metadata"]["beads_id"] == "a/b c"


def test_what_is_no_issue_goes_to_quarantine(desk, tmp_path):
    path = issues(tmp_path, {"_type": "memory", "key": "x"}, ISSUE, {"id": "bd-9", "title": ""}, 7)
    with path.open("ab") as file:
        file.write(b'{"id":\n')
    report = import_beads.import_beads(Destination(desk.store.layout, AT), path)
    assert report.parts[0].quarantined == 4
    assert report.parts[0].added == 1


@pytest.mark.sweep
def test_many_records_come_in_once(desk, tmp_path):
    ids = [f"bd-{number}" for number in range(10_000 if lumen_sweeps.FULL else 1_500)]
    path = issues(tmp_path, *[{**ISSUE, "id": name} for name in ids])
    report = import_beads.import_beads(Destination(desk.store.layout, AT), path)
    assert report.parts[0].added == len(ids)
    assert len(nodes.find(desk.store.layout.memory, ids)) == len(ids)
    assert import_beads.import_beads(Destination(desk.store.layout, AT), path).added == 0
