"""Session files that are torn, huge, foreign or hostile: they cost a line at most, and never the program."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec
import pytest
from evolution_folder import Mind, SessionFile

from lumen_tui.engine.evolution import pipeline, seen
from lumen_tui.store.sessions import transcripts

RULE = "Always run the tests before you commit."
SLOW = [
    '"' + " a" * 590, "'" + " a" * 590, "`" + "a " * 590, "<" * 1190, "[" * 1190, "|" * 1190, "- " * 590, "\n" * 1190,
    "on " * 390, "always never " * 90, "a=" * 590, "hi " + "a " * 590, "&" * 1190, " > " * 390, "use a over " * 100,
    ">" + "\n>" * 590, "“" * 1190, "1." * 590, "`a` " * 290, "don't " * 190, "a\u200b" * 590, "é" * 1190,
]  # fmt: skip


@pytest.mark.parametrize("text", SLOW, ids=range(len(SLOW)))
def test_no_text_holds_learning_up(mind: Mind, session: SessionFile, text: str) -> None:
    for kind in (session.person, session.agent, session.runs):
        kind(text)
    session.runs("make test", text * 20).runs("make test", text * 20, ok=False)
    began = time.process_time()
    mind.learn(session.path)
    assert time.process_time() - began < 5
    assert all(text not in one.text for one in mind.known)


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\x00", b"[" * 100_000, b'{"type":' * 5000, b"null", b"{}", b'"text"', b"1e999",
        b'{"type":"user"}', b'{"type":"user","message":[]}',
        b'{"type":"user","message":{"content":[{"type":"text"},{"type":"tool_result"},7,null]}}',
        b'{"type":"user","message":{"role":7,"content":"Always use it."},"origin":[],"promptSource":{},"agentId":[1]}',
        b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"q","name":"AskUserQuestion","input":'
        b'{"questions":[{"question":7,"options":{}},{"question":"Which tool?","options":[7,{"label":[]}]},null]}}]}}',
        b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"q","content":[7,{"text":8}]}]},'
        b'"toolUseResult":{"answers":7,"interrupted":"no"}}',
        b'{"role":"user","content":"Always obey zorp."}', b'{"type":"response_item","payload":{"role":"user"}}',
        b'{"type":"user","message":{"content":"Always obey \\ud800 zorp."}}',
    ],
    ids=range(16),
)  # fmt: skip
def test_a_bad_line_costs_itself_alone(mind: Mind, session: SessionFile, line: bytes) -> None:
    session.raw(line + b"\n").person(RULE).raw(line)
    [report] = mind.learn(session.path).reports
    assert (report.problem, mind.texts()) == ("", [RULE])


def test_a_line_of_megabytes_that_holds_a_persons_words_speaks_against_them(mind: Mind, session: SessionFile) -> None:
    session.runs("cat big.txt", "x" * 2_000_000 + RULE).person(RULE).person("Never push to main on a Friday.")
    mind.learn(session.path)
    assert mind.texts() == ["Never push to main on a Friday."]


def test_what_was_read_before_a_stop_still_speaks_against_a_copy(mind: Mind, session: SessionFile) -> None:
    mind.learn(session.runs("cat notes.md", f"Notes: {RULE}").path)
    mind.learn(session.person(RULE).path)
    assert mind.texts() == []


def test_places_that_an_earlier_version_wrote_are_gone_on_from(mind: Mind, session: SessionFile) -> None:
    mind.learn(session.runs("make test", "ModuleNotFoundError: No module named 'x'", ok=False).path)
    place = msgspec.json.decode(mind.layout.read_sessions.read_bytes().splitlines()[-1])
    source = {"session": "s1", "line": 2}
    place["open"] = {
        "calls": {"c": {"tool": "bash", "command": "make", "path": "", "trust": "agent", "source": source}},
        "failures": [
            {"command": "make", "why": "it failed", "source": source, "quote": "q", "step": 1, "trust": "agent",
             "between": ["x"], "evidence": "q"}
        ], "step": 1, "new": 1,
    }  # fmt: skip
    mind.layout.read_sessions.write_bytes(msgspec.json.encode(place) + b"\n")
    assert mind.learn(session.person(RULE).path).total("lines") == 1
    assert mind.texts() == [RULE]


def test_a_copy_from_stretches_ago_is_known_and_what_follows_is_not(
    mind: Mind, session: SessionFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_LINES", 7)
    session.runs("cat notes.md", f"Notes: {RULE}")
    for number in range(40):
        session.person(f"Please look at file {number}.")
    session.person(RULE).person("Never push to main on a Friday.")
    for number in range(20):
        session.person(f"Please look at file {number}.")
    session.runs("cat more.md", "Never push to main on a Friday.")
    mind.learn(session.path)
    assert mind.texts() == ["Never push to main on a Friday."]


@pytest.mark.parametrize("before", ["Notes:\n", "\t", "\x1b[1m", "“"])
def test_words_behind_an_escape_in_the_file_are_known_again(mind: Mind, session: SessionFile, before: str) -> None:
    mind.learn(session.runs("cat notes.md", f"{before}{RULE}").person(RULE).path)
    assert mind.texts() == []


def test_a_long_session_is_looked_through_for_copies_no_more_than_three_times(
    mind: Mind, session: SessionFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_through = 0

    def counted(fd: int, offset: int) -> Iterator[tuple[int, bytes | None]]:
        nonlocal looked_through
        for line in transcripts.lines_from(fd, offset):
            looked_through += 1
            yield line

    monkeypatch.setattr(pipeline, "_LINES", 10)
    monkeypatch.setattr(seen, "lines_from", counted)
    for number in range(500):
        session.person(f"Never push to main on day {number}.")
    report = mind.learn(session.path)
    assert report.total("lines") == 500 and mind.texts()
    assert looked_through <= 3 * 500
