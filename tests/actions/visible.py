"""What somebody sees of a state folder: files that are replaced, and the newest line of each record of a journal."""

from __future__ import annotations

import json
import re
import tomllib

from tests.actions.conftest import ActionsFolder

View = dict[tuple[str, str], object]
STAMPS = {"updated_at", "updated_by"}
_NOT_SEEN = (
    "index/", "locks/", "blocks/texts", "accepted/definitions", "work/retired", "tasks/", "evolved/version",
    "memory/cleanups/", "evals/versions/", "quarantine/",
)  # fmt: skip
_DECISIONS = "changes/decisions.json"  # of a task: what an operator said to what it changed
_GROWS = {
    "actions.jsonl", "commands.jsonl", "command-receipts.jsonl", "personnel.jsonl", "events.jsonl",
    "memory/touches.jsonl", "memory/confirmations.jsonl", "blocks/history.jsonl",
    "evolved/versions.jsonl", "evals/promotions.jsonl", "spend.jsonl",
}  # fmt: skip
_STEP = re.compile(rb"^step = \d+\n", re.M)  # the steps of a block are counted on
_SKIPPED = {*STAMPS, "position", "note", "summarized_at", "at", "by"}


def visible(desk: ActionsFolder) -> View:
    """The files that are replaced, and the newest line of each record."""
    seen: View = {}
    for name, data in desk.files().items():
        if name.endswith(_DECISIONS):
            seen.update({(name, path): decision for path, decision in json.loads(data).items()})
            continue
        if name.startswith(_NOT_SEEN) or "/." in f"/{name}" or name in _GROWS:
            continue
        if not name.endswith(".jsonl"):
            seen[name, ""] = _plainly(name, data)
            continue
        seen.update({(name, key): record for key, record in _newest(name, data).items()})
    return seen


def _plainly(name: str, data: bytes) -> object:
    if name.startswith("blocks/"):
        return _STEP.sub(b"", data)
    return tomllib.loads(data.decode()) if name.endswith(".toml") else data  # in what order tables stand says nothing


def _newest(name: str, data: bytes) -> dict[str, object]:
    newest: dict[str, object] = {}
    for line in data.splitlines():
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:  # torn or blank
            continue
        key = str(record.get("id") or "|".join(str(record.get(name)) for name in _KEYS))
        newest.pop(key, None)
        gone = (record.get("metadata") or {}).get("status") == "deleted" or "withdrawn" in (
            record.get("status"),
            record.get("state"),
        )
        gone = gone or (name == "schedules.jsonl" and record.get("status") == "removed")
        gone = gone or (name == "evals/abtests.jsonl" and record.get("reason") == "undone")
        gone = gone or record.get("withdrawn") is True
        gone = gone or str(record.get("archive_reason")).startswith("taken back")
        if not gone and not record.get("removed"):
            newest[key] = {
                name: value for name, value in record.items() if name not in _SKIPPED and value not in ({}, "")
            }
    return newest


_KEYS = ("key", "signal_id", "by", "reader", "from_id", "to_id", "type")
