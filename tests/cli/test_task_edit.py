"""A task that waits can still be changed from the shell, in everything that `task new` takes but its place in line."""

from __future__ import annotations

import json

import pytest

from lumen_tui.actions import tasks
from lumen_tui.store.tasks import task_files


@pytest.fixture
def task(shell):
    words = ("--tokens", "900", "-c", "Read only", "--id", "task-001")
    assert shell("task", "new", "What is large?", *words).returncode == 0

    def now() -> dict:
        return json.loads(shell("task", "show", "task-001", "--json").stdout)

    return now


EDITS = [
    (("-p", "p0"), {"priority": "P0"}),
    (("--objective", "What is small?"), {"objective": "What is small?"}),
    (("--role", "analyst"), {"role": "analyst"}),
    (("--model", "opus"), {"model": "opus"}),
    (("--timeout", "10m"), {"timeout_seconds": 600.0}),
    (("--steps", "9"), {"steps": 9}),
    (("--tokens", "5000"), {"budget": {"tokens": 5000, "usd": 0.0, "seconds": 0.0}}),
    (("--usd", "2"), {"budget": {"tokens": 900, "usd": 2.0, "seconds": 0.0}}),
    (("--context", "on /srv"), {"context": "on /srv"}),
    (("-c", "In English", "-c", "Short"), {"constraints": ["In English", "Short"]}),
    (("--accept", "Command:make test", "--accept", "file: a/*"), {"accept": ["command: make test", "file: a/*"]}),
    (("--wu", "WU-001"), {"wu_id": "WU-001"}),
    (("-l", "Core"), {"lane": "Core"}),
    (("--isolate", "copy"), {"isolate": "copy"}),
    (("--host", "any"), {"host": "any"}),
    (("--host", "any", "--resource", "gpu=2"), {"host": "any", "resources": ["gpu=2"]}),
    (("-p", "P1", "--usd", "1", "--objective", "x"), {"priority": "P1", "objective": "x"}),
]


def test_the_table_has_everything_that_can_be_edited():
    assert {name for _, wanted in EDITS for name in wanted} == set(tasks.EDITABLE)


@pytest.mark.sweep(most=6)
@pytest.mark.parametrize(("words", "wanted"), EDITS)
def test_what_waits_is_changed_and_nothing_else_and_undo_takes_it_back(shell, task, words, wanted):
    assert shell("wu", "new", "Session manager").returncode == 0
    before = task()
    done = shell("task", "edit", "task-001", *words)
    assert (done.returncode, done.stderr) == (0, "")
    after = task()
    assert {name: after[name] for name in wanted} == wanted
    changed = {name for name in after if after[name] != before[name]}
    assert changed - {"budget", "reason"} == set(wanted) - {"budget"}  # the reason is why it waits
    assert shell("undo").returncode == 0
    assert task() == before
    assert shell("redo").returncode == 0
    assert task() == after


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("task-001",), 2, "nothing to change"), (("task-001", "-p", "P9"), 2, "P9"),
        (("task-001", "--objective", " "), 2, "objective is empty"),
        (("task-001", "--role", "reseacher"), 3, "researcher"),
        (("task-001", "--usd", "-1"), 2, "--usd"), (("task-404", "-p", "P0"), 3, "no task"),
        (("task-001", "--timeout", "soon"), 2, "soon"), (("task-001", "--priorty", "P0"), 2, "--priority"),
    ],
)  # fmt: skip
def test_what_will_not_do_is_refused_and_nothing_is_written(shell, task, words, code, said):
    before = shell.files()
    done = shell("task", "edit", *words)
    assert done.returncode == code
    assert said in done.stderr
    assert shell.files() == before


def test_a_task_that_has_begun_is_not_changed(shell, task):
    folder = shell.layout.task("task-001")
    (folder / "run.json").write_text('{"attempt": 1, "started_at": "2026-11-22T00:00:00.000Z"}')
    done = shell("task", "edit", "task-001", "-p", "P0")
    assert done.returncode == 2
    assert "has begun" in done.stderr
    spec = task_files.read_spec(shell.layout, "task-001")
    assert spec is not None
    assert spec.priority == "P2"
