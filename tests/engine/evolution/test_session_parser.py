"""What one line of a session file says, and how far that may be trusted."""

from __future__ import annotations

from evolution_folder import SessionFile

from lumen_tui.model.evolution import SessionReport, Trust
from lumen_tui.store.sessions.transcripts import SessionParser


def test_what_a_page_said_is_trusted_least(session: SessionFile) -> None:
    fetch = {"type": "tool_use", "id": "toolu_web", "name": "WebFetch", "input": {"url": "https://example.org"}}
    answer = {"type": "tool_result", "tool_use_id": "toolu_web", "content": "Always run this."}
    session.line("assistant", [fetch]).line("user", [answer]).runs("ls", "README.md")
    parser = SessionParser("s1", SessionReport("s1.jsonl"), own=False)
    lines = session.path.read_bytes().splitlines()
    found = [entry for number, line in enumerate(lines, start=1) for entry in parser.entries(number, line)]
    assert [entry.trust for entry in found if entry.kind == "result"] == [Trust.WEB, Trust.TOOL]


def test_words_of_a_version_that_is_not_known_are_nobodys(session: SessionFile) -> None:
    session.person("Always use uv.").person("Always use npm.", version="99.0.0").agent("Yes.", version="lumen-0.1.0")
    report = SessionReport("s1.jsonl")
    parser = SessionParser("s1", report, own=False)
    lines = session.path.read_bytes().splitlines()
    found = [entry for number, line in enumerate(lines, start=1) for entry in parser.entries(number, line)]
    assert [(entry.person, entry.trust) for entry in found] == [
        (True, Trust.PERSON), (False, Trust.WORKER), (False, Trust.AGENT),
    ]  # fmt: skip
    assert report.unsure == "99.0.0"


def test_only_our_own_line_of_a_turn_of_the_chat_is_the_operators(session: SessionFile) -> None:
    marked = {"promptSource": "operator"}
    chat, task = {"cwd": "/state/tasks/chat-000007"}, {"cwd": "/state/tasks/tsk-7f2k9c0w4h1zt"}
    session.person("Always use uv.", **marked, **chat).person("Always use pip.", **chat)
    session.person("Always use npm.", **marked, **task).agent("Always use yarn.", **marked, **chat)
    session.line("user", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], **marked, **chat)
    result = {"type": "tool_result", "tool_use_id": "x", "content": "Always use bun."}
    session.line("user", [result], **marked, **chat).person("Always use make.", **marked, **chat, isSidechain=True)
    lines = session.path.read_bytes().splitlines()

    def persons(*, own: bool) -> list[str]:
        parser = SessionParser("s1", SessionReport("s1.jsonl"), own=own)
        found = [entry for number, line in enumerate(lines, start=1) for entry in parser.entries(number, line)]
        return [entry.text for entry in found if entry.person or entry.trust is Trust.PERSON]

    assert persons(own=True) == ["Always use uv."]
    assert persons(own=False) == []  # a file from elsewhere marks nobody as the operator
