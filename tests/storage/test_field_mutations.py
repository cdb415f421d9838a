"""One field of one record changed to whatever JSON can say: the record may be damaged, no verb and no other record is.

Every journal that real verbs fill takes part with each shape of record in it, so that a new one is in by itself.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_program import lumen

from lumen_tui.model import jsontext
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.tasks.task_records import has_worker

SAMPLED_FILES = 2  # changed JSON files of a part, in the short form
PARTS = 4  # of the changed JSON files, each a test of its own: four commands on each take many minutes
NOW = 1_800_000_000.0
INFINITE = "1e400"  # what a decoder must refuse, and Python's takes
GONE = object()
VALUES: tuple[Any, ...] = (
    GONE, None, 5, -1, 10**400, 1.5e300, float("inf"), float("nan"), True, "", "x" * 300, "\ud800", "../x", "\0",
    "9999999-99-99T00:00:00Z", [], [3], [None], {}, {"a": {"b": [1]}},
)  # fmt: skip
READS = (
    "status", "status --json", "inbox --no-mark --all", "inbox --no-mark --all --json", "inbox --count", "task list",
    "task list --json", "events", "events --json", "triage", "triage --json", "budget", "fact list", "fact list --json",
    "archive list", "relay list", "relay show board", "relay held", "blocks list", "blocks history human",
    "search word", "since --at 30d", "packets", "packets --json", "capsule", "recall word", "doctor", "decay --dry-run",
    "wu list", "role stats", "approvals list", "signal cleanup --dry-run", "cleanup --dry-run", "export",
    "export -f json", "context --wu WU-100", "ready --wu WU-100", "recover --wu WU-100", "session list",
    "attention list", "constitution diff", "why WU-100",
)  # fmt: skip
WRITES = (
    "checkpoint again", "signal hello", "create another", "inbox", "fact add New -p port:1", "evolve", "decay",
    "cleanup", "signal cleanup", "summarize --wu WU-100", "handoff rest --wu WU-100", "undo", "doctor --fix", "doctor",
    "--engine-only --once",
)  # fmt: skip
LISTINGS = {
    "inbox --no-mark --reader zoe --all --json": "memory/signals.jsonl",
    "triage --json": "memory/memory.jsonl",
    "fact list --json": "memory/memory.jsonl",
}


def run(root: Path, *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of one command."""
    ran = lumen(["--state", str(root), *words], env=dict(os.environ), cwd=root.parent, stdin="")
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with records of many kinds, each made by its verb."""
    root = tmp_path_factory.mktemp("mutations") / "state"
    session = {"session_id": "s", "cwd": "/", "hook_event_name": "PostToolUse", "tool_name": "Read"}
    for words in (
        ["init"], ["wu", "new", "Sessions survive", "--id", "WU-100", "--lane", "Core"], ["start", "--wu", "WU-100"],
        ["checkpoint", "half done"], ["signal", "80 % done", "--wu", "WU-100"],
        ["signal", "for bob", "--to", "bob", "--priority", "P0"], ["inbox"],
        ["create", "Race in the manager", "--type", "bug", "--priority", "P1", "--tags", "a,b"],
        ["create", "A word", "--type", "note", "--tags", "decision"], ["decide", "Which port?"],
        ["link", "WU-100", "blocks", "WU-101"], ["fact", "add", "API on 8080", "-p", "port 8080"],
        ["archive", "insert", "a word we know", "--tag", "x"], ["blocks", "append", "human", "likes tea"],
        ["relay", "submit", "board", "first entry", "--base", "0"], ["handoff", "all but docs", "--wu", "WU-100"],
        ["task", "new", "count the lines in /etc"], ["kill", "--reason", "wild"], ["unkill"],
        ["role", "hire", "scout", "--from", "researcher"], ["--engine-only", "--once"],
    ):  # fmt: skip
        run(root, *words)
    while any(has_worker(folder) for folder in (root / "tasks").iterdir()):
        time.sleep(0.05)  # a folder in which somebody writes cannot be copied
    nodes = [json.loads(line) for line in (root / "memory/memory.jsonl").read_text().splitlines()]
    run(root, "touch", nodes[0]["id"])
    hooks = root / "sessions/hook-events.jsonl"
    if not hooks.exists():
        hooks.write_text(json.dumps({"at": "2026-11-22T08:00:00Z", "event": "PostToolUse", **session}) + "\n")
    return root


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the fields of a record are, three levels deep."""
    if len(path) > 2:
        return
    inner = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    for key, below in inner:
        yield (*path, key)
        yield from places(below, (*path, key))


def changed(record: dict[str, Any], path: Sequence[Any], value: Any) -> str:
    """The record as JSON with another value at `path`."""
    other = copy.deepcopy(record)
    holder: Any = other
    for key in path[:-1]:
        holder = holder[key]
    if value is GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return json.dumps(other).replace("Infinity", INFINITE)


def mutations(record: dict[str, Any]) -> Iterator[str]:
    """Each field changed to each value, and an unknown field with what no decoder should take."""
    for path in places(record):
        for value in VALUES:
            yield changed(record, path, value)
    yield changed(record, ("x",), float("inf"))
    yield changed(record, ("x",), "\ud800")


def journals(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.jsonl") if path.stat().st_size)


def spoil(journal: Path) -> None:
    """Append every mutation of each shape of record, under ids of their own."""
    shapes: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in journal.read_text().splitlines():
        record = json.loads(line)
        shapes[record.get("type"), record.get("verb"), record.get("kind"), tuple(sorted(record))] = record
    lines = []
    for number, record in enumerate(shapes.values()):
        if isinstance(record.get("id"), str):
            record = {**record, "id": f"{record['id'].partition('-')[0]}-mutant{number:05}"}
        lines += mutations(record)
    with journal.open("a") as file:
        file.write("\n".join(lines) + "\n")


def complaint(root: Path, words: str) -> str:
    """What a verb did that none may do; empty where it got past the damage."""
    code, _, errors = run(root, *(word.replace(":", " ") for word in words.split()))
    return "" if code in (0, 1, 3) and "Traceback" not in errors else f"{words}: {code} {errors[-300:]}"


def ids_shown(root: Path, words: str) -> set[str]:
    return {row["id"] for row in json.loads(run(root, *words.split())[1])}


@pytest.fixture(scope="module")
def spoilt(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("spoilt") / "state"
    shutil.copytree(filled, root)
    names = {str(path.relative_to(root)) for path in journals(root)}
    assert {"memory/memory.jsonl", "memory/signals.jsonl", "actions.jsonl", "events.jsonl"} <= names
    assert len(names) >= 10
    for journal in journals(root):
        spoil(journal)
    return root


@pytest.mark.fault("R7", "each field of each record changed to whatever JSON can say")
def test_no_field_of_any_record_stops_a_verb_that_reads(spoilt: Path) -> None:
    assert [text for words in READS if (text := complaint(spoilt, words))] == []


@pytest.mark.fault("R7", "each field of each record changed to whatever JSON can say")
@pytest.mark.parametrize("words", LISTINGS)
def test_a_damaged_record_hides_no_other(filled: Path, tmp_path: Path, words: str) -> None:
    root = tmp_path / "state"
    shutil.copytree(filled, root)
    before = ids_shown(root, words)
    spoil(root / LISTINGS[words])
    assert before
    assert before <= ids_shown(root, words)


@pytest.mark.fault("R7", "each field of each record changed to whatever JSON can say")
def test_every_row_of_a_picture_can_be_shown(spoilt: Path) -> None:
    snapshot = SnapshotReader(spoilt).snapshot(NOW)
    rows = [value for value in msgspec.structs.asdict(snapshot).values() if isinstance(value, Sequence)]
    assert sum(len(list(listing)) for listing in rows) > 100


@pytest.mark.fault("R7", "each field of each record changed to whatever JSON can say")
def test_no_field_of_any_record_stops_a_verb_that_writes(spoilt: Path, tmp_path: Path) -> None:
    root = tmp_path / "state"
    shutil.copytree(spoilt, root)
    assert [text for words in WRITES if (text := complaint(root, words))] == []


@pytest.mark.fault("R7", "each field of each record changed to whatever JSON can say")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_field_of_a_file_of_one_record_stops_a_verb(filled: Path, sampled, tmp_path: Path, part: int) -> None:
    root = tmp_path / "state"
    shutil.copytree(filled, root)
    cases = [
        (path, text)
        for path in sorted(root.rglob("*.json"))
        if "index" not in path.parts and path.read_bytes().startswith(b"{")
        for text in mutations(json.loads(path.read_text()))
    ]
    assert len(cases) > 500
    for path, text in sampled(cases[part::PARTS], SAMPLED_FILES):
        good = path.read_bytes()
        path.write_text(text)
        for words in ("status --json", "ready --wu WU-100", "task list", "checkpoint x --wu WU-100"):
            assert complaint(root, words) == "", (path, text)
        path.write_bytes(good)


@pytest.mark.fault("R7", "each field of each record changed to whatever JSON can say")
def test_both_decoders_call_the_same_records_damaged(spoilt: Path) -> None:
    """msgspec's, which the room and the engine use, and the one of the verbs that must start fast."""
    strict = msgspec.json.Decoder(dict[str, Any]).decode
    for journal in journals(spoilt):
        for line in journal.read_bytes().splitlines():
            try:
                strict(line)
                taken = True
            except UNDECODABLE:
                taken = False
            assert (jsontext.decode(line) is not None) == taken, line[:200]
