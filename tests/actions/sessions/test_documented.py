"""The documented commands as they are written, from an empty folder on, and the effects that are documented."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from lumen_tui.model import ids


@pytest.fixture
def empty(tmp_path, shell):
    """A folder that nobody prepared, beside a repository in which the agents work."""
    return type(shell)(tmp_path / "fresh", shell.cwd)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_first_commands_of_the_documentation_need_nothing_before_them(empty):
    empty.ok("mem:init")
    started = empty("mem:start", "--wu", "WU-001")
    assert (started.returncode, "WU-001 was not there: it is made" in started.stderr) == (0, True)
    session = json.loads((empty.root / "sessions" / "current.json").read_text())
    assert (session["session_id"], session["active_wu"]) == (started.stdout.strip(), "WU-001")
    assert "status: in_progress" in empty.ok("mem:ready", "--wu", "WU-001")
    empty.ok("mem:checkpoint", "--wu", "WU-042")
    empty.ok("mem:checkpoint")
    empty.ok("mem:signal", "Completed validation logic", "--wu", "WU-001")
    assert "Completed validation logic" in empty.ok("mem:inbox")
    found = empty.ok("mem:create", "Found a bug in auth flow", "--type", "discovery", "--wu", "WU-001")
    empty.ok("mem:create", "API changed", "--discovered-from", found, "--tags", "api,breaking")
    assert found in empty.ok("mem:triage", "--list")
    empty.ok("mem:summarize", "--wu", "WU-001", "--dry-run")
    empty.ok("mem:summarize", "--wu", "WU-001")


WRITERS = (
    ("start",), ("signal", "x"), ("create", "x"), ("checkpoint", "x"), ("decide", "x?"), ("handoff", "x"),
    ("mem:start",), ("mem:signal", "x"), ("mem:create", "x"), ("mem:checkpoint", "x"), ("signal", "x", "--key", "k"),
)  # fmt: skip
READERS = (
    ("ready",), ("inbox",), ("triage",), ("context",), ("recover",), ("summarize",), ("wu", "show"), ("export",),
    ("search", "x"),
)  # fmt: skip


@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_what_writes_makes_the_work_unit_and_says_so(shell, words):
    ran = shell(*words, "--wu", "WU-007")
    assert (ran.returncode, "work unit WU-007 was not there: it is made" in ran.stderr) == (0, True), ran.stderr
    (unit,) = shell.json("wu", "list")
    assert (unit["id"], unit.get("status", "ready")) == ("WU-007", "in_progress" if "start" in words[0] else "ready")
    assert "made" not in shell(*words, "--wu", "WU-007").stderr, "it is there now"


LISTINGS = (
    ("wu", "list", "--json"), ("triage", "--json"), ("session", "list", "--json"), ("inbox", "--no-mark", "--json"),
    ("export", "-f", "json"),
)  # fmt: skip


def listings(shell):
    return [shell(*words).stdout for words in LISTINGS]


@pytest.mark.sweep(most=5)
@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_undo_takes_back_the_verb_that_mentioned_a_work_unit_and_then_the_unit(shell, words):
    before = listings(shell)
    shell.ok(*words, "--wu", "WU-777")
    assert listings(shell) != before
    shell.ok("undo")
    assert shell.ok("wu", "show", "WU-777")
    assert "WU-777 made" in shell.ok("undo")
    assert shell("undo").returncode == 3
    assert listings(shell) == before


@pytest.mark.sweep(most=8)
@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
@pytest.mark.parametrize("slip", ["WU-42", "WU-0042", "WU-024"])
def test_a_slip_makes_nothing_and_names_what_was_meant(shell, words, slip):
    shell.ok("wu", "new", "x", "--id", "WU-042")
    ran = shell(*words, "--wu", slip)
    assert (ran.returncode, "did you mean: WU-042" in ran.stderr, ran.stdout) == (3, True, "")
    assert [one["id"] for one in shell.json("wu", "list")] == ["WU-042"]
    assert shell.ok(*words, "--wu", "WU-043"), "the next number is another unit and no slip"


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_what_reads_makes_nothing(shell, words):
    where = ["WU-007"] if words[0] == "wu" else ["--wu", "WU-007"]
    ran = shell(*words, *where)
    assert ran.returncode == 3, ran
    assert shell.json("wu", "list") == []


def test_what_was_taken_back_is_not_made_again_by_its_mention(shell):
    shell.ok("wu", "new", "x", "--id", "WU-007")
    shell.ok("undo")
    shell.ok("signal", "about it", "--wu", "WU-007")
    assert shell.json("wu", "list") == []


def test_a_start_puts_its_unit_in_progress_within_the_limit_of_the_lane_and_undo_takes_both_back(shell):
    for number in ("WU-001", "WU-002"):
        shell.ok("wu", "new", number, "--lane", "Core", "--id", number)
    first = shell.ok("start", "--wu", "WU-001")
    full = shell("start", "--wu", "WU-002")
    assert full.returncode == 0
    assert "WU-002 is not put in progress: lane 'Core' is full (1 of 1): WU-001 by ana" in full.stderr
    assert [one.get("status", "ready") for one in shell.json("wu", "list")] == ["in_progress", "ready"]
    shell.ok("undo")
    shell.ok("undo")
    assert [one.get("status", "ready") for one in shell.json("wu", "list")] == ["ready", "ready"]
    assert shell.json("session") == []
    assert first not in shell.ok("session", "list", "--all"), "as if it had never begun"


def test_a_claim_after_the_start_is_the_agents_own_and_a_second_one_is_too_much(shell):
    shell.ok("start", "--wu", "WU-001")
    shell.ok("wu", "claim", "WU-001")
    assert shell("wu", "claim", "WU-001").returncode == 3
    assert "held" in shell("wu", "claim", "WU-001", agent="bo").stderr


def test_the_current_session_is_one_that_is_open(shell):
    current = shell.root / "sessions" / "current.json"
    one = shell.ok("start", "--wu", "WU-001")
    two = shell.ok("start", "--wu", "WU-002")
    assert json.loads(current.read_text())["session_id"] == two
    shell.ok("session", "end", two)
    assert json.loads(current.read_text())["session_id"] == one
    shell.ok("session", "end", one)
    assert not current.exists()


def test_agents_of_one_login_in_sessions_are_readers_of_their_own(shell):
    """Parallel lanes, as documented: B reads what A sent, and neither takes anything out of the other's inbox."""
    shell.ok("wu", "new", "Core", "--id", "WU-100", "--lane", "Framework: Core")
    shell.ok("wu", "new", "UI", "--id", "WU-101", "--lane", "Framework: UI")
    a = shell.ok("mem:start", "--wu", "WU-100", "-q")
    b = shell.ok("mem:start", "--wu", "WU-101", "-q")
    shell.ok("mem:signal", "New validation port added: ValidationService", "--wu", "WU-100", LUMEN_SESSION=a)
    for who in (a, b):
        said = shell.ok("mem:inbox", LUMEN_SESSION=who)
        assert f"From: {a} (WU-100, Framework: Core)" in said, "in each one's, whoever looked first"
        assert "New validation port added: ValidationService" in said
        assert shell.ok("mem:inbox", LUMEN_SESSION=who) == ""
    assert len(shell.json("inbox", "--reader", "ana")) == 1, "and in that of the person behind them"
    (seen,) = shell.json("inbox", "--reader", "x")
    assert (seen["sender"], seen["session_id"], seen["lane"]) == ("ana", a, "Framework: Core")


def test_a_session_is_known_by_the_program_that_began_it(empty):
    """Two agents of one login name nothing: each is the session that its own shell began."""
    empty.ok("init")
    own = {"LUMEN_STATE": str(empty.root), "LUMEN_OPERATOR": "ana", "LUMEN_SESSION": "", "PYTHONPATH": os.getcwd()}
    environ = {**os.environ, **own}
    program = f"{sys.executable} -m lumen_tui"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environ}
    with subprocess.Popen(["sh"], **pipes) as a, subprocess.Popen(["sh"], **pipes) as b:

        def does(agent, words):
            agent.stdin.write(f"{program} {words}; echo END\n")
            agent.stdin.flush()
            return [line.strip() for line in iter(agent.stdout.readline, "END\n")]

        first, second = does(a, "start --wu WU-100 -q"), does(b, "start --wu WU-101 -q")
        does(a, "checkpoint of-a -q")
        does(b, "checkpoint of-b -q")
        does(a, "signal hello")
        assert f"From: {first[0]} (WU-100)" in "\n".join(does(b, "inbox"))
        assert f"From: {first[0]} (WU-100)" in "\n".join(does(a, "inbox"))
        a.stdin.close()
        b.stdin.close()
    found = {node["content"]: node["session_id"] for node in lines(empty.root / "memory" / "memory.jsonl")}
    assert (found["Checkpoint: of-a"], found["Checkpoint: of-b"]) == (first[0], second[0])


def test_a_new_session_is_not_told_again_what_its_login_had_read_and_what_nobody_had_read_it_is(shell):
    shell.ok("signal", "old news", "--wu", "none")
    shell.ok("inbox")
    first = shell.ok("start", "--wu", "WU-001", "-q")
    shell.ok("signal", "in the first", agent="bo")
    assert [one["message"] for one in shell.json("inbox")] == ["in the first"]
    beside = shell.ok("start", "--wu", "WU-002", "-q")
    assert [one["message"] for one in shell.json("inbox", "--reader", beside)] == ["in the first"], "they work at once"
    shell.ok("session", "end", first)
    shell.ok("signal", "missed", agent="bo")
    shell.ok("start", "--wu", "WU-003", "-q")
    assert [one["message"] for one in shell.json("inbox", "--no-mark")] == ["missed"]


@pytest.mark.parametrize("more", [(), ("--key", "k")], ids=["quick", "full"])
def test_the_lane_of_a_signal_is_that_of_its_work_unit(shell, more):
    shell.ok("wu", "new", "UI", "--id", "WU-200", "--lane", "UI")
    shell.ok("signal", "p", "--wu", "WU-200", *more)
    shell.ok("signal", "q", "--wu", "WU-200", "--lane", "Docs", *more, "--type", "q")
    assert [one["message"] for one in shell.json("inbox", "--lane", "UI")] == ["p"]


def test_a_signal_in_a_session_says_where_it_is_from_unless_it_is_about_nothing(shell):
    shell.ok("wu", "new", "UI", "--id", "WU-200", "--lane", "UI")
    session = shell.ok("start", "--wu", "WU-200", "-q")
    shell.ok("signal", "half done")
    shell.ok("signal", "to all", "--wu", "none")
    all_of_it, half = shell.json("inbox", "--reader", "x")
    assert (half["wu_id"], half["lane"], half["session_id"]) == ("WU-200", "UI", session)
    assert ("wu_id" in all_of_it, "lane" in all_of_it) == (False, False)


def test_the_end_of_a_work_unit_ends_its_sessions_and_concludes_what_was_saved(shell):
    """The documented lifecycle: checkpoints summarized, discoveries to triage named, session closed."""
    one = shell.ok("start", "--wu", "WU-042", "-q")
    two = shell.ok("start", "--wu", "WU-042", "-q", agent="bo")
    other = shell.ok("start", "--wu", "WU-050", "-q", agent="cy")
    shell.ok("checkpoint", "the port moved", "--progress", "80%")
    shell.ok("decide", "Which port?", "--answer", "8080")
    found = shell.ok("create", "the docs are behind", "--priority", "P1")
    said = shell.ok("wu", "done", "WU-042")
    ended = [f"session {ids.short(session)} on WU-042 ended" for session in (one, two)]
    for part in ("WU-042 done", *ended, "summarized", f"1 discovery to triage: {found}"):
        assert part in said
    assert [session["session_id"] for session in shell.json("session")] == [other]
    memory = {node["id"]: node for node in lines(shell.root / "memory" / "memory.jsonl")}
    (summary,) = [node for node in memory.values() if node["type"] == "summary"]
    assert all(words in summary["content"] for words in ("- done", "the port moved", "Which port? → 8080"))
    (point,) = [node for node in memory.values() if node["type"] == "checkpoint"]
    assert point["metadata"]["summarized_into"] == summary["id"]
    assert memory[found].get("metadata", {}).get("status", "open") == "open", "a person judges it"


def test_nothing_hangs_on_a_finished_work_unit(shell):
    session = shell.ok("start", "--wu", "WU-042", "-q")
    shell.ok("wu", "done", "WU-042")
    found, inside = shell.ok("create", "later"), shell.ok("create", "still named", LUMEN_SESSION=session)
    shell.ok("signal", "free", LUMEN_SESSION=session)
    point = shell.ok("checkpoint", "after it")
    about = shell.ok("checkpoint", "about it", "--wu", "WU-042")
    memory = {node["id"]: node for node in lines(shell.root / "memory" / "memory.jsonl")}
    assert [memory[one].get("wu_id", "") for one in (found, inside, point, about)] == ["", "", "", "WU-042"]
    assert "wu_id" not in lines(shell.root / "memory" / "signals.jsonl")[-1]
    assert shell("inbox", LUMEN_SESSION=session).returncode == 0, "it goes on reading as who it was"


def test_a_session_begun_on_a_finished_work_unit_is_ended_by_the_next_done(shell):
    shell.ok("wu", "new", "x", "--id", "WU-042")
    shell.ok("wu", "done", "WU-042")
    late = shell("start", "--wu", "WU-042", "-q")
    assert "WU-042 is not put in progress: WU-042 is done" in late.stderr
    assert f"session {ids.short(late.stdout.strip())} on WU-042 ended" in shell.ok("wu", "done", "WU-042")
    assert shell("wu", "done", "WU-042").returncode == 3


def test_a_gate_that_refuses_ends_nothing(shell):
    (shell.root / "lumen.toml").write_text('[memory.enforcement]\nrequire_checkpoint_for_done = "block"\n')
    session = shell.ok("start", "--wu", "WU-042", "-q")
    assert shell("wu", "done", "WU-042").returncode == 2
    assert [one["session_id"] for one in shell.json("session")] == [session]


def test_what_was_changed_before_the_session_is_not_touched_in_it(shell, git):
    git.commit("old.py", "x = 1\n")
    git.commit("gone.py", "x = 1\n")
    git.write("old.py", "x = 2\n")
    git.write("new.py", "begun by somebody\n")
    (git.root / "gone.py").unlink()
    session = shell.ok("start", "--wu", "WU-042", "-q")
    shell.ok("checkpoint", "nothing yet")
    assert shell.json("session", "show", session)["files_touched"] == []
    assert shell.json("ready", "--wu", "WU-042")["files_touched"] == []
    git.write("new.py", "gone on with\n")
    git.write("mine.py", "mine\n")
    shell.ok("checkpoint", "two files")
    assert sorted(shell.json("session", "show", session)["files_touched"]) == ["mine.py", "new.py"]
    git("add", "-A")
    git("commit", "-qm", "all of it")
    shell.ok("session", "end", session)
    git.commit("between.py", "of nobody's session\n")
    after = shell.ok("start", "--wu", "WU-042", "-q")
    git.commit("later.py", "committed within it\n")
    shell.ok("checkpoint", "the last")
    assert shell.json("session", "show", after)["files_touched"] == ["later.py"]


@pytest.mark.parametrize("at_once", [True, False], ids=["with its answer", "answered later"])
def test_the_answer_of_a_decision_is_wherever_the_decision_is(shell, at_once):
    shell.ok("start", "--wu", "WU-042")
    shell.ok("checkpoint", "half way")
    if at_once:
        shell.ok("decide", "Which port?", "--answer", "8080 behind nginx")
    else:
        asked = shell.ok("decide", "Which port?")
        assert "pending decisions:" in shell.ok("ready")
        shell.ok("decide", "--resolve", asked, "--answer", "8080 behind nginx")
    page = shell.ok("ready")
    assert "pending decisions:" not in page
    for said in (page, shell.ok("search", "nginx"), shell.ok("recall", "WU-042")):
        assert "8080 behind nginx" in said
    summary = shell.ok("summarize", "--wu", "WU-042", "--dry-run")
    assert "Which port? → 8080 behind nginx" in summary
    assert "to decide" not in summary


def test_research_over_days_ends_in_a_conclusion(shell):
    """The documented notes: what says `Decision:` is decided, what is pending waits."""
    shell.ok("mem:start", "--wu", "WU-050")
    note = ("--type", "note", "--wu", "WU-050")
    shell.ok("mem:create", "Decision: OpenTelemetry + Grafana", *note, "--tags", "observability,decision")
    shell.ok("mem:signal", "Evaluated 3 platforms, OTel winning", "--wu", "WU-050")
    shell.ok("mem:checkpoint", "--wu", "WU-050")
    shell.ok("mem:create", "Decision pending: throw or Result?", *note, "--tags", "decision,pending")
    page = shell.json("ready", "--wu", "WU-050")
    assert [one["text"] for one in page["decisions"]] == ["Decision: OpenTelemetry + Grafana"]
    assert [one["text"] for one in page["pending_decisions"]] == ["Decision pending: throw or Result?"]
    summary = shell.ok("mem:summarize", "--wu", "WU-050", "--dry-run")
    assert "- Decision: OpenTelemetry + Grafana (" in summary
    assert "Decide (" in summary and "Result?" in summary.partition("Decide (")[2]
    assert "OpenTelemetry" not in summary.partition("## Next")[2]
