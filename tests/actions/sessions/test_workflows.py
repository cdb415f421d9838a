"""The documented workflows, as an agent types them."""

from __future__ import annotations

import json


def test_workflow_1_handing_over(shell, git):
    git.commit("auth.py", "x = 1\n")
    shell.ok("wu", "new", "Session manager", "--lane", "Framework: Core", "--id", "WU-042")
    shell.ok("start", "--wu", "WU-042", "--agent-type", "claude-code", agent="one")
    shell.ok("wu", "claim", "WU-042", agent="one")
    git.write("auth.py", "x = 2\n")
    shell.ok("checkpoint", "tests written", "--wu", "WU-042", "--next-steps", "integration", agent="one")
    shell.ok("signal", "auth works, sessions do not", "--wu", "WU-042", agent="one")
    shell.ok(
        "create", "Retry or fail fast?", "--type", "note", "--tags", "decision", "--priority", "P2", "--wu", "WU-042",
        agent="one",
    )  # fmt: skip
    shell.ok("handoff", "begin with the session test", "--wu", "WU-042", agent="one")
    page = shell.json("ready", "--wu", "WU-042", agent="two")
    assert (page["unit"]["status"], page["unit"]["lane"]) == ("in_progress", "Framework: Core")
    assert (page["session"]["agent"], page["session"]["agent_type"]) == ("one", "claude-code")
    assert (page["signals"][0]["text"], page["signals"][0]["by"]) == ("auth works, sessions do not", "one")
    assert page["files_touched"] == ["auth.py"]
    assert [entry["text"] for entry in page["pending_decisions"]] == ["Retry or fail fast?"]
    assert page["last_checkpoint"]["extra"]["nextSteps"] == "integration"
    text = shell.ok("ready", "--wu", "WU-042", agent="two")
    for part in ("in_progress", "Framework: Core", "of one", "auth works", "auth.py", "Retry or fail fast?"):
        assert part in text
    started = shell.ok("start", "--wu", "WU-042", agent="two").splitlines()
    assert started[1].endswith("begin with the session test")
    assert "hand-off from one" in started[1]
    again = shell("ready", "--wu", "WU-042", "--take", agent="three")
    assert (again.returncode, "nothing waits for three" in again.stderr) == (0, True)
    assert "taken by two" in again.stdout


def test_workflow_4_parallel_lanes(shell):
    shell.ok("wu", "new", "Core work", "--lane", "Framework: Core", "--id", "WU-100")
    shell.ok("wu", "new", "UI work", "--lane", "Framework: UI", "--id", "WU-101")
    a = shell.ok("start", "--wu", "WU-100", "-q", agent="a")
    b = shell.ok("start", "--wu", "WU-101", "-q", agent="b")
    shell.ok("wu", "claim", "WU-100", agent="a")
    shell.ok("wu", "claim", "WU-101", agent="b")
    shell.ok("signal", "the port changed its name", "--wu", "WU-100", "--lane", "Framework: Core", agent="a")
    (seen,) = shell.json("inbox", agent="b")
    assert (seen["sender"], seen["wu_id"], seen["lane"]) == ("a", "WU-100", "Framework: Core")
    assert len(shell.json("inbox", agent="c")) == 1, "b's reading hides nothing from c"
    assert {one["session_id"]: one["active_wu"] for one in shell.json("session")} == {a: "WU-100", b: "WU-101"}
    lanes = {one["lane"]: [holder["by"] for holder in one["holders"]] for one in shell.json("wu", "lanes")}
    assert lanes == {"Framework: Core": ["a"], "Framework: UI": ["b"]}
    shell.ok("checkpoint", "ui", "--session", b, agent="anybody")
    assert shell.json("ready", "--wu", "WU-101")["last_checkpoint"]["extra"]["session_id"] == b
    shell.ok("wu", "done", "WU-100", agent="a")
    told = shell.json("inbox", agent="b")
    assert [(one["type"], one["wu_id"]) for one in told] == [("wu_completion", "WU-100")]


def test_workflow_5_before_the_context_runs_out(shell, git):
    shell.ok("wu", "new", "Session manager", "--lane", "Framework: Core", "--id", "WU-042")
    shell.ok("start", "--wu", "WU-042", agent="old")
    git.write("session.py", "new\n")
    shell.ok("checkpoint", "lock found", "--progress", "70%", "--next-steps", "write the test", "--trigger", "context",
             agent="old")  # fmt: skip
    shell.ok("signal", "the race is in release(); see session.py line 40", "--wu", "WU-042", agent="old")
    asked = shell.ok("decide", "Lock file or flock?", agent="old")
    page = shell.json("ready", "--wu", "WU-042", agent="fresh")
    assert [entry["id"] for entry in page["pending_decisions"]] == [asked]
    assert page["last_checkpoint"]["extra"] == {
        "progress": "70%", "nextSteps": "write the test", "trigger": "context",
        "session_id": page["session"]["session_id"],
    }  # fmt: skip
    assert page["files_touched"] == ["session.py"]
    block = shell.ok("recover", "--wu", "WU-042", agent="fresh")
    assert len(block) <= 2048
    assert all(part in block for part in ("lock found", "write the test", "release()", "session.py"))
    shell.ok("start", "--wu", "WU-042", agent="fresh")
    shell.ok("decide", "--resolve", asked, "--answer", "flock", agent="fresh")
    assert shell.json("ready", agent="fresh")["pending_decisions"] == []
    shell.ok("session", "end", page["session"]["session_id"], agent="fresh")
    assert shell.json("ready", agent="fresh")["session"]["agent"] == "fresh"


def test_the_session_in_the_environment_tells_agents_of_one_name_apart(shell):
    for number in ("WU-001", "WU-002"):
        shell.ok("wu", "new", number, "--lane", number, "--id", number)
    first = shell.ok("start", "--wu", "WU-001", "-q")
    shell.ok("start", "--wu", "WU-002", "-q")
    shell.ok("checkpoint", "of the first", LUMEN_SESSION=first)
    assert shell.json("ready", "--wu", "WU-001")["last_checkpoint"]["text"] == "Checkpoint: of the first"
    assert shell.ok("ready", LUMEN_SESSION=first).startswith("WU-001")
    shell.ok("session", "end", LUMEN_SESSION=first)
    assert [one["active_wu"] for one in shell.json("session")] == ["WU-002"]


def test_exit_codes_and_words(shell):
    shell.ok("wu", "new", "x", "--lane", "Framework: Core", "--id", "WU-042")
    for words, code, said in (
        (("start", "--wu", "WU-42"), 3, "WU-042"), (("ready", "--wu", "WU-43"), 3, "WU-042"),
        (("ready",), 2, "start --wu"), (("handoff", "x"), 2, "start --wu"), (("session", "end"), 3, "no open"),
        (("start", "--wu", "WU-042", "-c", "ful"), 2, "full"), (("wu", "claim", "WU-420"), 3, "WU-042"),
        (("wu", "block", "WU-042"), 2, "reason"), (("wu", "unblock", "WU-042"), 3, "not blocked"),
        (("link", "WU-042", "block", "WU-042"), 2, "blocks"), (("context", "--wu", "WU-042", "-m", "5"), 2, "200"),
        (("ready", "--wu", "WU-042", "-t", "nots"), 2, "mean: note"), (("checkpoint", "a", "-n", "b"), 2, "twice"),
        (("decide", "--resolve", "mem-x", "--answer", "y"), 3, "no node"), (("session", "show"), 3, "no open"),
        (("session", "show", "ses-x"), 3, "no session"), (("wu", "claim", "WU-042", "-l", "framework: cor"), 2, "Core"),
    ):  # fmt: skip
        ran = shell(*words)
        assert (ran.returncode, said in ran.stderr) == (code, True), (words, ran.stderr)
    assert json.loads(shell("session", "--json").stdout) == []


def test_context_tells_on_stderr_what_was_cut_and_in_json(shell):
    shell.ok("wu", "new", "x", "--id", "WU-042", "--body", "word " * 2000)
    ran = shell("context", "--wu", "WU-042", "--max-size", "1000")
    assert ran.returncode == 0
    assert len(ran.stdout) <= 1001
    assert "cut: Work unit" in ran.stderr
    assert shell("context", "--wu", "WU-042", "-q").stderr == ""
    assert shell.json("context", "--wu", "WU-042")["cut"][0]["section"] == "Work unit"
