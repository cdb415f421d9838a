"""What a person decided then counts for the same call, and for no other."""

from __future__ import annotations

import pytest

from lumen_tui.model.replay import DecisionKind, ReplayOutcome, ResultKind
from lumen_tui.store import approvals

DONE = ("write_result", {"text": "ok"})
WRITE = ("write_file", {"path": "new.txt", "content": "fresh\n"})
ASK_WRITES = '[approvals]\nask = ["write"]\n'


@pytest.mark.parametrize("allow", [True, False])
def test_the_recorded_decision_is_used(played, allow, untouched):
    task = played.asked(WRITE, DONE, allow=allow, settings=ASK_WRITES)
    untouched(task.layout.root)
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, report
    kind = DecisionKind.ASKED if allow else DecisionKind.REFUSED
    assert [step.now.kind for step in report.steps] == [kind, DecisionKind.ALLOWED]
    assert ("so be it" in report.steps[0].now.reason) is not allow


def test_what_is_not_asked_any_more_is_a_divergence(played):
    task = played.asked(WRITE, DONE, allow=True, settings=ASK_WRITES)
    task.layout.config.write_text("")
    divergence = played.replay(task).divergence
    assert (divergence.recorded, divergence.now) == ("asked", "allowed")


def test_a_rule_that_a_person_saved_since_is_named(played):
    task = played.asked(WRITE, DONE, allow=True, settings=ASK_WRITES)
    path = task.folder / "files" / "new.txt"
    rule = f'[[allow]]\ntool = "write_file"\nrole = "maker"\npattern = "{path}"\nby = "ana"\n'
    task.layout.operator.write_text(rule)
    divergence = played.replay(task).divergence
    assert (divergence.recorded, divergence.now) == ("asked", "allowed")
    assert divergence.rule == f"[[allow]] write_file {path}"


def test_a_decision_that_was_altered_allows_nothing(played):
    task = played.asked(WRITE, DONE, allow=True, settings=ASK_WRITES)
    (path,) = task.layout.approvals.glob("*.decision.json")
    name = path.name.partition(".")[0]
    decided = approvals.decision(task.layout, name)
    path.write_text(path.read_text().replace(decided.hash, "0" * 64))
    divergence = played.replay(task).divergence
    assert divergence.recorded == "asked"
    assert "for another call" in divergence.now


def test_a_decision_that_is_gone_is_said(played):
    task = played.asked(WRITE, DONE, allow=True, settings=ASK_WRITES)
    for path in task.layout.approvals.glob("*.json"):
        path.unlink()
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.INCOMPLETE
    assert "is not on record any more" in report.missing[0]


def test_archived_decisions_and_tasks_are_found(played):
    task = played.asked(WRITE, DONE, allow=True, settings=ASK_WRITES)
    for name in approvals.all_ids(task.layout):
        approvals.archive(task.layout, name)
    archive = task.layout.archive / "2026" / "01"
    archive.mkdir(parents=True)
    task.folder.rename(archive / task.id)
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, report
    assert [step.now.kind for step in report.steps] == [DecisionKind.ASKED, DecisionKind.ALLOWED]


def test_a_command_without_a_sandbox_is_decided_as_then_and_not_run(played):
    task = played.asked(("shell", {"command": "echo one"}), DONE, allow=True, settings='[sandbox]\ntier = "ask"\n')
    assert task.exit["status"] == "done", task.instead()
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, report
    assert (report.steps[0].now.kind, report.steps[0].result) == (DecisionKind.ASKED, ResultKind.RECORDED)
    assert "1 command not run: no sandbox holds commands here" in report.notes


def test_a_sandbox_that_holds_now_asks_nobody(played, sandbox):
    task = played.asked(("shell", {"command": "echo one"}), DONE, allow=True, settings='[sandbox]\ntier = "ask"\n')
    task.layout.config.write_text("")
    divergence = played.replay(task).divergence
    assert (divergence.step, divergence.recorded, divergence.now) == (1, "asked", "allowed")


@pytest.mark.parametrize("allow", [True, False])
def test_the_decision_on_a_host_is_used(played, allow, tmp_path):
    role = '+++\npurpose = "p"\ntools = ["request_host", "web_fetch", "write_result"]\n+++\n\nWork.\n'
    (tmp_path / "state" / "roles" / "asker.md").write_text(role)
    ask = ("request_host", {"host": "docs.python.org", "why": "to read it"})
    task = played.asked(ask, DONE, allow=allow, role="asker")
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, report
    kind = DecisionKind.ASKED if allow else DecisionKind.REFUSED
    assert [step.now.kind for step in report.steps] == [kind, DecisionKind.ALLOWED]
