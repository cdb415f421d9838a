"""The documented commands, as documented: each is a row here, and does what the documentation says."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lumen_program import lumen

from lumen_tui.cli.lumenflow import mem, spelling
from lumen_tui.cli.main import _may_be_documented, main
from lumen_tui.storage.layout import Layout

REPO = Path(__file__).resolve().parents[3]


class Shell:
    """`shell("mem:signal", …)` in this process, on one state folder."""

    def __init__(self, root: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.root, self.layout, self._capture = root, Layout(root), capture
        self.err = ""

    def code(self, *words: str) -> tuple[int, str]:
        code = main(list(words))
        said = self._capture.readouterr()
        self.err = said.err
        return code, said.out.strip()

    def __call__(self, *words: str) -> str:
        code, out = self.code(*words)
        assert code == 0, (words, self.err)
        return out

    def records(self, name: str) -> list[dict[str, Any]]:
        path = self.root / "memory" / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def node(self, node_id: str) -> dict[str, Any]:
        return {node["id"]: node for node in self.records("memory.jsonl")}[node_id]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("LUMEN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LUMEN_OPERATOR", "ana")
    monkeypatch.delenv("LUMEN_SESSION", raising=False)
    monkeypatch.chdir(tmp_path)
    made = Shell(tmp_path / "state", capsys)
    made("mem:init")
    made("wu", "new", "Session manager", "--id", "WU-042", "--lane", "Framework: Core")
    return made


DOCUMENTED = (
    ("mem:init", "-q"),
    ("mem:start", "--wu", "WU-042", "-a", "claude-code", "-c", "core", "-q"),
    ("mem:ready", "--wu", "WU-042"),
    ("mem:ready", "--wu", "WU-042", "-t", "discovery", "-f", "json"),
    ("mem:checkpoint",),
    ("mem:checkpoint", "-n", "tests written", "-p", "50%", "--next-steps", "integration", "-t", "handoff"),
    ("mem:checkpoint", "tests written", "--wu", "WU-042", "--git-diff-stat", " 1 file changed", "-q"),
    ("mem:signal", "-m", "Completed validation logic", "--wu", "WU-042", "-l", "Framework: Core"),
    ("mem:signal", "Completed validation logic", "-q"),
    ("mem:inbox", "--wu", "WU-042", "-l", "Framework: Core"),
    ("mem:inbox", "-s", "1h", "--no-mark"),
    ("mem:inbox", "--since", "2026-01-31", "-c"),
    ("mem:create", "Found race condition", "--type", "discovery", "-p", "P1", "--tags", "bug,auth,race-condition"),
    ("mem:create", "-t", "A question", "--type", "question", "--wu", "WU-042", "-q"),
    ("mem:triage", "-l"),
    ("mem:triage", "--list", "--wu", "unlinked", "--tag", "bug", "--json"),
    ("mem:summarize", "--wu", "WU-042", "--dry-run"),
    ("mem:summarize", "--wu", "WU-042", "--json"),
    ("mem:cleanup", "--dry-run", "--ttl", "30d"),
    ("mem:cleanup", "--dry-run", "--decay", "--json"),
    ("signal:cleanup", "--dry-run", "--ttl", "7d", "--unread-ttl", "30d", "--max-entries", "500", "--json"),
    ("mem:context", "--wu", "WU-042", "-m", "4096", "-l", "Framework: Core", "--max-recent-summaries", "5"),
    ("mem:context", "--max-project-nodes", "10", "-f", "json", "-q"),
    ("mem:recover", "--wu", "WU-042", "-m", "2048", "-f", "human", "-q"),
    ("mem:promote", "-w", "WU-042", "-t", "decision", "--dry-run"),
    ("mem:profile", "-l", "20", "-t", "decision", "--json"),
    ("mem:profile", "--raw"),
    ("mem:delete", "--tag", "bug", "--dry-run", "--json"),
    ("mem:export", "--wu", "WU-042", "-t", "discovery", "-f", "markdown"),
    ("mem:export", "-l", "project", "-f", "json"),
    ("mem:index", "-n", "--json"),
    ("state:doctor", "--json"),
    ("state:cleanup", "--dry-run", "--json"),
    ("state-cleanup", "--dry-run", "--signals-only"),
    ("agent:session", "--wu", "WU-042", "--tier", "2"),
    (
        "agent-log-issue",
        "--category",
        "tooling",
        "--severity",
        "minor",
        "--title",
        "lint is slow",
        "--description",
        "x",
    ),
    ("agent:session-end",),
    ("wu:claim", "--id", "WU-042", "-l", "Framework: Core"),
    ("wu:release", "WU-042", "-r", "another goes on"),
    ("wu:block", "WU-042", "-r", "no key"),
    ("wu:unblock", "WU-043"),
    ("wu:done", "WU-042"),
    ("lumenflow:integrate", "--client", "claude-code"),
    ("session", "start", "--wu", "WU-042", "-a", "claude-code"),
    ("session", "status"),
    ("session", "handoff", "tests are red", "--wu", "WU-042"),
    ("session", "stop"),
)


@pytest.fixture
def worked(shell: Shell, tmp_path: Path) -> Shell:
    """With a session, a checkpoint, a summary and something kept."""
    shell("mem:start", "--wu", "WU-042")
    note = shell("decide", "Retry?", "--answer", "twice")
    shell("mem:checkpoint", "half way")
    shell("mem:signal", "half way", "--wu", "WU-042")
    shell("mem:create", "A race", "--tags", "bug")
    shell("mem:summarize", "--wu", "WU-042")
    shell("mem:promote", "-n", note, "-t", "decision")
    shell("wu", "new", "Blocked", "--id", "WU-043")
    shell("wu:block", "WU-043", "-r", "no key")
    (tmp_path / "README.md").write_text("# Project\nWhat it is.\n")
    shell("mem:create", "Another race", "--tags", "bug")
    return shell


@pytest.mark.sweep(most=20)
@pytest.mark.parametrize("words", DOCUMENTED, ids=" ".join)
def test_each_documented_example_runs(worked, words):
    code, _ = worked.code(*words)
    assert code == 0, worked.err


def test_every_row_has_an_example():
    names = {mem.spelled(list(words)) for words in DOCUMENTED}
    assert names == set(mem.ROWS)


@pytest.mark.parametrize("name", [name for name in mem.ROWS if ":" in name and name != "signal:cleanup"])
def test_every_row_is_known_with_a_hyphen_and_has_help(shell, name):
    code, said = shell.code(name.replace(":", "-"), "--help")
    assert (code, said.splitlines()[0].split()[:3]) == (0, ["usage:", "lumen-tui", name])


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("mem:signal", "x", "--lnae", "Core"), "--lane"),
        (("mem:chekpoint", "x"), "mem:checkpoint"),
        (("mem-inbox", "--conut"), "--count"),
        (("state:docter",), "state:doctor"),
        (("mem:ready", "--wu", "WU-024"), "WU-042"),
        (("mem:create", "x", "--type", "discvery"), "discovery"),
    ],
)
def test_wrong_words_name_the_nearest_and_write_nothing(shell, words, near):
    before = shell.records("signals.jsonl"), shell.records("memory.jsonl")
    assert shell.code(*words)[0] == (3 if near == "WU-042" else 2)
    assert near in shell.err
    assert (shell.records("signals.jsonl"), shell.records("memory.jsonl")) == before


@pytest.mark.parametrize("words", [("mem:signal", "one", "two"), ("mem:signal", "-m", "one", "two"), ("mem:signal",)])
def test_one_message_is_one(shell, words):
    assert shell.code(*words)[0] == 2
    assert shell.records("signals.jsonl") == []


def test_a_signal_needs_no_work_unit_and_names_its_sender(shell):
    shell("mem:signal", "for everybody")
    shell("mem:signal", "-m", "-- dashes --", "--wu", "wu-042", "-l", "Framework: Core", "--from", "bo")
    one, two = shell.records("signals.jsonl")
    assert "wu_id" not in one
    assert (one["sender"], two["sender"], two["wu_id"], two["message"]) == ("ana", "bo", "WU-042", "-- dashes --")


def test_a_discovery_takes_the_work_unit_of_the_open_session(shell):
    alone = shell("mem:create", "before any session")
    started = shell("mem:start", "--wu", "WU-042", "-q")
    within = shell("mem:create", "-t", "in the session", "-d", alone, "--type", "bug")
    shell("wu", "new", "Other", "--id", "WU-043")
    shell("mem:start", "--wu", "WU-043", "-q")
    named = shell("mem:create", "in the first one", "-s", started)
    assert [shell.node(one).get("wu_id") for one in (alone, within, named)] == [None, "WU-042", "WU-042"]
    assert [shell.node(one).get("session_id") for one in (alone, within, named)] == [None, started, started]
    assert shell.node(within)["tags"] == ["bug"]
    (edge,) = shell.records("relationships.jsonl")
    assert (edge["from_id"], edge["to_id"]) == (within, alone)


@pytest.mark.parametrize("nowhere", [("--wu", "none"), ("--wu", ""), ("--wu=",)])
def test_a_discovery_of_no_work_unit_says_so(shell, nowhere):
    started = shell("mem:start", "--wu", "WU-042", "-q")
    assert "wu_id" not in shell.node(shell("mem:create", "about the kitchen", *nowhere))
    both = shell.node(shell("mem:create", "about the kitchen", "-s", started, *nowhere))
    assert ("wu_id" in both, both["session_id"]) == (False, started)


def test_a_session_of_another_work_unit_is_refused(shell):
    started = shell("mem:start", "--wu", "WU-042", "-q")
    shell("wu", "new", "Other", "--id", "WU-043")
    assert shell.code("mem:create", "x", "-s", started, "--wu", "WU-043")[0] == 2
    assert f"session {started} is on WU-042" in shell.err


def test_an_agent_session_begins_logs_an_issue_and_ends(shell):
    started = shell("agent:session", "--wu", "WU-042", "--tier", "1", "-q")
    shown = json.loads(shell("session", "status", "--json"))
    assert (shown["session_id"], shown["agent_type"], shown["context_tier"]) == (started, "claude-code", "core")
    words = ("--category", "workflow", "--severity", "blocker", "--title", "gates hang", "--description", "no output")
    made = shell("agent-log-issue", *words, "--resolution", "killed it", "--tags", "gates,ci", "--files", "a.py")
    node = shell.node(made)
    assert node["content"] == "gates hang\nno output\nResolution: killed it\nFiles: a.py"
    assert (node["type"], node["metadata"]["priority"]) == ("discovery", "P0")
    assert node["tags"] == ["issue", "workflow", "gates", "ci"]
    assert (node["wu_id"], node["session_id"]) == ("WU-042", started)
    assert started[4:8] in shell("agent-session-end")
    assert shell.code("agent:session-end")[0] == 3
    for wrong, near in (("--severity", "major"), ("--tier", "3")):
        verb = "agent:session" if wrong == "--tier" else "agent:log-issue"
        assert shell.code(verb, "--wu", "WU-042", *(("--title", "x") if verb[-1] == "e" else ()), wrong, "majr")[0] == 2
        assert near in shell.err
    assert shell.code("agent:log-issue", "--category", "x")[0] == 2


def test_the_session_words_run_as_documented(shell):
    started = shell("session", "start", "--wu", "WU-042", "-a", "claude-code", "-c", "minimal", "-q")
    shown = json.loads(shell("session", "status", "--json"))
    assert (shown["session_id"], shown["context_tier"], shown["ended_at"]) == (started, "minimal", "")
    shell("session", "handoff", "-n", "tests are red")
    assert shell.records("memory.jsonl")[-1]["session_id"] == started
    assert started[4:8] in shell("session", "stop")
    assert shell.code("session", "status")[0] == 3
    assert "tests are red" in shell("session", "start", "--wu", "WU-042")


def test_the_state_is_cleaned_in_one_go(shell):
    old = {"created_at": "2020-01-01T00:00:00Z", "sender": "bo", "read": True}
    with shell.layout.signals.open("a") as file:
        file.writelines(json.dumps({"id": f"sig-{number}", "message": "x", **old}) + "\n" for number in range(3))
    with shell.layout.memory.open("a") as file:
        old_note = {"id": "mem-old", "type": "note", "content": "x", "lifecycle": "session", "created_by": "bo"}
        file.write(json.dumps({**old_note, "created_at": "2020-01-01T00:00:00Z"}) + "\n")
    looked = json.loads(shell("state:cleanup", "--dry-run", "--json"))
    assert (looked["dry_run"], looked["signals"]["removed"]) == (True, 3)
    assert [one["id"] for one in looked["memory"]["nodes"]] == ["mem-old"]
    assert len(shell.records("signals.jsonl")) == 3
    assert shell("state-cleanup", "--memory-only").startswith("memory: ")
    assert len(shell.records("signals.jsonl")) == 3
    assert shell.node("mem-old")["metadata"]["status"] == "archived"
    assert shell("state-cleanup").startswith("signals: ")
    assert shell.records("signals.jsonl") == []
    assert shell.code("state-cleanup")[0] == 3
    assert shell.code("state-cleanup", "--memory-only", "--signals-only")[0] == 2


def test_triage_promotes_and_archives_after_a_look(shell):
    one, two = (shell("mem:create", text, "--type", "bug") for text in ("Found race condition", "A duplicate"))
    seen = shell("mem:triage", "-p", one, "--lane", "Framework: Core", "--dry-run")
    assert "would promote" in seen
    assert "Found race condition" in seen
    assert "metadata" not in shell.node(one)
    words = ("--title", "Fix the race", "--wu-id", "WU-077", "--json")
    done = json.loads(shell("mem:triage", "--promote", one, "--lane", "Framework: Core", *words))
    assert done == {
        "success": True,
        "wuSpec": {
            "id": "WU-077",
            "title": "Fix the race",
            "lane": "Framework: Core",
            "priority": "P2",
            "notes": f"Promoted from discovery {one}",
        },
    }
    assert "Fix the race" in shell.layout.work_unit("WU-077").read_text()
    assert shell.code("mem:triage", "--archive", two)[0] == 2
    assert "reason" in shell.err
    assert shell.code("mem:triage", "--promote", two, "--json")[0] == 2
    shell("mem:triage", "-a", two, "-r", "Duplicate of WU-077")
    assert shell.node(two)["metadata"]["archive_reason"] == "Duplicate of WU-077"
    assert shell("mem:triage", "--list") == ""


def test_the_hand_off_reaches_the_next_session(shell):
    shell("session", "start", "--wu", "WU-042")
    shell("session", "handoff", "-n", "tests are red")
    assert "WU-042" in shell("session", "status")
    shell("session", "stop")
    assert shell.code("session", "status")[0] == 3
    assert "tests are red" in shell("session", "start", "--wu", "WU-042")


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("90000", "90000"), ("2 hours", "2h"), ("10m", "10m"), ("30 days", "30d"), ("1w", "1w"), ("500ms", "500ms"),
        ("1.5h", "1.5h"), ("1y", "365.25d"), ("1700000000000", "2023-11-14T22:13:20.000Z"),
        ("2026-01-31", "2026-01-31"), ("3 moons", "3 moons"),
    ],
)  # fmt: skip
def test_times_as_the_documentation_writes_them(text, ours):
    assert spelling._time(text) == ours


def test_a_base_folder_is_the_state_folder_or_holds_it(shell, tmp_path, capsys):
    project = tmp_path / "project"
    (project / ".lumenflow").mkdir(parents=True)
    (project / ".lumenflow").chmod(0o700)
    assert shell.code("mem:signal", "too early", "-d", str(project))[0] in (1, 2)
    assert shell.code("mem:init", "-d", str(project), "-q") == (0, "")
    for base in (project, project / ".lumenflow"):
        shell("mem:signal", "x", "-d", str(base))
    shell("mem:create", "y", "-b", str(project))
    assert len((project / ".lumenflow" / "memory" / "signals.jsonl").read_text().splitlines()) == 2
    assert shell.records("signals.jsonl") == []
    shell("mem:init", "--base-dir", str(tmp_path / "fresh"))
    assert Layout(tmp_path / "fresh").exists()


def test_quiet_is_quiet_but_not_about_errors(shell):
    assert shell("mem:init", "-q") == ""
    shell("mem:start", "--wu", "WU-042", "-q")
    shell("mem:checkpoint", "x", "-q")
    assert shell.err == ""
    assert shell.code("mem:ready", "--wu", "WU-999", "-q")[0] == 3
    assert "WU-999" in shell.err


def test_profile_shows_the_most_used_first(shell):
    used, other, scratch = (shell("mem:create", text) for text in ("used often", "used never", "no knowledge"))
    for one, tag in ((other, "pattern"), (used, "pitfall")):
        shell("mem:promote", "-n", one, "-t", tag)
    copy = next(node["id"] for node in shell.records("memory.jsonl") if node.get("tags") == ["pitfall"])
    shell("touch", copy)
    shell("touch", copy)
    found = json.loads(shell("mem:profile", "--json"))
    assert [(one["content"], one["uses"]) for one in found["nodes"]] == [("used often", 2), ("used never", 0)]
    assert found["stats"] == {"totalProjectNodes": 2, "includedNodes": 2, "byTag": {"pattern": 1, "pitfall": 1}}
    assert json.loads(shell("mem:profile", "-l", "1", "--json"))["nodes"] == found["nodes"][:1]
    only = json.loads(shell("mem:profile", "-t", "pattern", "--json"))["nodes"]
    assert [one["content"] for one in only] == ["used never"]
    assert json.loads(shell("profile", "--json"))[0]["content"] == "used often", "our own spelling has our own shape"
    assert shell("mem:profile", "--raw", "-t", "pitfall") == "used often"
    assert shell.code("mem:profile", "-t", "faq")[0] == 3
    assert scratch not in shell("mem:profile")


def test_index_takes_each_document_in_once(shell, tmp_path):
    (tmp_path / "README.md").write_text("# Lumen\n" + "long line of words\n" * 500)
    package = {"name": "x", "version": "1.0", "scripts": {"test": "vitest"}, "dependencies": {"left-pad": "1"}}
    (tmp_path / "package.json").write_text(json.dumps(package))
    assert "new" in shell("mem:index", "-n")
    assert shell.records("memory.jsonl") == []
    shell("mem:index", "-b", str(tmp_path), "--json")
    readme, told = shell.records("memory.jsonl")
    assert (readme["type"], readme["lifecycle"], readme["tags"]) == ("summary", "project", ["project-index"])
    assert 1900 < len(readme["content"]) <= 2000
    assert "test: vitest" in told["content"]
    assert "unchanged" in shell("mem:index")
    assert len(shell.records("memory.jsonl")) == 2
    (tmp_path / "package.json").write_text("{broken")
    assert "changed" in shell("mem:index")
    assert shell.node(told["id"])["content"] == "package.json\n{broken"
    shell("undo")
    assert "test: vitest" in shell.node(told["id"])["content"]


def test_index_where_there_is_nothing_to_index(shell, tmp_path):
    (tmp_path / "bare").mkdir()
    assert shell.code("mem:index", "-b", str(tmp_path / "bare"))[0] != 0
    assert shell.records("memory.jsonl") == []


def test_undo_takes_an_index_back(shell, tmp_path):
    (tmp_path / "README.md").write_text("# Lumen\n")
    shell("mem:index")
    shell("undo")
    assert shell.code("mem:profile")[0] == 3
    assert "new" in shell("mem:index", "-n")
    shell("mem:index")
    assert len(json.loads(shell("mem:profile", "--json"))["nodes"]) == 1


def test_as_a_program(shell: Shell, run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert run("mem:signal", "from a process").returncode == 0
    assert run("mem-signal", "from another").returncode == 0
    assert [one["message"] for one in shell.records("signals.jsonl")] == ["from a process", "from another"]
    refused = run("mem:signal", "x", "--nope")
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.fixture
def run(shell: Shell) -> Callable[..., subprocess.CompletedProcess[str]]:
    def start(*words: str) -> subprocess.CompletedProcess[str]:
        return lumen([*words], env={**os.environ, "PYTHONPATH": str(REPO)}, cwd=REPO)

    return start


@pytest.mark.parametrize("words", [("wu:done", "WU-042"), ("wu:done", "--id", "WU-042"), ("wu-done", "wu-042")])
def test_the_life_of_a_work_unit_in_its_documented_words(shell, words):
    shell("wu:claim", "--id", "WU-042", "--lane", "Framework: Core")
    shell("wu:block", "WU-042", "--reason", "no key")
    shell("wu:unblock", "WU-042")
    assert "WU-042 done" in shell(*words)
    assert (shell.root / "stamps" / "WU-042.done").exists()
    assert shell.code("wu:don", "WU-042")[0] == 2
    assert "wu:done" in shell.err


def test_hooks_are_installed_by_their_documented_command(shell, tmp_path):
    assert "hooks are installed" in shell("lumenflow:integrate", "--client", "claude-code")
    assert "PostToolUse" in (tmp_path / ".claude" / "settings.local.json").read_text()
    assert "already" in shell("lumenflow:integrate")
    assert shell.code("lumenflow:integrate", "--client", "claude-coed")[0] == 2
    assert "did you mean: claude-code" in shell.err


@pytest.mark.parametrize("words", [(), ("--ttl", "30d"), ("--decay",), ("--json",)], ids=" ".join)
def test_upkeep_with_nothing_to_do_is_as_good_an_end_as_any_in_the_documented_words(shell, words):
    assert shell.code("mem:cleanup", *words)[0] == 0
    assert shell.code("mem:index")[0] == 0
    assert shell.code("cleanup")[0] == 3, "and what our own word promises"


def test_a_session_that_is_closed_by_cleanup_is_something_done(shell):
    for word in ("mem:cleanup", "cleanup"):
        session = shell("mem:start", "--wu", "WU-042", "-q")
        assert f"session {session[4:8]} on WU-042 ended" in shell(word, "--session-id", session)
    assert json.loads(shell("session", "--json")) == []


def test_triage_lists_in_either_spelling(shell):
    found = shell("create", "a race")
    assert shell("triage", "--list") == shell("triage")
    assert found in shell("triage", "--list") and found in shell("mem:triage", "--list")


def test_why_knows_a_work_unit_that_ready_knows(shell):
    line = {
        "id": "mem-fd1d",
        "type": "discovery",
        "content": "x",
        "created_at": "2026-11-21T03:57:11Z",
        "wu_id": "WU-7",
    }
    (shell.root / "memory" / "memory.jsonl").write_text(json.dumps(line) + "\n")
    assert "mem-fd1d" in shell("ready", "--wu", "WU-7")
    assert "only records about it, such as mem-fd1d" in shell("why", "WU-7")
    assert shell.code("why", "WU-8")[0] == 3


def test_every_documented_name_is_looked_up_though_ours_are_not() -> None:
    assert all(_may_be_documented(name.split()) for name in mem.ROWS)
    assert not any(_may_be_documented([name]) for name in ("status", "triage", "decay", "why", "recall", "wu"))
