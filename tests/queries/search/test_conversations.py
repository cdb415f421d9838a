"""What was said in sessions: ours and foreign ones, read once, as far as a look may read."""

from __future__ import annotations

import os
import shutil
from typing import Any

from lumen_tui.model.searching import Found, parse
from lumen_tui.queries.search.search import Searcher


def ids(library: Any, query: str) -> list[str]:
    return [ref for ref in library.ids(f"in:conversations {query}") if ref]


def test_what_was_said_is_found_with_what_stands_beside_it(library: Any) -> None:
    library.said("s1", ("user", "Why does the frobnicator stall?"), ("assistant", "The queue is full."))
    library.said("s2", ("user", "Something else"))
    found = library.ask("in:conversations frobnicators").hits
    assert [hit.ref for hit in found] == ["s1:1.0", "s1:2.0"]
    assert (found[0].by, found[0].type) == ("person", "conversation")
    assert found[0].place.endswith("s1.jsonl:1") and found[1].link == "after it in the session"
    assert library.ids("frobnicator") == []


def test_a_session_that_grows_is_read_on(library: Any) -> None:
    path = library.said("s1", ("user", "alpha"))
    assert ids(library, "alpha") == ["s1:1.0"]
    with path.open("a") as out:
        out.write('{"type":"user","message":{"role":"user","content":"torn')
    library.said("s2", ("user", "beta"))
    assert ids(library, "torn") == []
    with path.open("a") as out:
        out.write(' line"}}\n')
    assert ids(library, "torn")[0] == "s1:2.0"
    path.write_text('{"type":"user","message":{"role":"user","content":"gamma"}}\n')
    assert (ids(library, "alpha"), ids(library, "gamma")) == ([], ["s1:1.0"])
    path.unlink()
    assert ids(library, "gamma") == []


def test_odd_lines_are_passed_over(library: Any) -> None:
    path = library.said("s1", ("user", "alpha"))
    with path.open("ab") as out:
        out.write(b'\x00\x00\nnot json\n{"type":"new-kind"}\n{"type":"user","message":3}\n' + b"x" * 300_000 + b"\n")
    library.said("s1", ("user", "omega \x1b[2J"))
    assert ids(library, "alpha") == ["s1:1.0", "s1:7.0"]
    assert "\x1b" not in str(library.ask("in:conversations omega"))


def test_a_file_whose_name_is_no_text_and_a_folder_of_nobody_hide_no_other(library: Any) -> None:
    path = library.said("s1", ("user", "alpha"))
    shutil.copy(path, os.fsdecode(os.fsencode(path.parent) + b"/\xff.jsonl"))
    library.layout.config.write_text(f'[evolution]\nsessions = ["~nobody-at-all/x", "{library.sessions}"]\n')
    assert ids(library, "alpha") == ["s1:1.0"]


def test_a_bounded_look_says_that_there_is_more(library: Any) -> None:
    for number in range(4):
        library.said(f"s{number}", *[("user", f"alpha {number} {'word ' * 200}")] * 30)
    with Searcher(library.layout, conversation_bytes=20_000) as searcher:
        looks = 0
        seen: list[Found] = []
        while not seen or seen[-1].more:
            seen.append(searcher.search(parse("in:conversations alpha", library.now), library.now))
            looks += 1
        assert looks > 3 and "not indexed yet" in seen[0].notes[0]
        assert seen[0].matches < seen[-1].matches == 120
        hit = seen[-1].hits[0]
        assert hit.ref in [ref for ref, _, _ in searcher.surroundings(hit.ref)]


def test_a_workers_transcript_holds_no_person(library: Any) -> None:
    path = library.said("s1", ("user", "frobnicate"))
    path.rename(library.layout.transcripts / "s1.jsonl")
    assert library.ask("in:conversations frobnicate").hits[0].by == "worker"
