from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from lumen_tui.cli.main import main
from lumen_tui.cli.parser import COMMANDS, PARTS, build_parser
from lumen_tui.storage.journal import Journal
from lumen_tui.store.work import work_units

ROLE = '+++\npurpose = "Keeps old things."\ntier = "haiku"\ntools = ["read_file"]\n+++\n\nKeep them.\n'


def test_a_discovery_from_the_first_note_to_the_work_unit_and_back(shell):
    assert shell("wu", "new", "Session manager", "--id", "WU-042").returncode == 0
    made = shell("create", "Race in the session manager", "--type", "bug", "--priority", "P1", "--wu", "WU-042",
                 "--tags", "auth,race-condition")  # fmt: skip
    node = made.stdout.strip()
    listed = shell("triage").stdout
    assert all(word in listed for word in (node, "P1", "WU-042", "Race in the session manager", "#auth"))
    promoted = shell("triage", "--promote", node[:8], "--lane", "Framework: Core")
    assert (promoted.returncode, "WU-043" in promoted.stdout) == (0, True)
    unit = json.loads(shell("wu", "show", "WU-043", "--json").stdout)
    assert (unit["type"], unit["discovered_in"], unit["lane"]) == ("bug", "WU-042", "Framework: Core")
    assert unit["discovery"] == node
    assert shell("undo").returncode == 0
    assert [one["id"] for one in json.loads(shell("triage", "--json").stdout)] == [node]
    assert shell("redo").returncode == 0
    assert shell("triage", "--json").stdout.strip() == "[]"


def test_a_task_from_the_shell(shell, tmp_path):
    made = shell(
        "task", "new", "What is large?", "-c", "Read only", "--timeout", "90s", "--id", "task-001", "--usd", "0.5"
    )
    assert made.stdout == "task-001\n"
    spec = tmp_path / "spec.json"
    spec.write_text('{"id": "task-002", "objective": "from a file", "constraints": ["x"], "schema": 1}')
    assert shell("task", "new", "--spec", str(spec)).stdout == "task-002\n"
    listed = json.loads(shell("task", "list", "--json").stdout)
    assert {one["id"]: one["status"] for one in listed} == {"task-001": "queued", "task-002": "queued"}
    shown = shell("task", "show", "task-001").stdout
    assert "What is large?" in shown
    assert "Read only" in shown
    assert re.search(r"at most +\$0\.50", shown)
    assert shell("task", "cancel", "task-001", "--reason", "no").returncode == 0
    assert shell("task", "log", "task-001").returncode == 0


def test_roles_from_the_shell(shell):
    assert shell("role", "hire", "archivist", "--file", "-", stdin=ROLE).returncode == 0
    assert shell("role", "hire", "scout", "--like", "researcher", "--tier", "opus").returncode == 0
    roles = json.loads(shell("role", "list", "--json").stdout)["roles"]
    assert {one["name"]: one["tier"] for one in roles}["scout"] == "opus"
    assert shell("role", "adjust", "scout", "--tier", "haiku", "--purpose", "Looks.").returncode == 0
    assert 'purpose = "Looks."' in shell("role", "show", "scout").stdout
    assert shell("role", "fire", "scout", "--reason", "done").returncode == 0
    assert shell("role", "show", "scout").returncode == 3
    assert shell("role", "rehire", "scout").returncode == 0


def test_init_makes_the_folder_once_and_says_so(tmp_path, capsys):
    root = tmp_path / "new"
    assert main(["init", "--state", str(root)]) == 0
    assert main(["--state", str(root), "init"]) == 0
    assert "there already" in capsys.readouterr().out
    assert (root / "memory").stat().st_mode & 0o077 == 0


def test_events_and_status(here, capsys):
    Journal(here.layout.events).append({"seq": 1, "at": "2026-11-21T06:00:00.000Z", "kind": "beat", "text": "\x1b[2J"})
    assert main(["events"]) == 0
    assert main(["events", "--json", "-n", "1"]) == 0
    assert main(["status"]) == 0
    assert main(["status", "--json"]) == 0
    assert main(["status", "-q"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.endswith("0\n")


def test_status_counts_what_needs_a_person(shell):
    assert shell("signal", "the disk is full", "-p", "P0").returncode == 0
    quiet = shell("status", "-q")
    assert (quiet.stdout, quiet.returncode) == ("1\n", 1)
    assert "the disk is full" in shell("status").stdout


def test_events_follow_shows_new_ones(shell, watch):
    journal = Journal(shell.layout.events)
    journal.append({"seq": 1, "at": "", "kind": "beat", "text": "first"})
    with watch("events", "--follow", "--json") as line:
        assert json.loads(line())["text"] == "first"
        journal.append({"seq": 2, "at": "", "kind": "beat", "text": "second"})
        assert json.loads(line())["text"] == "second"


def test_a_task_log_followed_to_the_end_of_the_task(shell, watch):
    assert shell("task", "new", "count", "--id", "task-001").returncode == 0
    folder = shell.layout.task("task-001")
    journal = Journal(folder / "events.jsonl")
    journal.append({"at": "", "kind": "started", "text": "begins"})
    with watch("task", "log", "task-001", "--follow") as line:
        assert "begins" in line()
        journal.append({"at": "", "kind": "text", "text": "\x1b[2Jgoes on"})
        assert "␛[2Jgoes on" in line()
        (folder / "exit.json").write_text('{"task_id": "task-001", "status": "done", "finished_at": ""}')
        assert line() == ""


def test_imports_from_the_shell(shell, tmp_path):
    memory = tmp_path / ".lumenflow" / "memory"
    memory.mkdir(parents=True)
    (memory / "memory.jsonl").write_text('{"id":"mem-1","type":"note","content":"x","created_at":""}\nbroken\n')
    first = shell("import", "lumenflow", str(tmp_path))
    assert (first.returncode, "1 added, 1 could not be used" in first.stdout) == (0, True)
    assert "memory.jsonl:2" in first.stderr
    again = json.loads(shell("import", "lumenflow", str(tmp_path), "--json").stdout)
    assert (again["added"], again["parts"][0]["present"]) == (0, 1)
    issues = tmp_path / "issues.jsonl"
    issues.write_text('{"id":"bd-1","title":"x","status":"open","priority":2,"issue_type":"task","created_at":""}\n')
    assert "1 added" in shell("import", "beads", str(issues)).stdout
    (tmp_path / "poem").write_text("Two roads\ndiverged\n")
    nothing = shell("import", "beads", str(tmp_path / "poem"))
    assert (nothing.returncode, "0 added, 2 could not be used" in nothing.stdout) == (2, True)
    assert shell("import", "beads", str(tmp_path / "poem"), "--json").returncode == 2


def test_nothing_to_do_and_not_found_are_three(here, capsys):
    for words in (["undo"], ["redo"], ["task", "show", "tsk-none"], ["wu", "show", "WU-9"], ["role", "show", "nobody"]):
        assert main(words) == 3, words
    assert main(["triage", "--undo"]) == 3
    assert "nothing of yours to undo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["taks", "list"], "did you mean: task"),
        (["task", "lst"], "did you mean: list"),
        (["task", "new"], "an objective is needed"),
        (["task", "new", "x", "--tokens", "-4"], "--tokens: -4 is out of range"),
        (["task", "new", "x", "--priority", "P5"], "one of P0, P1, P2, P3"),
        (["task", "new", "x", "--prority", "P1"], "did you mean: --priority"),
        (["task", "new", "x", "--timeout", "soon"], "timeout"),
        (["task", "new", "--spec", "/nonexistent.json"], "cannot be read"),
        (["task", "new", "--spec", "{bad}"], "not JSON"),
        (["task", "new", "--spec", "{odd}"], "did you mean: objective"),
        (["task", "retry", "a/b"], "not usable"),
        (["role", "hire", "x", "--file", "{bad}"], "line 1"),
        (["role", "hire", "x"], "required"),
        (["role", "fire", "builder"], "a reason is needed"),
        (["role", "adjust", "builder"], "nothing to change"),
        (["role", "adjust", "builder", "--tier", "hiku"], "did you mean: haiku"),
        (["role", "adjust", "builder", "--tools", "shel"], "tool 'shel'"),
        (["signal"], "MESSAGE"),
        (["signal", "x", "--priority", "urgent"], "one of P0"),
        (["signal", "x", "--wu", "forty-two"], "WU-042"),
        (["signal", "x", "--lan", "y"], "did you mean: --lane"),
        (["inbox", "--since", "yesterday"], "neither an age"),
        (["inbox", "--limit", "0"], "--limit"),
        (["create", "x", "--type", "bgu"], "did you mean: bug"),
        (["triage", "--promote", "{node}"], "--lane"),
        (["triage", "--promote", "mem", "--lane", "X"], "did you mean: mem-"),
        (["triage", "--promote", "{node}", "--lane", "framework: cor"], "did you mean: Framework: Core"),
        (["triage", "--archive", "{node}"], "a reason is needed"),
        (["triage", "--archive", "a", "--keep", "b"], "not allowed"),
        (["wu", "list", "--lane", "Framework"], "did you mean: Framework: Core"),
        (["wu", "new", "x", "--type", "bugg"], "did you mean: bug"),
        (["import", "lumenflow", "/nonexistent"], ".lumenflow"),
        (["import", "beads", "/nonexistent"], "issues.jsonl"),
        (["import", "trello", "x"], "unknown"),
        (["--state"], "--state needs"),
    ],
)
def test_bad_input_is_two_and_writes_nothing(here, tmp_path, capsys, words, said):
    bad, odd = tmp_path / "bad.json", tmp_path / "odd.json"
    bad.write_text("{nonsense")
    odd.write_text('{"objectve": "x"}')
    assert main(["wu", "new", "there", "--lane", "Framework: Core"]) == 0
    assert main(["create", "another"]) == 0
    assert main(["create", "one"]) == 0
    node = capsys.readouterr().out.split()[-1]
    before = here.files()
    assert (
        main([word.replace("{node}", node).replace("{bad}", str(bad)).replace("{odd}", str(odd)) for word in words])
        == 2
    )
    assert said in capsys.readouterr().err
    assert here.files() == before


def test_a_folder_that_is_missing_or_open_to_others_is_refused(here, monkeypatch, capsys):
    here.root.chmod(0o770)
    assert main(["task", "new", "x"]) == 1
    assert "chmod go-w" in capsys.readouterr().err
    monkeypatch.setenv("LUMEN_STATE", str(here.root / "nowhere"))
    assert main(["signal", "x"]) == 2
    assert "lumen-tui init" in capsys.readouterr().err


def test_every_command_has_help_with_an_example(here, capsys):
    groups = {
        "task": "new", "role": "hire", "wu": "new", "import": "beads", "hooks": "install", "approvals": "list",
        "fact": "add", "constitution": "approve", "relay": "submit", "schedule": "add", "blocks": "append",
        "prompt": "show", "operator": "token", "question": "list", "changes": "accept",
        "af": "import", "attention": "list", "session": "end", "skills": "list", "tool": "accept", "access": "add",
        "mail": "deliver", "evolve": "cases", "service": "install", "traces": "export", "hosts": "add",
    }  # fmt: skip
    for command in COMMANDS:
        words = [command, *([groups[command]] if command in groups else [])]
        assert main([*words, "--help"]) == 0
        spelt = " ".join(words).replace("archive-", "archive ")
        assert f"example:\n  lumen-tui {spelt}" in capsys.readouterr().out
    assert main(["help"]) == 0
    assert "exit codes" in capsys.readouterr().out
    assert {name: tuple(_commands_of(names)) for name, names in PARTS.items()} == PARTS


def _commands_of(names):
    return build_parser(names[0])._subparsers._group_actions[0].choices


def test_a_closed_pipe_is_no_error(shell):
    for number in range(300):
        work_units.add_units(
            shell.layout, [work_units.WorkUnit(id="", title=f"unit {number} " + "x" * 300)], lambda _: None
        )
    command = f"{sys.executable} -m lumen_tui wu list | head -1; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(
        ["bash", "-c", command], env=shell.environ, capture_output=True, text=True, cwd=shell.root, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_nothing_of_the_room_is_loaded(shell):
    code = (
        "import sys; from lumen_tui.cli.main import main; main(['task', 'list']); main(['status']); main(['triage'])\n"
        "print([name for name in ('textual', 'rich', 'anthropic', 'openai') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=shell.environ, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
