"""Notes of the archive and texts of relays have a chain as well."""

from __future__ import annotations

import pytest
from lumen_folder import StateFolder

from lumen_tui.model import agent
from lumen_tui.model import relay as rules
from lumen_tui.model.ids import Ambiguous, short
from lumen_tui.model.lineage import TreeRow, rows
from lumen_tui.queries.lineage.trace import resolve, trace
from lumen_tui.store.memory import relays

NOW = 1_790_000_000.0


@pytest.fixture
def folder(tmp_path):
    made = StateFolder(tmp_path / "state", NOW)
    made.layout.create()
    return made


def lines(layout, name) -> list[tuple[str, str, str]]:
    found: list[TreeRow] = list(rows(trace(layout, name, NOW)))
    return [(row.side, row.hop.kind, row.hop.link) for row in found]


def test_a_note_leads_to_its_work_unit_and_back(folder):
    unit = folder.do("wu.new", title="Renew the certificate").target
    note = folder.do("archive.insert", text="Reload nginx after it", wu_id=unit, source="ops").target
    assert lines(folder.layout, note[:9]) == [("up", "work", "kept for"), ("here", "archival", "")]
    assert ("down", "archival", "kept in the archive") in lines(folder.layout, unit)
    assert trace(folder.layout, note, NOW).node.title == "Reload nginx after it (from ops)"
    folder.do("archive.withdraw", passage_id=note)
    assert trace(folder.layout, note, NOW).node.status == "withdrawn"
    assert short(note) == note[4:8]


def test_a_text_of_a_relay_names_the_task_that_put_it_in(folder):
    task = folder.do("task.new", objective="Look at the disks", role="researcher").target
    key = f"{task}:{rules.content_hash('The disk is full')}"
    first = relays.submit(folder.layout, "ops", "The disk is full", by="researcher", base=0, now=NOW, key=key)
    assert lines(folder.layout, first.id) == [("up", "task", "put in by task"), ("here", "relay", "")]
    assert ("down", "relay", "put in") in lines(folder.layout, task)
    assert trace(folder.layout, first.id, NOW).node.title == "ops 1: The disk is full"


def test_what_is_not_there_is_not_found(folder):
    for text in ("arc-", "arc-zz", "rly-", "rly-zz"):
        with pytest.raises(LookupError):
            resolve(folder.layout, text)
    for text in ("one", "two"):
        relays.submit(folder.layout, text, text, by="bob", base=0, now=NOW)
    with pytest.raises((Ambiguous, LookupError)):
        resolve(folder.layout, "rly-")


def test_a_role_is_what_its_changes_made_it(folder):
    folder.do("role.fire", name="analyst", reason="too slow")
    assert lines(folder.layout, "analyst") == [("up", "change", "made so by"), ("here", "role", "")]
    found = trace(folder.layout, "analyst", NOW)
    assert (found.node.status, found.up[0].title, found.up[0].by) == ("retired", "analyst fired: too slow", "ana")
    folder.do("undo")
    assert trace(folder.layout, "analyst", NOW).node.status == "in force"
    assert len(trace(folder.layout, "analyst", NOW).up) == 2
    assert lines(folder.layout, "builder") == [("here", "role", "")]
    for name in ("nobody", "Foo"):
        with pytest.raises(LookupError):
            resolve(folder.layout, name)


def test_a_task_is_found_by_what_lists_call_it(folder):
    task = folder.do("task.new", objective="Look at the disks", role="researcher").target
    assert resolve(folder.layout, short(task)) == task
    assert resolve(folder.layout, "researcher") != task
    with pytest.raises(LookupError):
        resolve(folder.layout, "zzzz9")


def test_a_number_is_the_loop_unless_only_a_task_is_listed_by_it(folder):
    task = folder.do("task.new", objective="Look at the disks", role="researcher").target
    folder.layout.task(task).rename(folder.layout.task("tsk-5173n9pqjk13g"))
    assert resolve(folder.layout, "5173") == "tsk-5173n9pqjk13g"
    assert resolve(folder.layout, "loop 5173") == resolve(folder.layout, "L5173") == agent.task_id(5173)
    assert resolve(folder.layout, "5174") == agent.task_id(5174)
    folder.layout.task(agent.task_id(5173)).mkdir()
    with pytest.raises(Ambiguous):
        resolve(folder.layout, "5173")
