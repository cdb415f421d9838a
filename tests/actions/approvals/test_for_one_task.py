"""A rule that ends with its task: it covers no other one, and once the task is over it is in force no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from lumen_tui.actions.approvals import rules_in_force
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.approvals import AllowRule, allows, rule_words
from lumen_tui.storage import files
from lumen_tui.store import approvals
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import TaskRules
from lumen_tui.tools.policy.verdict import PolicyCall, judge

WORDS = some.text("ab *;/", max_size=8)
CALLS = some.fixed_dictionaries(
    {"tool": some.sampled_from(["shell", "write_file"]), "role": some.sampled_from(["builder", "other"]),
     "target": WORDS, "folder": some.sampled_from(["", "/srv"]), "unwalled": some.booleans()},
)  # fmt: skip
NAMES = some.sampled_from(["", "tsk-one", "tsk-two", "tsk-on", "*", "../tsk-one"])


def end(store, task: str) -> None:
    text = f'{{"task_id":"{task}","status":"cancelled","finished_at":"2027-01-15T08:00:30Z"}}'
    files.replace(store.layout.task(task) / "exit.json", text.encode())


@pytest.fixture
def task(folder):
    return folder.do("task.new", objective="ship it", role="builder").target


@given(CALLS, WORDS, NAMES, NAMES)
def test_a_rule_for_a_task_covers_what_one_for_the_role_would_in_that_task_and_nothing_else(call, pattern, own, task):
    rule = AllowRule("shell", "builder", pattern, unwalled=True, task=own)
    wide = AllowRule("shell", "builder", pattern, unwalled=True)
    assert allows(rule, **call, task=task) == (allows(wide, **call, task=task) and own in ("", task))


def test_the_verdict_goes_by_the_task_that_asks():
    rule = AllowRule("shell", "builder", "make deploy", task="tsk-one", by="ann")
    call = PolicyCall("shell", target="make deploy", groups=("shell",))

    def verdict(task: str) -> str:
        rules = TaskRules(frozenset({"shell"}), role="builder", task=task, asks=("shell",), allows=(rule,))
        return judge(rules, call).decision

    assert [verdict(task) for task in ("tsk-one", "tsk-two", "")] == ["allow", "ask", "ask"]


def test_it_is_saved_with_its_task_and_undo_takes_it_out(store, ask, folder, task):
    request = ask("make deploy", task=task)
    done = folder.do("approval.allow_always", approval_id=request.id, hash=request.hash, scope="task")
    words = f"builder may use shell on: make deploy, without asking, until task {task[4:8]} ends"
    assert f"saved: {words}" in done.summary
    (rule,) = load_config(store.layout)[0].allow
    assert (rule.task, rule.pattern, rule_words(rule)) == (task, "make deploy", words)
    answer = approvals.decision(store.layout, request.id)
    assert answer is not None and answer.allowed and not answer.always
    folder.do("undo")
    assert load_config(store.layout)[0].allow == ()
    folder.do("redo")
    assert load_config(store.layout)[0].allow == (rule,)


def test_other_calls_of_the_same_task_are_answered_with_it_and_those_of_others_wait(store, ask, folder, task):
    first, same = ask("make a", task=task), ask("make a", task=task, arguments={"command": "make a", "timeout": 9.0})
    other = ask("make a", task="tsk-two")
    folder.do("approval.allow_always", approval_id=first.id, scope="task")
    answer = approvals.decision(store.layout, same.id)
    assert answer is not None and (answer.allowed, answer.reason) == (True, "for this task: make a")
    assert [one.id for one in approvals.undecided(store.layout)] == [other.id]


def test_it_ends_with_its_task_and_the_next_rule_takes_it_out(store, ask, folder, task):
    later = folder.do("task.new", objective="ship more", role="builder").target
    folder.do("approval.allow_always", approval_id=ask("make a", task=task).id, scope="task")
    (old,) = rules_in_force(store.layout)
    end(store, task)
    assert rules_in_force(store.layout) == []
    with pytest.raises(ActionError, match="there is no rule 1"):
        folder.do("approval.forget", number=1)
    folder.do("approval.allow_always", approval_id=ask("make b", task=later).id)
    assert [rule.pattern for rule in load_config(store.layout)[0].allow] == ["make b"]
    folder.do("undo")
    assert load_config(store.layout)[0].allow == (old,)
    assert rules_in_force(store.layout) == []


def test_nothing_is_allowed_for_a_task_that_is_over(store, ask, folder, task):
    request = ask("make a", task=task)
    end(store, task)
    with pytest.raises(ActionError, match="has ended, and with it what is allowed for it alone"):
        folder.do("approval.allow_always", approval_id=request.id, scope="task")
    assert approvals.decision(store.layout, request.id) is None
    assert load_config(store.layout)[0].allow == ()


def test_a_scope_that_is_none_is_refused(store, ask, folder, task):
    with pytest.raises(ActionError, match="role or task, not 'world'"):
        folder.do("approval.allow_always", approval_id=ask("make a", task=task).id, scope="world")
    assert len(approvals.undecided(store.layout)) == 1


@pytest.mark.parametrize("name", ["../../etc", "tsk-gone", "*", " ", "\x1b[2J"])
def test_a_name_by_hand_that_is_no_task_allows_nothing(store, name):
    rule = AllowRule("shell", "builder", "make a", task=name)
    text = f'[[allow]]\ntool = "shell"\nrole = "builder"\npattern = "make a"\ntask = {name!r}\n'
    store.layout.operator.write_text(text.replace("'", '"').replace("\\x1b", "\\u001b"))
    assert load_config(store.layout)[0].allow == (rule,)
    assert rules_in_force(store.layout) == []
    assert not allows(rule, tool="shell", role="builder", target="make a", task="tsk-one")


def test_it_is_saved_and_listed_from_the_shell(run, store, ask, task):
    request = ask("git push origin main", task=task)
    assert run("approve", request.id, "--scope", "task")[0] == 2
    assert run("approve", request.id, "--always", "--scope", "world")[0] == 2
    code, out, err = run("approve", request.id, "--always", "--scope", "task")
    words = f"builder may use shell on: git push origin main, without asking, until task {task[4:8]} ends"
    assert (code, err) == (0, f"{words}\n")
    assert f"saved: {words}" in out
    assert run("approvals", "rules")[1].startswith(f"1  {words}  by ann")
    end(store, task)
    assert run("approvals", "rules")[2].startswith("there are no rules")
