"""A line of wrong bytes or of endless brackets is damaged like any other: it hides only itself, from every reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumen_tui.__main__ import main
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.engine.events import EventLog
from lumen_tui.model.records import decode_node, decode_signal
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.damage import DamageScan
from lumen_tui.storage.store import Store

NOW = 1_800_000_000.0
DAMAGE = (
    b'{"id":"\xff","at":"\xff","kind":"\xff","verb":"\xff","target":"\xff","node_id":"\xff","signal_id":"\xff"}',
    b'{"id":"mem-a","type":"discovery","content":"\xff","created_at":"2026-01-01T00:00:00Z"}',
    b'{"id":"evo-a","at":"2026-01-01T00:00:00Z","data":{"approval":"\xff"},"metadata":{"status":"\xff"}}',
    b'{"id":"mem-b","type":"note","content":"\xff","created_at":"2025-01-01T00:00:00Z"}',
    b'{"id":' + b"[" * 20_000,
    b'["id"]',
    b'"id"',
    b"\xff\xfe\x00",
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Wrong bytes in every journal."""
    store = Store(tmp_path / "state")
    layout = store.layout
    layout.create()
    journals = [path for path in vars(layout).values() if isinstance(path, Path) and path.suffix == ".jsonl"]
    assert len(journals) > 15
    for path in journals:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(DAMAGE) + b"\n")
    return store


@pytest.mark.fault("R7", "wrong bytes in each journal")
def test_the_room_shows_the_rest_and_names_the_damage(store: Store) -> None:
    log = EventLog(store)
    log.add("note", "all the same", NOW)
    snapshot = SnapshotReader(store.root).snapshot(NOW)
    assert {"memory/memory.jsonl", "memory/archival.jsonl"} <= {problem.where for problem in snapshot.problems}
    assert [event.text for event in log.since(0)] == ["all the same"]


@pytest.mark.fault("R7", "wrong bytes in each journal")
def test_damage_goes_to_quarantine_and_the_doctor_names_it(store: Store) -> None:
    store.layout.quarantine.unlink()
    assert DamageScan(store.layout).scan("2026-01-01T00:00:00Z") > 4
    named = {finding.where.partition(":")[0] for finding in examine(store, now=NOW).findings}
    assert {"memory/memory.jsonl", "events.jsonl", "actions.jsonl"} <= named


def test_what_can_be_read_of_a_record_is_shown() -> None:
    line = b'{"id":"sig-a","message":"caf\xe9","sender":"ann","type":"note","content":"caf\xe9","created_at":""}'
    assert decode_signal(line).message == decode_node(line).content == "caf\ufffd"
    assert decode_signal(b"[" * 20_000).message == "(not readable)"
    assert decode_node(b'["id"]').id == ""


VERBS = (
    "status", "inbox", "task list", "events", "triage", "budget", "fact list", "search word", "archive list",
    "relay list", "blocks list", "since --at 30d", "packets", "capsule", "recall word", "doctor", "decay --dry-run",
    "wu list", "role stats", "approvals list", "undo", "signal again --key k", "signal cleanup --dry-run",
    "cleanup --dry-run", "at 1h",
)  # fmt: skip


@pytest.mark.fault("R7", "wrong bytes in each journal")
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_gets_past_it(store: Store, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--state", str(store.root), *verb.split()]) in (0, 1, 3)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.fault("R7", "wrong bytes in each journal")
@pytest.mark.parametrize(
    "damage",
    [b"\xff\xfe{", b'{"reason":"\xff","at":"\xff","by":"\xff"}', b"[" * 20_000],
    ids=["bytes", "text", "brackets"],
)
def test_no_record_of_one_thing_keeps_the_state_from_being_read(
    tmp_path: Path, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "state")
    store.layout.create()
    records = [path for path in vars(store.layout).values() if isinstance(path, Path) and path.suffix == ".json"]
    assert len(records) > 8
    for path in [*records, store.layout.pauses, store.layout.engine_lock]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damage)
    named = {finding.where for finding in examine(store, now=NOW).left}
    if not damage.endswith(b"}"):  # else it is JSON, but for one byte that a reader makes out
        may_be_anything = {store.layout.kill, store.layout.pause, store.layout.heartbeat}
        assert named >= {str(path.relative_to(store.root)) for path in {*records} - may_be_anything}
    assert SnapshotReader(store.root).snapshot(NOW).root == str(store.root)
    for verb in ("status", "doctor", "constitution diff", "session list", "resume", "blocks list"):
        assert main(["--state", str(store.root), *verb.split()]) in (0, 1, 3), capsys.readouterr().err
