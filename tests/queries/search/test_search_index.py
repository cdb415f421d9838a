"""The index: what it finds and why, and that it may be deleted, spoilt and shared at any time."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sqlite3
from typing import Any

import pytest

from benchmarks import planted
from lumen_tui.model.searching import parse, why
from lumen_tui.model.text import is_safe
from lumen_tui.queries.search import index, ingest
from lumen_tui.queries.search.search import IN_MEMORY, NOTE, Searcher
from lumen_tui.storage import files


def test_everything_is_found_by_stem_and_ranked(filled: Any) -> None:
    refs = filled.ids("certificates")
    assert set(refs) == {"mem-cert", "tsk-disk", filled.insert("Reload nginx", key="nginx")}
    assert refs[-1] == "mem-cert"  # the oldest of them
    assert filled.ids("locking") == ["mem-lock"] and filled.ids("exhausts") == ["sig-pool"]
    hit = filled.ask("session locked file").hits[0]
    assert hit.matched == ("session", "locked", "file") and hit.parts.relevance == 1.0
    assert [text.strip() for text, marked in hit.excerpt if marked] == ["lock", "session file"]


def test_filters_narrow(filled: Any) -> None:
    assert filled.ids("tag:bug") == filled.ids("session wu:WU-001") == filled.ids("type:discovery") == ["mem-lock"]
    assert filled.ids("lane:Core") == ["sig-pool"]
    assert filled.ids("certificate since:30d !nginx") == ["tsk-disk"]
    assert filled.ids("certificate until:30d") == ["mem-cert"]
    assert len(filled.ids("kind:procedural")) == 1
    assert filled.ids("certificate tag:bug") == []


@pytest.mark.parametrize("with_fts5", [True, False])
def test_what_has_no_date_lies_in_no_stretch_of_time(library: Any, monkeypatch: Any, with_fts5: bool) -> None:
    if not with_fts5:
        monkeypatch.setattr(index, "FULL_TEXT", "fts5_that_is_not_there")
    library.node("mem-old", "the giraffe of spring", days=100)
    library.node("mem-new", "the giraffe of today", days=1)
    files.append(library.layout.memory, b'{"id":"mem-when","type":"note","content":"giraffe","created_at":"in May"}\n')
    assert sorted(library.ids("giraffe")) == ["mem-new", "mem-old", "mem-when"]
    assert library.ids("giraffe until:7d") == ["mem-old"]
    assert library.ids("giraffe since:7d") == ["mem-new"]
    assert library.ids("giraffe since:200d until:0d") == ["mem-new", "mem-old"]


def test_neighbours_come_with_a_hit(library: Any) -> None:
    library.node("mem-a", "The frobnicator stalls", session_id="ses-1", days=3)
    library.node("mem-b", "Then the log was rotated", session_id="ses-1", days=2)
    library.node("mem-c", "Tea at four", session_id="ses-1", days=1)
    library.node("mem-d", "A new driver cures it")
    library.link("mem-d", "mem-a", "discovered_from")
    found = {hit.ref: hit for hit in library.ask("frobnicator").hits}
    assert set(found) == {"mem-a", "mem-b", "mem-c", "mem-d"}
    assert found["mem-b"].link == "after it in the session" and found["mem-d"].link == "discovered from of this"
    assert found["mem-c"].link == "2 after it in the session" and found["mem-c"].neighbour_of == "mem-a"
    relevance = [found[name].parts.relevance for name in ("mem-a", "mem-b", "mem-c")]
    assert relevance == [1.0, 0.4, 0.2]
    assert found["mem-d"].neighbour_of == "mem-a" and found["mem-d"].score < found["mem-a"].score
    assert list({hit.ref for hit in library.ask("frobnicator tag:none").hits}) == []


def test_a_first_search_says_how_far_its_index_has_come(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "_STEP", 50)
    planted.write(library.layout.memory, library.now, seed=1)
    shown: list[tuple[int, int]] = []
    with Searcher(library.layout) as searcher:
        searcher.progress = lambda done, total: shown.append((done, total))
        searcher.search(parse("session", library.now), library.now)
        size = library.layout.memory.stat().st_size
        assert {total for _, total in shown} == {size}
        done = [done for done, _ in shown]
        assert done == sorted(done) and done[-1] == size and len(set(done)) > 5
        shown.clear()
        searcher.search(parse("lock", library.now), library.now)
        assert shown == []


def test_an_answer_a_turn_or_two_after_its_question_is_found(library: Any) -> None:
    questions = planted.write(library.layout.memory, library.now, seed=7)
    found: dict[int, list[bool]] = {}
    with Searcher(library.layout) as searcher:
        for question in questions:
            hits = searcher.search(parse(question.text, library.now), library.now).hits
            found.setdefault(question.steps, []).append(question.answer in [hit.ref for hit in hits])
    share = {steps: sum(answers) / len(answers) for steps, answers in found.items()}
    assert share[0] == 1.0  # what has the words itself is not lost for it
    assert share[1] > 0.5 and share[2] > 0.2 and share[3] > 0.2  # without its neighbours at most one in ten


def test_a_turn_that_matched_is_lifted_by_those_beside_it_and_says_so(library: Any) -> None:
    library.node("mem-a", "The frobnicator and its pump", session_id="ses-1", days=3)
    library.node("mem-b", "The frobnicator of the cellar", session_id="ses-1", days=2.9)
    library.node("mem-c", "The frobnicator of the attic", days=2.9)
    for number in range(9):
        library.node(f"mem-d{number}", "Tea at four", session_id="ses-2", days=1)
    hits = {hit.ref: hit for hit in library.ask("frobnicator").hits}
    assert hits["mem-a"].score > hits["mem-c"].score and hits["mem-c"].parts.beside == 0
    assert hits["mem-a"].parts.beside > 0 and " · beside " in why(hits["mem-a"])
    assert not hits["mem-b"].neighbour_of and set(hits) == {"mem-a", "mem-b", "mem-c"}


def test_the_index_follows_what_changes(library: Any) -> None:
    with Searcher(library.layout) as searcher:

        def ids(query: str) -> list[str]:
            return [hit.ref for hit in searcher.search(parse(query, library.now), library.now).hits]

        assert ids("alpha") == []
        library.node("mem-a", "alpha")
        library.node("mem-b", "alpha beta")
        assert sorted(ids("alpha")) == ["mem-a", "mem-b"]
        library.node("mem-a", "gamma")
        library.node("mem-b", "alpha beta", metadata={"status": "deleted"})
        assert (ids("alpha"), ids("gamma")) == ([], ["mem-a"])
        folder = library.task("tsk-a", "alpha?", "omega", ended=False)
        assert ids("omega") == []
        (folder / "exit.json").write_text(json.dumps({"task_id": "tsk-a", "status": "done", "finished_at": ""}))
        assert ids("omega") == ["tsk-a"]
        month = library.layout.archive / "2026" / "09"
        month.mkdir(parents=True)
        folder.rename(month / "tsk-a")
        assert ids("omega") == ["tsk-a"]
        library.layout.memory.write_text('{"id":"mem-z","type":"note","content":"zeta","created_at":""}\n')
        assert (ids("gamma"), ids("zeta")) == ([], ["mem-z"])
        library.layout.memory.unlink()
        assert ids("zeta") == []


def _spoil_nothing(library: Any) -> None:
    (library.layout.index / "search.db").unlink()


def _spoil_head(library: Any) -> None:
    (library.layout.index / "search.db").write_bytes(b"this is no database " * 500)


def _spoil_middle(library: Any) -> None:
    path = library.layout.index / "search.db"
    data = bytearray(path.read_bytes())
    for at in range(8192, len(data), 4096):
        data[at : at + 200] = os.urandom(200)
    path.write_bytes(data)


def _spoil_version(library: Any) -> None:
    db = sqlite3.connect(library.layout.index / "search.db")
    db.execute("PRAGMA user_version = 99")
    db.execute("DROP TABLE parts")
    db.close()


def _spoil_tables(library: Any) -> None:
    db = sqlite3.connect(library.layout.index / "search.db")
    db.execute("DROP TABLE words")
    db.execute("DROP TABLE edges")
    db.close()


def _spoil_size(library: Any) -> None:
    path = library.layout.index / "search.db"
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    "spoil", [_spoil_nothing, _spoil_head, _spoil_middle, _spoil_version, _spoil_tables, _spoil_size]
)
def test_a_spoilt_index_is_made_anew(filled: Any, spoil: Any) -> None:
    before = filled.ids("certificate session pool")
    assert len(before) >= 4
    spoil(filled)
    filled.node("mem-new", "A certificate more")
    assert set(filled.ids("certificate session pool")) >= {*before, "mem-new"}
    assert filled.ask("certificate").notes == ()


def test_an_index_that_vanishes_under_an_open_one(filled: Any) -> None:
    with Searcher(filled.layout) as searcher:
        searcher.search(parse("certificate", filled.now), filled.now)
        (filled.layout.index / "search.db").unlink()
        filled.node("mem-new", "frobnicate")
        assert [hit.ref for hit in searcher.search(parse("frobnicate", filled.now), filled.now).hits] == ["mem-new"]
    assert (filled.layout.index / "search.db").exists()


def test_a_link_in_its_place_is_not_followed(filled: Any, tmp_path: Any) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (filled.layout.index / "search.db").symlink_to(victim)
    found = filled.ask("certificate")
    assert len(found.hits) == 3 and found.notes == (IN_MEMORY,)
    assert victim.read_text() == "mine"


def test_a_journal_that_is_a_link_hides_only_itself(filled: Any) -> None:
    filled.layout.signals.unlink()
    filled.layout.signals.symlink_to(filled.layout.memory)
    assert filled.ids("certificate") and filled.ids("exhausted") == []


def _search_and_write(library: Any, who: int, result: Any) -> None:
    for number in range(12):
        library.node(f"mem-{who}x{number}", f"common word{who}x{number}")
        result.put(f"mem-{who}x{number}" in library.ids(f"word{who}x{number}"))


def test_processes_at_once(library: Any) -> None:
    fork = multiprocessing.get_context("fork")
    result = fork.Queue()
    crowd = [fork.Process(target=_search_and_write, args=(library, who, result)) for who in range(3)]
    for one in crowd:
        one.start()
    answers = [result.get(timeout=30) for _ in range(36)]
    for one in crowd:
        one.join()
    assert answers == [True] * 36
    found = library.ask("common", limit=100)
    assert found.matches == 36 and not found.notes


_ODD = "\"*()^:-+{}[]<>'\\;%_, \x00\x01\x02\x1bANDORNOTNEARtagstextdocs数é\u202e\ud800"


def test_no_query_is_an_error(filled: Any) -> None:
    odd = [(_ODD * 3)[at : at + size] for at in range(0, 90, 2) for size in (1, 3, 7, 20)]
    words = ["AND", "NOT x", "a NEAR b", "text:lock", "tags:bug", "lock*", "^lock", '"lock', "lock OR", "{a b}:c", "--"]
    with Searcher(filled.layout) as searcher:
        for query in [*odd, *words, "x " * 3000, '"' * 50]:
            for typing in (True, False):
                searcher.search(parse(query, filled.now, typing=typing), filled.now)
        assert searcher.search(parse("text:lock", filled.now), filled.now).hits[0].ref == "mem-lock"


def test_hostile_text_is_made_safe(library: Any) -> None:
    bad = "lock \x1b]52;c;aGk=\x07 \x1b[2J \x01x\x02 \u202e[/] [@click=app.quit]x[/]"
    library.node("mem-a", bad, tags=("t\x1b",), created_by="a\x1b[2J")
    library.store.nodes.append({"id": "mem-b\x1b[2J", "type": ["x"], "content": "lock", "created_at": 3, "tags": "no"})
    hits = library.ask("lock").hits
    assert len(hits) == 2
    for hit in hits:
        shown = [hit.ref, hit.type, hit.title, hit.by, *hit.tags, *(text for text, _ in hit.excerpt)]
        assert all(is_safe(text) for text in shown)
    marked = next(hit for hit in hits if hit.ref == "mem-a")
    assert [text.strip() for text, on in marked.excerpt if on] == ["lock"]


def test_signals_that_cleanup_moved_are_still_found(library: Any) -> None:
    library.signal("sig-a", "frobnicate")
    assert library.ids("frobnicate") == ["sig-a"]
    line = library.layout.signals.read_bytes()
    library.layout.memory_archive.write_bytes(line)
    library.layout.signals.write_bytes(b"")
    assert library.ids("frobnicate") == ["sig-a"]


def test_common_words_are_left_out_of_a_large_memory(library: Any) -> None:
    with library.layout.memory.open("w") as out:
        for number in range(6000):
            record = {"id": f"mem-{number}", "type": "note", "content": f"the system does w{number}", "created_at": ""}
            out.write(json.dumps(record) + "\n")
    found = library.ask("system w4711")
    assert [hit.ref for hit in found.hits] == ["mem-4711"] and found.dropped == ("system",)
    assert library.ask("system").matches == 1001


def test_without_fts5_every_text_is_read(filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "FULL_TEXT", "fts5_that_is_not_there")
    found = filled.ask("certificate nginx")
    assert found.notes == (NOTE,) and len(found.hits) == 3 and found.hits[0].tags == ("nginx",)
    assert [text.strip() for text, on in found.hits[0].excerpt if on][:1] == ["nginx"]
    assert filled.ids("tag:bug") == ["mem-lock"] and filled.ids("certificate !nginx until:30d") == ["mem-cert"]
    assert "FTS5" in filled.ask("x in:conversations").notes[0]


def test_a_readonly_folder_is_searched_in_memory(filled: Any) -> None:
    if os.geteuid() == 0:
        (filled.layout.index).rmdir()
        (filled.root / "locks").rename(filled.root / "elsewhere")
    else:
        os.chmod(filled.layout.index, 0o500)
    found = filled.ask("certificate")
    assert len(found.hits) == 3 and IN_MEMORY in found.notes


def test_the_folder_of_the_index_may_be_deleted_at_any_time(filled):
    shutil.rmtree(filled.layout.index)
    searcher = Searcher(filled.layout)
    try:
        assert searcher.search(parse("queue", 1.9e9), 1.9e9).notes == ()
        shutil.rmtree(filled.layout.index)
        assert searcher.search(parse("queue", 1.9e9), 1.9e9).notes == ()
    finally:
        searcher.close()
    assert (filled.layout.index / "search.db").exists()
