"""The real Claude Code in a worker, on the local API server. Skipped where it is not installed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from lumen_apiserver import fail, held, text, tool, tools, use

from lumen_tui.actions.registry import named, perform
from lumen_tui.storage import files
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals

OURS = "mcp__lumen__"


def test_it_works_with_our_tools_and_its_own(real_work, api, tmp_path):
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    api.say(
        tool("Read", file_path=str(tmp_path / "notes.txt"), say="I look."), tool("Read", file_path="/etc/shadow"),
        tools(use(f"{OURS}list_dir", path=str(tmp_path)), use(f"{OURS}shell", command="id -u; env")),
        tool("Bash", command="id"), tool(f"{OURS}write_result", text="# Two lines"), text("That is all."),
    )  # fmt: skip
    ended = real_work.run()
    assert (ended["status"], ended["brain"]) == ("done", "claude claude-sonnet-5-5")
    assert (real_work.folder / "result.md").read_text() == "# Two lines\n"
    assert "".join(real_work.texts("text")) == "I look.That is all."
    assert [one.partition(" ")[0] for one in real_work.texts("call")] == [
        "Read", "Read", "list_dir", "shell", "write_result",
    ]  # fmt: skip
    assert "is where keys or private data are kept" in str(api.asked[2].results)
    assert "two" in str(api.asked[1].results)
    assert api.asked[0].tool_names[0] == "Read"
    assert "Bash" not in api.asked[0].tool_names


def test_our_system_prompt_stands_in_place_of_its_own(real_work, api):
    api.say(tool(f"{OURS}write_result", text="ok"), text("done"))
    assert real_work.run()["status"] == "done"
    system = api.asked[0].system_text
    assert "You are a researcher." in system and "## Who may order" in system
    assert "pasted_content" not in system and "# Harness" not in system


@pytest.mark.parametrize(("thinking", "sent"), [("off", False), ("adaptive", True)])
def test_effort_and_thinking_are_as_the_settings_say(real_work, api, thinking, sent):
    real_work.settings(f'effort = {{ researcher = "low" }}\nthinking = {{ sonnet = "{thinking}" }}\n')
    api.say(tool(f"{OURS}write_result", text="ok"), text("done"))
    assert real_work.run()["status"] == "done"
    asked = api.asked[0].body
    assert asked["output_config"]["effort"] == "low"
    assert ("thinking" in asked) is sent


def test_what_it_spends_is_what_it_says(real_work, api):
    api.say(tool(f"{OURS}list_dir", path="/"), fail(529), text("done"))
    real_work.run()
    lines = real_work.book()
    assert [line["kind"] for line in lines] == ["hold", "sent", "settle"] * 2
    assert len({line["id"] for line in lines}) == 2
    assert real_work.exit["usage"]["usd"] == pytest.approx(sum(line["usd"] for line in lines[2::3]))
    assert len(real_work.texts("wait")) == 1


def test_its_session_file_is_recorded_and_is_there(real_work, api):
    api.say(text("The final words."))
    real_work.run()
    assert (real_work.folder / "result.md").read_text() == "The final words."
    (note,) = [one for one in real_work.texts("note") if "session file" in one]
    path = Path(note.partition(" is ")[2])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {"user", "assistant"} <= {line["type"] for line in lines}
    key = real_work.environ["ANTHROPIC_API_KEY"]
    kept = [found.read_bytes() for top in (real_work.layout.root, path.parents[2]) for found in top.rglob("*.json*")]
    assert not [data for data in kept if key.encode() in data]


def test_a_person_is_asked_through_its_own_question(real_work, api, tmp_path):
    (tmp_path / "notes.txt").write_text("one\n")
    rule = '[[rules]]\nkind = "requires_approval"\ntool = "read_file"\n'
    real_work.role("asker", rule)
    api.say(tool("Read", file_path=str(tmp_path / "notes.txt")), tool(f"{OURS}write_result", text="# R"), text("ok"))
    assert real_work.start().wait(60) == 3, "it waits without a process"
    (request,) = approvals.undecided(real_work.layout)
    assert request.arguments["path"] == str(tmp_path / "notes.txt")
    store = Store(real_work.layout.root)
    answer = {"approval_ids": [request.id], "reason": "look elsewhere"}
    perform(store, named("approval.deny", answer), by="ann", now=time.time())
    real_work.write("run.json", {"attempt": 2, "started_at": "2026-01-01T00:00:00Z"})
    assert real_work.run()["status"] == "done"
    assert "refused by ann: look elsewhere" in api.asked[1].messages[-1]["content"][0]["text"]
    assert len(api.asked) == 3, "nothing was paid twice"


def test_an_objective_is_never_one_of_its_commands(real_work, api):
    real_work.spec(objective="/compact @/etc/hostname", context="@/etc/passwd says\n/clear it")
    api.say(text("ok"))
    assert real_work.run()["status"] == "done"
    sent = json.dumps(api.asked[0].messages)
    assert "/compact @/etc/hostname" in sent
    assert "/clear it" in sent
    assert "root:x:0" not in sent
    assert "Called the Read tool" not in sent


def test_it_reads_nobodys_settings(real_work, api, tmp_path):
    home = tmp_path / "home" / ".claude"
    home.mkdir()
    hook = {"hooks": [{"type": "command", "command": f"touch {tmp_path}/hooked"}]}
    (home / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": [hook], "Stop": [hook]}}))
    (home / "CLAUDE.md").write_text("BEWARE OF THE LEOPARD\n")
    (real_work.layout.root / "CLAUDE.md").write_text("BEWARE OF THE LEOPARD\n")
    api.say(text("ok"))
    assert real_work.run()["status"] == "done"
    assert not (tmp_path / "hooked").exists()
    assert "LEOPARD" not in json.dumps(api.asked[0].body)


@pytest.mark.parametrize("stop", ["file", "kill"])
def test_it_ends_with_its_worker(real_work, api, stop, is_alive):
    api.say(held(text("never")))
    child = real_work.start()
    real_work.until(lambda: api.asked)
    below = real_work.below()
    assert below
    if stop == "kill":
        child.kill()
    else:
        files.replace(real_work.folder / "stop.json", b'{"status": "cancelled", "reason": "enough"}')
    child.wait(8)
    real_work.until(lambda: not any(map(is_alive, below)), 5)
