"""The JSON of documented spellings has LumenFlow's shapes, that of our own has ours; exports say what they lack."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.cli.main import main

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    monkeypatch.setenv("LUMEN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LUMEN_OPERATOR", "ana")
    monkeypatch.delenv("LUMEN_SESSION", raising=False)
    monkeypatch.chdir(tmp_path)

    def said(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out.strip(), captured.err

    said("init")
    said("wu", "new", "Session manager", "--id", "WU-042", "--lane", "Core")
    return said


def made(say: Say, *words: str) -> str:
    return say("create", *words, "--wu", "WU-042")[1]


def shaped(say: Say, *words: str) -> Any:
    code, out, err = say(*words)
    assert code in (0, 3), err
    return json.loads(out)


def test_ready_lists_what_nothing_holds_back_in_the_documented_order(say):
    later, first = made(say, "later", "-p", "P2"), made(say, "first", "-p", "P0")
    blocked, gone = made(say, "blocked", "-p", "P1"), made(say, "gone", "-p", "P1")
    none, note = made(say, "no priority"), made(say, "a note", "--type", "note")
    say("link", first, "blocks", blocked)
    say("triage", "--archive", gone, "--reason", "a double")
    ready = shaped(say, "mem:ready", "--wu", "WU-042", "-f", "json")
    assert {key: ready[key] for key in ("wuId", "type", "count")} == {"wuId": "WU-042", "type": None, "count": 4}
    assert [node["id"] for node in ready["nodes"]] == [first, later, none, note]
    assert shaped(say, "mem-ready", "--wu", "WU-042", "--format=json", "-t", "note")["nodes"][0]["id"] == note
    assert shaped(say, "ready", "--wu", "WU-042", "--json")["wu_id"] == "WU-042", "our own shape under our own spelling"


def test_export_counts_and_names_its_filters(say):
    made(say, "one"), made(say, "two", "--type", "note")
    whole = shaped(say, "mem:export", "--wu", "WU-042", "-t", "note", "-f", "json")
    assert (whole["count"], len(whole["nodes"])) == (1, 1)
    assert whole["filters"] == {"wuId": "WU-042", "type": "note", "lifecycle": None}
    assert isinstance(shaped(say, "export", "--json"), list)


SHAPES = {
    ("mem:context", "--wu", "WU-042", "-f", "json"): {"wuId", "contextBlock", "stats"},
    ("mem:recover", "--wu", "WU-042", "-f", "json"): {"wuId", "context", "size", "truncated"},
    ("mem:profile", "--json"): {"success", "nodes", "profileBlock", "stats"},
    ("mem:delete", "--tag", "x", "--dry-run", "--json"): {
        "success", "deletedCount", "deletedIds", "skippedIds", "dryRun", "errors",
    },
    ("mem:cleanup", "--dry-run", "--json"): {
        "success", "removedIds", "retainedIds", "bytesFreed", "compactionRatio", "dryRun", "breakdown",
    },
    ("mem:promote", "-w", "WU-042", "-t", "decision", "--dry-run", "--json"): {"success", "dryRun", "promotedNodes"},
    ("mem:summarize", "--wu", "WU-042", "--dry-run", "--json"): {
        "success", "summary", "markedForCleanup", "dryRun", "compactionRatio",
    },
    ("mem:summarize", "--wu", "WU-042", "--json"): {
        "success", "summary", "markedForCleanup", "dryRun", "compactionRatio",
    },
    ("signal:cleanup", "--dry-run", "--json"): {
        "success", "removedCount", "retainedCount", "bytesFreed", "compactionRatio", "dryRun", "breakdown",
    },
    ("mem:index", "-n", "--json"): {
        "success", "nodesCreated", "nodesUpdated", "nodesSkipped", "sourcesScanned", "sourcesMissing", "dryRun",
    },
}  # fmt: skip


@pytest.mark.parametrize("words", SHAPES, ids=" ".join)
def test_each_has_the_documented_keys(say, tmp_path, words):
    (tmp_path / "README.md").write_text("# A project\n")
    made(say, "what was decided", "--type", "note", "--tags", "x")
    say("checkpoint", "half", "--wu", "WU-042")
    say("summarize", "--wu", "WU-042")
    made(say, "what came later", "--type", "note")
    assert set(shaped(say, *words)) == SHAPES[words]


def test_an_archived_discovery_is_named(say):
    node = made(say, "a double")
    archived = shaped(say, "mem:triage", "--archive", node, "--reason", "a double", "--json")
    assert archived == {"success": True, "nodeId": node}


def test_deletion_names_what_it_deleted(say):
    node = made(say, "not wanted")
    deleted = shaped(say, "mem:delete", node, "--json")
    assert (deleted["deletedCount"], deleted["deletedIds"], deleted["dryRun"]) == (1, [node], False)


def test_exports_name_what_they_lack(say, tmp_path):
    one, two, gone = made(say, "one"), made(say, "two"), made(say, "gone")
    say("link", one, "blocks", two)
    say("delete", gone)
    code, out, err = say("export", "-f", "json")
    assert (code, len(json.loads(out))) == (0, 2)
    assert "deleted nodes (1)" in err
    assert "relationships (1)" in err
    assert len(json.loads(say("export", "--json", "--all")[1])) == 3
    code, out, err = say("export", "lumenflow", str(tmp_path / "out"))
    assert (code, out.partition(": ")[2].partition(",")[0]) == (0, "nodes (3)")
    assert "entries of the audit log" in err
    report = shaped(say, "export", "beads", str(tmp_path / "issues.jsonl"), "--json")
    assert (report["kind"], report["written"]["discoveries"]) == ("beads", 3)


@pytest.mark.parametrize(
    "words", [("export", "lumenflow"), ("export", "beads", "x", "--wu", "WU-1"), ("export", "letta", "x")], ids=" ".join
)
def test_an_export_that_makes_no_sense_is_refused(say, tmp_path, words):
    assert say(*words)[0] == 2
    assert not (tmp_path / "x").exists()


def test_an_export_replaces_nothing(say, tmp_path):
    (tmp_path / "issues.jsonl").write_text("mine")
    code, _, err = say("export", "beads", str(tmp_path / "issues.jsonl"))
    assert (code, "is there already" in err) == (2, True)
    assert (tmp_path / "issues.jsonl").read_text() == "mine"


def test_an_import_names_what_it_did_not_take(say, tmp_path):
    beads = tmp_path / "project" / ".beads"
    (beads / "dolt").mkdir(parents=True)
    (beads / "dolt" / "manifest").write_text("x")
    (beads / "issues.jsonl").write_text('{"id":"bd-1","title":"t","priority":4,"created_at":"2026-01-01T00:00:00Z"}\n')
    code, out, err = say("import", "beads", str(tmp_path / "project"))
    assert (code, "priority 4 (backlog)" in out, "not taken: files of dolt/ (1)" in err) == (0, True, True)
    report = shaped(say, "import", "beads", str(tmp_path / "project"), "--json")
    assert (report["added"], report["left_out"]) == (0, {"files of dolt/": 1})
