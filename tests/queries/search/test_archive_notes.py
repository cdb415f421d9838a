"""Notes of the archive: written once, checked, taken back, read beside damaged lines."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands.search import head
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.model.archive import LONGEST, parts, passage
from lumen_tui.queries.lineage.trace import trace
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files
from lumen_tui.storage.damage import DamageScan
from lumen_tui.store.memory import archive


def test_a_note_keeps_what_was_said_of_it(library: Any) -> None:
    ref = library.insert(
        "Reload nginx\nafter the certificate", kind="procedural", tags=["nginx", "nginx"], importance=0.8, source="book"
    )
    (note,) = archive.passages(library.layout)
    assert (note.id, note.kind, note.tags, note.importance) == (ref, "procedural", ("nginx",), 0.8)
    assert (note.source, note.trust, note.created_by) == ("book", "person", "ann")


def test_a_note_keeps_the_session_that_it_came_from_and_search_and_why_name_it(library: Any) -> None:
    library.do("wu.new", title="Certificates", id="WU-007", lane="Core")
    session = library.do("session.start", wu_id="WU-007").target
    ref = library.insert("Reload nginx after the renewal")
    other = library.do("archive.insert", by="bob", text="Bob has no session, and says nginx").target
    named = library.do("archive.insert", by="bob", text="Written in the session of another", session_id=session[:8])
    assert {note.id: note.session_id for note in archive.passages(library.layout)} == {
        ref: session, other: "", named.target: session,
    }  # fmt: skip
    hits = {hit.ref: hit for hit in library.ask("nginx").hits}
    assert f"  in {session}  " in head(hits[ref], library.now) and " in ses-" not in head(hits[other], library.now)
    (hop,) = [hop for hop in trace(library.layout, ref, library.now).up if hop.kind == "session"]
    assert (hop.id, hop.title, hop.link) == (session, "on WU-007", "kept in session")
    with pytest.raises(ActionError, match="there is no session"):
        library.insert("nowhere", session_id="ses-nobody")


def test_a_note_of_before_sessions_were_recorded_is_read(library: Any) -> None:
    line = b'{"id":"arc-old","content":"an older wish","created_at":"2026-01-01T00:00:00Z","created_by":"ann"}\n'
    files.append(library.layout.archival, line)
    assert library.ids("wish") == ["arc-old"]
    assert [hop.kind for hop in trace(library.layout, "arc-old", library.now).up] == []


def test_the_agents_word_is_not_a_persons(library: Any) -> None:
    library.do("archive.insert", by="lumen", text="x")
    library.do("archive.insert", by="ann", text="y", trust="imported")
    assert [one.trust for one in archive.passages(library.layout)] == ["agent", "imported"]


def test_the_same_key_is_the_same_note(library: Any) -> None:
    first, size = library.insert("one", key="k"), library.layout.archival.stat().st_size
    again = library.do("archive.insert", text="one", key="k")
    assert (again.target, again.action_id) == (first, "")
    assert library.layout.archival.stat().st_size == size


def test_an_insert_is_undone_and_done_again(library: Any) -> None:
    ref = library.insert("keep me", key="k")
    library.do("undo")
    assert library.ids("keep") == [] and list(archive.passages(library.layout)) == []
    library.do("redo")
    assert library.ids("keep") == [ref]
    library.do("undo")
    assert library.insert("keep me", key="k") == ref and library.ids("keep") == [ref]


def test_a_note_is_withdrawn_and_comes_back(library: Any) -> None:
    ref = library.insert("keep me")
    library.do("archive.withdraw", passage_id=ref[:7])
    assert library.ids("keep") == []
    with pytest.raises(ActionError, match="withdrawn already"):
        library.do("archive.withdraw", passage_id=ref)
    library.do("undo")
    assert library.ids("keep") == [ref]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"text": " "}, "empty"),
        ({"text": "x" * (LONGEST + 1)}, "insert it in parts"),
        ({"text": "x", "kind": "odd"}, "one of episodic"),
        ({"text": "x", "trust": "mine"}, "one of person"),
        ({"text": "x", "importance": 1.5}, "from 0 to 1"),
        ({"text": "x", "importance": float("nan")}, "from 0 to 1"),
        ({"text": "x", "tags": ["a\x1bb"]}, "tag"),
        ({"text": "x", "wu_id": "WU-999"}, "no work unit"),
        ({"text": "x", "tags": [str(n) for n in range(21)]}, "at most 20"),
    ],
)
def test_bad_input_writes_nothing(library: Any, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ActionError, match=says):
        library.do("archive.insert", **given)
    assert not library.layout.archival.exists() and not library.layout.actions.exists()


def test_a_note_names_the_task_that_wrote_it(library: Any, capsys: Any) -> None:
    library.task("tsk-a1", "look", "found")
    library.task("loop-000003", "a loop", "done")
    named = library.insert("the port is 8443", task_id="tsk-a")
    own = library.do("archive.insert", by="loop-000003", text="nobody uses it").target
    plain = library.insert("by hand")
    strange = library.do("archive.insert", by="tsk-none", text="of a task that is gone").target
    found = {one.id: (one.task_id, one.trust) for one in archive.passages(library.layout)}
    assert (found[named], found[own]) == (("tsk-a1", "agent"), ("loop-000003", "agent"))
    assert (found[plain], found[strange]) == (("", "person"), ("", "agent"))
    lines = library.layout.archival.read_bytes().splitlines()
    assert [b"task_id" in line for line in lines] == [True, True, False, False]
    up = [(hop.id, hop.link) for hop in trace(library.layout, named, library.now).up]
    assert up == [("tsk-a1", "written by")]
    assert named in [hop.id for hop in trace(library.layout, "tsk-a1", library.now).down]
    with pytest.raises(ActionError, match="no task 'tsk-zz'"):
        library.insert("x", task_id="tsk-zz")


def test_damaged_lines_hide_only_themselves(library: Any) -> None:
    library.insert("alpha one")
    with library.layout.archival.open("ab") as out:
        out.write(b'{"id":"arc-x","content":3}\nnot json\n\xff\xfe\n{"id":"arc-torn","content":"hal')
    library.insert("alpha two")
    assert [one.content for one in archive.passages(library.layout)] == ["alpha one", "alpha two"]
    assert len(library.ids("alpha")) == 2


def test_a_note_of_wrong_types_is_as_good_as_none_and_can_be_inserted_again(library: Any) -> None:
    ref = library.insert("one", key="k")
    journal = library.layout.archival
    journal.write_bytes(journal.read_bytes().replace(b'"content":"one"', b'"content":["one"]'))
    assert archive.find(library.layout, [ref]) == {}
    with pytest.raises(ActionError, match="no note"):
        library.do("archive.withdraw", passage_id=ref)
    assert library.insert("one", key="k") == ref
    assert archive.find(library.layout, [ref])[ref].content == "one"


def test_the_room_names_them_until_they_are_mended(library: Any) -> None:
    library.insert("alpha one")
    with library.layout.archival.open("ab") as out:
        out.write(b"not json\n")
    reader = SnapshotReader(library.root)
    first = reader.snapshot(library.now)
    assert [one.where for one in first.problems] == ["memory/archival.jsonl"]
    assert first.problems[0].what.startswith("1 damaged line, the first at byte ")
    with library.layout.archival.open("ab") as out:
        out.write(b'{"id":3}\n')
    second = reader.snapshot(library.now)
    assert second.problems[0].what.startswith("2 damaged lines")
    assert second.revisions.problems != first.revisions.problems
    examine(library.store, now=library.now, fix=True)
    assert reader.snapshot(library.now).problems == ()


def _append(library: Any, who: int) -> None:
    for number in range(20):
        archive.append(library.layout, [passage(f"{who} {number}", by="ann", now=0.0, key=f"k{number}")])


def test_writers_at_once_insert_a_key_once(library: Any) -> None:
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_append, args=(library, who)) for who in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = library.layout.archival.read_bytes().splitlines()
    assert len(lines) == 20 == len(list(archive.passages(library.layout)))


def test_a_long_text_is_cut_at_paragraphs() -> None:
    text = "\n\n".join(f"paragraph {number} " + "word " * 20 for number in range(40))
    found = parts(text, 1000)
    assert all(0 < len(part) <= 1000 and part.startswith("paragraph") for part in found)
    assert " ".join(" ".join(found).split()) == " ".join(text.split())
    assert parts("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5] and parts("  ") == []


def test_a_torn_line_goes_to_quarantine_and_hides_only_itself(library: Any) -> None:
    ref = library.insert("one")
    with library.layout.archival.open("ab") as file:
        file.write(b'{"id":"arc-torn","content":"ha\n')
    assert DamageScan(library.layout).scan("2026-11-21T10:00:00Z") == 1
    assert DamageScan(library.layout).scan("2026-11-21T10:00:00Z") == 0
    assert [note.id for note in archive.passages(library.layout)] == [ref]
