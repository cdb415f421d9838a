"""Cases made of tasks that real workers did: ends that were checked, and calls that a person decided."""

from __future__ import annotations

import json
import time

import msgspec
import pytest

from lumen_tui.__main__ import main
from lumen_tui.engine.evolution import casemaking
from lumen_tui.model.evals import Expectation
from lumen_tui.model.replay import DecisionKind
from lumen_tui.model.roles import ToolRule
from lumen_tui.model.times import iso
from lumen_tui.storage.store import Store
from lumen_tui.worker.replay.rejudging import RecordedTask
from lumen_tui.worker.replay.run import NotReplayable

WRITE = ("write_file", {"path": "files/new.txt", "content": "fresh\n"})
DONE = ("write_result", {"text": "ok"})
ASK_WRITES = '[approvals]\nask = ["write"]\n'
RULE = ToolRule("required_before_exit", "write_file")


def judged(task, *rules: ToolRule):
    store = Store(task.layout.root)
    recorded = RecordedTask(store, task.id, casemaking.surroundings())
    return recorded.under(msgspec.structs.replace(recorded.role, rules=(*recorded.role.rules, *rules)))


def collected(task):
    return list(casemaking.collect(Store(task.layout.root), [task.id], iso(time.time())))


def test_a_call_that_a_person_refused_should_have_been_refused(played):
    task = played.asked(WRITE, DONE, allow=False, settings=ASK_WRITES)
    (case,) = collected(task)
    assert (case.step, case.expect, case.role) == (1, Expectation.HOLD, "maker")
    assert "refused by a person" in case.words
    now = judged(task).calls[0].now
    assert now.kind is DecisionKind.REFUSED
    assert judged(task, ToolRule("deny", "write_file")).calls[0].now.kind is DecisionKind.DENIED


def test_a_call_that_a_person_allowed_should_be_allowed(played):
    task = played.asked(WRITE, DONE, allow=True, settings=ASK_WRITES)
    (case,) = collected(task)
    assert (case.step, case.expect) == (1, Expectation.PASS)
    assert judged(task).questions == 1


def test_every_call_is_judged_also_behind_one_that_is_refused_now(played):
    task = played.play(WRITE, ("read_file", {"path": "files/new.txt"}), DONE)
    now = judged(task, ToolRule("deny", "write_file"))
    assert [call.now.kind for call in now.calls] == [DecisionKind.DENIED, DecisionKind.ALLOWED, DecisionKind.ALLOWED]
    assert [end.unmet for end in now.ends] == [""]
    without = played.play(DONE, task_id="tsk-two")
    assert [end.unmet for end in judged(without, RULE).ends] == ["write_file is needed before the end"]
    assert [end.unmet for end in judged(task, RULE).ends] == [""]


def test_nothing_is_run_and_nothing_is_written(played, untouched):
    task = played.play(WRITE, DONE)
    untouched(task.layout.root)
    judged(task, RULE)


def test_a_task_whose_record_is_gone_or_that_runs_has_no_cases(played):
    task = played.prepare(DONE)
    assert collected(task) == []
    with pytest.raises(NotReplayable, match="is gone"):
        RecordedTask(Store(task.layout.root), "tsk-none", casemaking.surroundings())


def test_they_are_collected_listed_and_marked_from_the_command_line(played, capsys):
    task = played.asked(WRITE, DONE, allow=False, settings=ASK_WRITES)
    state = ["--state", str(task.layout.root), "evolve"]
    assert main([*state, "cases", "--collect"]) == 0
    assert main([*state, "cases", "--collect"]) == 3
    capsys.readouterr()
    assert main([*state, "cases", "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)
    assert (case["task"], case["expect"], case["must"]) == (task.id, "hold", False)
    assert main([*state, "mark", case["id"], "--must"]) == 0
    assert main([*state, "cases"]) == 0
    assert "must" in capsys.readouterr().out
