"""What the command line says of pauses."""

from __future__ import annotations

import json

import pytest

from lumen_tui.__main__ import main
from lumen_tui.model.loop import Pause
from lumen_tui.store.tasks import pauses


@pytest.fixture
def paused(here):
    pause = Pause(at="2026-01-01T00:00:00Z", by="root", reason="a drill")
    pauses.change(here.layout, "role:researcher", pause)
    pauses.change(here.layout, "loop", pause)
    return here


def test_status_and_tasks_say_what_is_paused_and_why_a_task_waits(paused, capsys):
    assert main(["task", "new", "What is in /etc?", "--role", "researcher"]) == 0
    name = capsys.readouterr().out.strip()
    main(["status"])
    out = capsys.readouterr().out
    assert "the loop is paused by root: a drill" in out
    assert "role researcher is paused by root: a drill" in out
    main(["status", "--json"])
    assert json.loads(capsys.readouterr().out)["paused"]["role researcher"] == "paused by root: a drill"
    for words in (["list"], ["show", name]):
        main(["task", *words])
        assert "role researcher is paused by root: a drill" in capsys.readouterr().out
    main(["task", "show", name, "--json"])
    reason = json.loads(capsys.readouterr().out)["reason"]
    assert reason.startswith("role researcher is paused by root: a drill; no engine is running")


def test_resume_of_what_is_not_paused_exits_3_and_a_pause_of_no_time_is_refused(here, capsys):
    assert main(["resume"]) == 3
    assert "nothing is paused" in capsys.readouterr().err
    assert main(["resume", "loop"]) == 3
    assert main(["pause", "loop", "--for", "0"]) == 2
    assert "1 second at least" in capsys.readouterr().err
    assert not here.layout.commands.exists()


def test_resume_while_killed_exits_1(here, capsys):
    main(["kill", "--reason", "wild"])
    assert main(["resume"]) == 1
    assert "unkill" in capsys.readouterr().err
