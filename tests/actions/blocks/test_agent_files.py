"""Agent files, out and in, in both shapes; hostile ones change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from blocks_folder import Memory

from lumen_tui.cli import main as cli
from lumen_tui.model.agentfile import BadAgentFile, parse
from lumen_tui.model.archive import Passage
from lumen_tui.model.evolution import SessionReport
from lumen_tui.store.memory import archive
from lumen_tui.store.memory.agent_files import block_name, messages
from lumen_tui.store.sessions.transcripts import SessionParser

KEY = "sk-ant-0123456789abcdefghijklmnop"
Run = Callable[..., tuple[int, str, str]]


def said(role: str, text: str, second: int, **more: Any) -> dict[str, Any]:
    return {
        "role": role, "content": [{"type": "text", "text": text}], "created_at": f"2026-03-01T10:00:0{second}+00:00",
        "tool_calls": None, "tool_returns": [], "tool_call_id": None, "model": "m-1", **more,
    }  # fmt: skip


def conversation() -> list[dict[str, Any]]:
    call = {"id": "call-1", "type": "function", "function": {"name": "look", "arguments": '{"path": "/etc"}'}}
    thinking = [{"type": "reasoning", "reasoning": "I look first."}, {"type": "text", "text": "I look."}]
    return [
        said("system", "You are Ida.", 0), said("user", "What is in /etc?", 1),
        {**said("assistant", "", 2, tool_calls=[call]), "content": thinking},
        said("tool", "hosts", 3, tool_call_id="call-1", tool_returns=[{"status": "success"}]),
        said("assistant", "One file: hosts.", 4),
    ]  # fmt: skip


def old_shape() -> dict[str, Any]:
    block = {"is_template": False, "limit": 5000, "created_at": "", "updated_at": "", "template_name": None}
    return {
        "agent_type": "memgpt_agent", "name": "ida", "version": "0.6.47", "system": "You are Ida, and you obey.",
        "core_memory": [
            {**block, "label": "persona", "value": "\nI am Ida.\n", "description": "who I am"},
            {**block, "label": "about_user", "value": "Ann, in Lviv", "description": None},
        ],
        "messages": conversation(), "in_context_message_indices": [0, 1], "llm_config": {"model": "m-1"},
        "tools": [{"name": "look", "source_code": "import os; os.system('touch /tmp/ran')", "json_schema": {}}],
        "tool_exec_environment_variables": [{"key": "API_KEY", "value": KEY}], "tags": [], "tool_rules": [],
    }  # fmt: skip


def new_shape() -> dict[str, Any]:
    old = old_shape()
    agent = {
        "id": "agent-0", "name": "ida", "system": old["system"], "block_ids": ["block-1", "block-0"],
        "tool_ids": ["tool-0"], "messages": old["messages"], "secrets": {"API_KEY": KEY},
        "tool_exec_environment_variables": {"API_KEY": KEY}, "memory_blocks": [],
    }  # fmt: skip
    persona, human = ({"id": f"block-{n}", **block} for n, block in enumerate(old["core_memory"]))
    stray = {"id": "block-2", "label": "stray", "value": "of nobody", "limit": 5000}
    return {
        "agents": [agent], "blocks": [human, persona, stray], "groups": [], "sources": [],
        "files": [{"id": "file-0", "file_name": "notes.txt", "content": "The door code is on paper."}],
        "tools": [{"id": "tool-0", **old["tools"][0]}], "mcp_servers": [{"server_url": f"http://x/?token={KEY}"}],
        "passages": [
            {"text": "Ann moved in 2024.", "tags": ["ann", "home"], "created_at": "2026-02-01T00:00:00Z"},
            {"text": "Tea at four.", "tags": []},
        ],
        "metadata": {"revision_id": "9556081ce65b"}, "created_at": "2026-03-01T10:00:00Z",
    }  # fmt: skip


@pytest.fixture
def run(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str, root: Path | None = None) -> tuple[int, str, str]:
        code = cli.main(["--state", str(root or memory.layout.root), "--operator", "ana", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def write(path: Path, whole: Any) -> str:
    path.write_text(json.dumps(whole))
    return str(path)


def listing(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("shape", [old_shape, new_shape])
def test_an_agent_file_is_taken_in(memory: Memory, run: Run, tmp_path: Path, shape: Callable[[], Any]) -> None:
    code, out, _ = run("af", "import", write(tmp_path / "ida.af", shape()))
    assert code == 0
    assert memory.block("persona").text == "\nI am Ida.\n"
    assert memory.block("about-user").text == "Ann, in Lviv"
    assert (memory.block("about-user").fields.label, memory.block("about-user").fields.limit) == ("about_user", 5000)
    assert (memory.block("persona").trust, memory.block("persona").how) == ("imported", "import")
    (path,) = memory.layout.transcripts.glob("*.jsonl")
    assert [one.role for one in messages(memory.layout, path.stem)] == ["system", "user", "assistant", "tool",
                                                                        "assistant"]  # fmt: skip
    assert "tools, by name only: look" in out
    assert "no place here: system prompt" in out
    assert not (memory.layout.blocks / "stray.md").exists()


def part(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


NEWER = [
    {"role": "user", "content": "go on", "created_at": "2026-03-01T10:00:00Z"},
    {"role": "approval",
     "content": [part("summarized_reasoning", id="r", summary=[{"index": 0, "text": "It must go."}])],
     "tool_calls": [{"id": "c-1", "type": "function", "function": {"name": "rm", "arguments": '{"path": "x"}'}}]},
    {"role": "approval", "content": [], "approvals": [
        {"type": "approval", "tool_call_id": "c-1", "approve": False, "reason": "not that one"}]},
    {"role": "approval", "content": [], "approve": True, "approval_request_id": "message-1"},
    {"role": "assistant", "content": [
        part("text", text="I look."), part("tool_call", id="c-2", name="ls", input={"a": 1}),
        part("tool_call", id="c-3", name="ls", input={})]},
    {"role": "tool", "content": [], "tool_returns": [
        {"tool_call_id": "c-2", "status": "success", "func_response": "hosts"},
        {"tool_call_id": "c-3", "status": "error", "stderr": ["no such folder"]}]},
    {"role": "tool", "content": [part("tool_return", tool_call_id="c-4", content="late", is_error=False)]},
    {"role": "assistant", "content": []},
]  # fmt: skip


def test_every_message_of_a_newer_file_is_taken_over_or_counted_as_left_out(
    memory: Memory, run: Run, tmp_path: Path
) -> None:
    whole = new_shape()
    whole["agents"][0]["messages"] = NEWER
    code, out, err = run("af", "import", write(tmp_path / "ida.af", whole))
    assert code == 0, err
    assert "no place here: 1 message with nothing in it" in out
    (path,) = memory.layout.transcripts.glob("*.jsonl")
    kept = messages(memory.layout, path.stem)
    assert [(one.role, one.answers) for one in kept if one.role == "tool"] == [
        ("tool", "c-2"), ("tool", "c-3"), ("tool", "c-4")
    ]  # fmt: skip
    assert [call.id for one in kept for call in one.calls] == ["c-1", "c-2", "c-3"]
    said = "\n".join(one.text + one.thinking for one in kept)
    for words in ("It must go.", "call c-1 was denied: not that one", "was approved", "I look.", "hosts",
                  "no such folder", "late"):  # fmt: skip
        assert words in said
    assert [one.ok for one in kept if one.role == "tool"] == [True, False, True]


def test_an_empty_block_is_made_and_goes_out_again(memory: Memory, run: Run, tmp_path: Path) -> None:
    whole = new_shape()
    whole["blocks"].append({"id": "block-3", "label": "plans", "value": "", "limit": 700, "description": "what comes"})
    whole["agents"][0]["block_ids"].append("block-3")
    code, out, _ = run("af", "import", write(tmp_path / "ida.af", whole))
    assert (code, "plans" in out) == (0, True)
    assert memory.block("plans").fields.limit == 700
    assert run("af", "export", str(tmp_path / "out.af"))[0] == 0
    blocks = json.loads((tmp_path / "out.af").read_text())["blocks"]
    assert ("plans", "") in [(one["label"], one["value"]) for one in blocks]


def test_a_second_import_changes_nothing(memory: Memory, run: Run, tmp_path: Path) -> None:
    name = write(tmp_path / "ida.af", new_shape())
    assert run("af", "import", name)[0] == 0
    before = listing(memory.layout.root)
    code, out, _ = run("af", "import", name)
    assert (code, "all of it is here already" in out) == (0, True)
    assert listing(memory.layout.root) == before


def test_a_dry_run_writes_nothing_and_says_the_same(memory: Memory, run: Run, tmp_path: Path) -> None:
    name = write(tmp_path / "ida.af", new_shape())
    before = listing(memory.layout.root)
    dry = json.loads(run("af", "import", name, "--dry-run", "--json")[1])
    assert listing(memory.layout.root) == before
    real = json.loads(run("af", "import", name, "--json")[1])
    assert (dry["blocks"], dry["passages"], dry["messages"]) == (real["blocks"], real["passages"], real["messages"])
    assert dry["passages"] == {"all": 3, "new": 3}


@pytest.mark.threat("S7", "secrets in the words of every verb, in an engine's copies and in imports")
def test_no_secret_is_stored_and_no_tool_runs(memory: Memory, run: Run, tmp_path: Path) -> None:
    whole, words = new_shape(), f"the key is {KEY}"
    whole["blocks"][0] |= {"value": words, "description": words, "label": words}
    whole["passages"][0] |= {"text": words, "tags": [words]}
    whole["files"][0] |= {"file_name": f"{KEY}.txt", "content": words}
    whole["agents"][0]["name"] = words
    said_by_all = whole["agents"][0]["messages"]
    said_by_all[1]["content"][0]["text"] = said_by_all[3]["content"][0]["text"] = words
    said_by_all[2]["tool_calls"][0]["function"] |= {"name": words, "arguments": json.dumps({"path": words, words: 1})}
    code, out, _ = run("af", "import", write(tmp_path / "ida.af", whole))
    assert code == 0
    kept = b"\n".join(listing(memory.layout.root).values())
    assert KEY.encode() not in kept
    assert b"os.system" not in kept
    assert KEY not in out
    target = tmp_path / "out.af"
    run("af", "export", str(target))
    assert KEY not in target.read_text()
    assert target.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("shape", [old_shape, new_shape])
def test_the_way_round_keeps_blocks_passages_and_messages(
    memory: Memory, run: Run, tmp_path: Path, shape: Callable[[], Any]
) -> None:
    run("af", "import", write(tmp_path / "ida.af", shape()))
    memory.do("block.new", name="mine", text="a\n\tб\u2028\n", limit=77)
    archive.append(memory.layout, [Passage("arc-1", "how to", "2026-01-01T00:00:00.000Z", "procedural", ("x",), 0.9)])
    run("af", "export", str(tmp_path / "out.af"))
    there = Memory(tmp_path / "other")
    assert run("af", "import", str(tmp_path / "out.af"), root=there.layout.root)[0] == 0
    for name in ("persona", "about-user", "mine"):
        assert there.block(name).text == memory.block(name).text.replace("\u2028", "·")
        assert there.block(name).fields == memory.block(name).fields
    notes = [{(one.content, one.tags, one.kind, one.importance, one.created_at) for one in archive.passages(m.layout)
              if one.tags != ("file",) and "Tea" not in one.content} for m in (memory, there)]  # fmt: skip
    assert notes[0] == notes[1]
    first, second = (next(m.layout.transcripts.glob("*.jsonl")).stem for m in (memory, there))
    assert messages(memory.layout, first) == messages(there.layout, second)
    assert len(messages(there.layout, second)) == 5


def test_a_block_of_yours_stays_unless_you_say_otherwise(memory: Memory, run: Run, tmp_path: Path) -> None:
    name = write(tmp_path / "ida.af", old_shape())
    memory.do("block.rethink", name="persona", text="mine")
    assert "yours says something else" in run("af", "import", name)[1]
    assert memory.block("persona").text == "mine"
    assert run("af", "import", name, "--replace")[0] == 0
    assert memory.block("persona").text == "\nI am Ida.\n"
    memory.do("undo")
    assert memory.block("persona").text == "mine"
    memory.do("block.lock", name="persona")
    assert "it is locked" in run("af", "import", name, "--replace")[1]


def test_a_block_over_its_own_limit_is_taken_when_you_say_so(memory: Memory, run: Run, tmp_path: Path) -> None:
    whole = new_shape()
    whole["blocks"][0].update(value="x" * 6000)
    name = write(tmp_path / "ida.af", whole)
    assert "--raise-limits" in run("af", "import", name)[2]
    assert run("af", "import", name, "--raise-limits")[0] == 0
    assert (memory.block("about-user").chars, memory.block("about-user").fields.limit) == (6000, 6000)


def test_undo_withdraws_what_was_imported_and_a_new_import_brings_it_back(
    memory: Memory, run: Run, tmp_path: Path
) -> None:
    name = write(tmp_path / "ida.af", new_shape())
    run("af", "import", name)
    memory.do("undo")
    assert list(archive.passages(memory.layout)) == []
    assert memory.block("about-user").at == ""
    memory.do("redo")
    assert len(list(archive.passages(memory.layout))) == 3
    memory.do("undo")
    run("af", "import", name)
    assert len(list(archive.passages(memory.layout))) == 3


def _bent(change: Callable[[dict[str, Any]], object]) -> bytes:
    whole = new_shape()
    change(whole)
    return json.dumps(whole).encode()


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "no agent file"), "no JSON": (b"{torn", "no agent file"), "bytes": (b"\xff\xfe{}", "no agent file"),
    "a list": (b"[]", "no JSON object"), "a number": (b"1e400", "no agent file"),
    "nested": (b"[" * 200_000, "no agent file"),
    "another format": (b'{"hello": 1}', "neither `agents` nor `core_memory`"),
    "version": (json.dumps({**old_shape(), "version": "7.1"}).encode(), "version '7.1'"),
    "no version": (json.dumps({**old_shape(), "version": None}).encode(), "version 'None'"),
    "no agents": (b'{"agents": []}', "no agent in the file"), "odd agents": (b'{"agents": [1]}', "list of objects"),
    "odd blocks": (_bent(lambda w: w.update(blocks={"a": 1})), "`blocks` is not a list"),
    "odd value": (_bent(lambda w: w["blocks"][0].update(value=7)), "no label or no value"),
    "over its limit": (_bent(lambda w: w["blocks"][0].update(value="x" * 5001)), "its limit is 5,000"),
    "over any limit": (_bent(lambda w: w["blocks"][0].update(value="x" * 200_001, limit=10**9)), "limit is 200,000"),
    "too many": (_bent(lambda w: w["agents"][0].update(memory_blocks=[{"label": "a", "value": ""}] * 101)), "101 bl"),
    "twins": (_bent(lambda w: w["blocks"][0].update(label="persona")), "two memory blocks are called 'persona'"),
    "near twins": (_bent(lambda w: w["blocks"][0].update(label="Persona")), "both be called persona"),
    "two agents": (_bent(lambda w: w["agents"].append({"name": "eve"})), "--agent"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_used_changes_nothing(memory: Memory, run: Run, tmp_path: Path, name: str) -> None:
    data, words = BAD[name]
    (tmp_path / "bad.af").write_bytes(data)
    before = listing(memory.layout.root)
    code, out, err = run("af", "import", str(tmp_path / "bad.af"))
    assert (code, out) == (2, "")
    assert words in err
    assert listing(memory.layout.root) == before


def test_hostile_names_and_texts_reach_neither_paths_nor_the_terminal(memory: Memory, run: Run, tmp_path: Path) -> None:
    whole = new_shape()
    whole["blocks"][0].update(label="../../evil", value="\x1b]52;c;aGk=\x07\u202ehi")
    whole["agents"][0]["name"] = "\x1b[2Jida"
    whole["tools"][0]["name"] = "\x1b[31mlook"
    whole["passages"][0]["tags"] = ["\x1b[0m", 7, "ok", " "]
    whole["agents"][0]["messages"] += [{"role": 7, "content": 3, "tool_calls": [1], "tool_returns": 5}, {}]
    code, out, err = run("af", "import", write(tmp_path / "ida.af", whole))
    assert code == 0
    assert "\x1b" not in out + err
    assert memory.block("evil").text == "␛]52;c;aGk=␇·hi"
    assert not list(tmp_path.glob("evil*"))
    assert block_name("///").startswith("block-")


def test_an_agent_is_chosen_by_name_and_a_file_encoded_twice_is_read(memory: Memory, run: Run, tmp_path: Path) -> None:
    whole = new_shape()
    whole["agents"].append({"name": "eve", "id": "agent-1", "block_ids": ["block-2"], "messages": []})
    found = parse(json.dumps(json.dumps(whole)).encode(), "eve")
    assert [block.label for block in found.blocks] == ["stray"]
    assert "1 other agents in the file" in found.left_out
    with pytest.raises(BadAgentFile, match="no agent 'bob'"):
        parse(json.dumps(whole).encode(), "bob")


def test_nobody_in_an_imported_transcript_speaks_as_the_operator(memory: Memory, run: Run, tmp_path: Path) -> None:
    run("af", "import", write(tmp_path / "ida.af", new_shape()))
    (path,) = memory.layout.transcripts.glob("*.jsonl")
    parser = SessionParser(path.stem, SessionReport(file=str(path)), own=False)
    entries = [one for n, line in enumerate(path.read_bytes().splitlines(), 1) for one in parser.entries(n, line)]
    assert len(entries) == 5
    assert not any(one.person for one in entries)


def test_what_cannot_be_read_or_would_be_overwritten(memory: Memory, run: Run, tmp_path: Path) -> None:
    assert run("af", "import", str(tmp_path / "none.af"))[0] == 3
    assert run("af", "import", str(tmp_path))[0] == 2
    (tmp_path / "there.af").write_text("mine")
    code, _, err = run("af", "export", str(tmp_path / "there.af"))
    assert (code, "--force" in err) == (2, True)
    assert (tmp_path / "there.af").read_text() == "mine"
    assert run("af", "export", str(tmp_path / "x.af"), "--session", "nope")[0] == 3
    assert run("af", "export", str(tmp_path / "x.af"), "--session", "../nope")[0] == 2
    assert json.loads(run("af", "export", "-", "--session", "none")[1])["agents"][0]["messages"] == []


def test_an_export_that_comes_home_adds_no_second_note(memory: Memory, run: Run, tmp_path: Path) -> None:
    memory.do("archive.insert", text="Reload nginx after the certificate", tags=["nginx"])
    file = tmp_path / "home.af"
    assert "1 passage," in run("af", "export", str(file))[1]
    code, out, _ = run("af", "import", str(file))
    assert code == 0 and "passages: 0 new of 1" in out and "nothing was changed" in out
    assert len(list(archive.passages(memory.layout))) == 1
    assert "is no plain file" in run("af", "import", str(tmp_path))[2]
