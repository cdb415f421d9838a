"""Verbs of several writes, killed at each of them: what was begun is known, and all of it stands or nothing does."""

from __future__ import annotations

import json
from pathlib import Path

import lumen_sweeps
import pytest
from lumen_kills import killed_at

from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.storage import directories, files
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from tests.actions.conftest import NOW, Desk

_POINTS = 10  # writes of one verb, at most, before which it is killed
_WRITES = [(files, "write_all"), (files, "take_place"), (directories, "move"), (directories, "remove")]


def _prepared(desk: Desk) -> dict[str, str]:
    """What the verbs below are about."""
    one, two = desk.discovery("the first"), desk.discovery("the second", tags=["b"])
    unit = desk.do("wu.new", title="work", lane="Core").target
    claimed = desk.do("wu.new", title="more work", lane="UI").target
    desk.do("wu.claim", wu_id=claimed)
    session = desk.do("session.start", wu_id=desk.do("wu.new", title="sessions", lane="QA").target).target
    task = desk.do("task.new", objective="count").target
    for number in range(3):
        desk.do("signal.send", message=f"note {number}", by="bo")
    held = desk.do("relay.submit", relay_name="box", text="hello there", base=0).target
    note = desk.do("archive.insert", text="an older wish that stays").target
    return {
        "one": one, "two": two, "unit": unit, "claimed": claimed, "session": session, "task": task, "held": held,
        "note": note,
    }  # fmt: skip


ROLE = '+++\npurpose = "Keeps old things."\ntier = "haiku"\ntools = ["read_file"]\n+++\n\nKeep them.\n'
VERBS: list[tuple[str, dict[str, object]]] = [
    ("triage.promote", {"node_ids": "{one}", "lane": "Docs"}),
    ("triage.archive", {"node_ids": "{one}", "reason": "r"}),
    ("triage.merge", {"node_ids": "{one}", "into": "{two}"}),
    ("node.create", {"content": "new", "discovered_from": "{one}"}),
    ("archive.insert", {"text": "kept for good"}),
    ("archive.withdraw", {"passage_id": "{note}"}),
    ("role.hire", {"name": "archivist", "text": ROLE}),
    ("role.fire", {"name": "builder", "reason": "r"}),
    ("fact.add", {"claim": "the port is 8080"}),
    ("wu.new", {"title": "another"}),
    ("wu.claim", {"wu_id": "{unit}"}),
    ("wu.block", {"wu_id": "{claimed}", "reason": "r"}),
    ("wu.done", {"wu_id": "{claimed}"}),
    ("session.start", {"wu_id": "{unit}"}),
    ("session.end", {"session": "{session}"}),
    ("checkpoint.save", {"session": "{session}", "note": "half way"}),
    ("decision.note", {"session": "{session}", "question": "which port?"}),
    ("task.new", {"objective": "look"}),
    ("task.edit", {"task_id": "{task}", "changes": {"priority": "P0"}}),
    ("signal.send", {"message": "hello"}),
    ("block.new", {"name": "plan", "text": "a plan"}),
    ("setting.change", {"changes": {"memory.decay.threshold": 0.2}}),
    ("constitution.approve", {}),
    ("relay.submit", {"relay_name": "box", "text": "more", "base": 1}),
    ("cleanup.signals", {"ttl": "1s", "unread_ttl": "1s", "force": True}),
]


def _killed_at(root: Path, verb: str, arguments: dict[str, object], point: int) -> bool:
    return killed_at(
        point, _WRITES, lambda: perform(Store(root), named(verb, arguments), by="ana", now=NOW + 500, client="cli")
    )


def _filled(arguments: dict[str, object], names: dict[str, str]) -> dict[str, object]:
    return {key: value.format(**names) if isinstance(value, str) and "{" in value else value
            for key, value in arguments.items()}  # fmt: skip


_NOT_SEEN = (
    "index/",
    "locks/",
    "work/retired",
    "blocks/texts",
    "actions.jsonl",
    "memory/archive.jsonl",
    "memory/cleanups/",
)


def _seen(desk: Desk) -> dict[str, object]:
    """What somebody sees of the folder: files that are replaced, and the newest line of what journals hold."""
    found: dict[str, object] = {}
    for name, data in desk.files().items():
        if name.startswith(_NOT_SEEN) or "/." in f"/{name}":
            continue
        seen = _newest(data) if name.endswith(".jsonl") else data
        if seen:  # an empty journal is as none
            found[name] = seen
    return found


_SKIPPED = ("updated_at", "updated_by", "summarized_at", "position", "note")


def _newest(data: bytes) -> dict[str, object]:
    newest: dict[str, object] = {}
    for line in data.splitlines():
        record = json.loads(line)
        name = str(record.get("id") or "")
        meta = record.get("metadata") or {}
        if meta.get("status") == "deleted" or record.get("status") == "withdrawn" or record.get("removed"):
            newest.pop(name, None)
            continue
        if name:
            newest[name] = {
                key: value for key, value in record.items() if key not in _SKIPPED and value not in ({}, "")
            }
    return newest


@pytest.mark.sweep(most=10)
@pytest.mark.parametrize(("verb", "arguments"), VERBS, ids=[verb for verb, _ in VERBS])
def test_a_verb_killed_between_two_writes_is_undone_as_a_whole_or_mended_by_the_doctor(tmp_path, verb, arguments):
    killed = 0
    for point in lumen_sweeps.sample(list(range(_POINTS)), 3, verb):
        for mend in ("undo", "doctor"):
            desk = Desk(tmp_path / f"{point}-{mend}")
            desk.store.layout.create()
            names = _prepared(desk)
            before, entries = _seen(desk), _standing(desk)
            if not _killed_at(desk.root, verb, _filled(arguments, names), point):
                continue
            killed += 1
            begun = journal.open_entries(desk.store.layout)
            if mend == "undo":
                if _standing(desk) != entries:
                    perform(desk.store, named("undo", {}), by="ana", now=NOW + 600, client="cli")
                assert _seen(desk) == before, (verb, point)
                assert _standing(desk) == entries, "no older action was taken back"
            else:
                report = examine(desk.store, now=NOW + 600, fix=True)
                unfinished = [one for one in report.findings if one.check == "unfinished actions"]
                assert len(unfinished) == len(begun)
                assert all(one.mended for one in unfinished), unfinished
                assert not journal.open_entries(desk.store.layout)
                if _standing(desk) != entries:
                    perform(desk.store, named("undo", {}), by="ana", now=NOW + 700, client="cli")
                assert _seen(desk) == before, (verb, point)
    assert killed or not lumen_sweeps.FULL, "no point was reached"


def _standing(desk: Desk) -> list[str]:
    return [one.first.id for one in journal.in_effect(desk.store.layout, lambda action: action.by == "ana")]


def test_an_action_that_is_being_done_by_somebody_alive_is_left_alone(desk):
    node = desk.discovery()
    action = next(iter(journal.in_effect(desk.store.layout, lambda _: True))).first
    with journal.Transaction(desk.store.layout) as transaction:
        transaction.announce(action)
        assert journal.open_entries(desk.store.layout) == []
        assert [one for one in examine(desk.store, now=NOW).findings if one.check == "unfinished actions"] == []
    assert desk.node(node)
