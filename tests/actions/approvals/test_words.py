"""A person's word: yes, no, for good, in bulk, taken back; by verb and by command."""

from __future__ import annotations

import json
import tomllib

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage import files
from lumen_tui.storage.files import StoreError
from lumen_tui.store import approvals
from lumen_tui.store.settings.config import load_config

NOW = 1_800_000_000.0


def test_yes_no_and_why(store, ask, folder):
    one, two = ask("make a"), ask("make b")
    assert folder.do("approval.allow", approval_ids=one.id).summary == "allowed: builder: make a"
    folder.do("approval.deny", approval_ids=[two.id], reason="not on a Friday")
    found = [approvals.decision(store.layout, request.id) for request in (one, two)]
    assert [(answer.allowed, answer.by, answer.reason) for answer in found if answer] == [
        (True, "ann", ""), (False, "ann", "not on a Friday")]  # fmt: skip
    with pytest.raises(ActionError, match="has its answer: allowed by ann"):
        folder.do("approval.deny", approval_ids=one.id, by="bob")


def test_many_at_once_or_none(store, ask, folder):
    requests = [ask(f"make {name}") for name in "abc"]
    with pytest.raises(ActionError, match="there is no approval"):
        folder.do("approval.allow", approval_ids=[requests[0].id, "apr-nope"])
    assert len(approvals.undecided(store.layout)) == 3
    assert folder.do("approval.allow", approval_ids=[one.id for one in requests]).summary == "3 calls allowed"
    assert approvals.undecided(store.layout) == []
    assert folder.do("undo").summary == "undone: allowed: builder: make c"
    assert [one.id for one in approvals.undecided(store.layout)] == [requests[2].id]


def test_an_answer_can_be_taken_back_until_a_worker_acted_on_it(store, ask, folder):
    request = ask()
    folder.do("approval.allow", approval_ids=request.id)
    folder.do("undo")
    assert approvals.decision(store.layout, request.id) is None
    folder.do("redo")
    assert approvals.take(store.layout, request, 1, NOW + 61)
    with pytest.raises(ActionError, match="a worker has acted on this answer already at 2027-"):
        folder.do("undo")
    approvals.archive(store.layout, request.id)
    with pytest.raises(ActionError, match="a worker has acted on this answer already"):
        folder.do("undo")
    found = approvals.decision(store.layout, request.id)
    assert found
    assert found.allowed


def test_too_late_and_not_what_was_shown(store, ask, folder):
    request = ask()
    with pytest.raises(ActionError, match="is not the one that was shown"):
        folder.do("approval.allow", approval_ids=request.id, hash="0" * 64)
    with pytest.raises(ActionError, match="expired"):
        folder.do("approval.allow", approval_ids=request.id, now=NOW + 3601)
    found = approvals.decision(store.layout, request.id)
    assert found
    assert found.ended == "expired"


def test_always_is_a_rule_that_undo_takes_out_again(store, ask, folder):
    store.layout.operator.write_text('[room]\ntheme = "x"\n')
    request = ask("make deploy")
    done = folder.do("approval.allow_always", approval_id=request.id, hash=request.hash)
    assert "saved: builder may always use shell on: make deploy, without asking" in done.summary
    table = tomllib.loads(store.layout.operator.read_text())
    (rule,) = table["allow"]
    assert (rule["tool"], rule["role"], rule["pattern"], rule["by"]) == ("shell", "builder", "make deploy", "ann")
    assert table["room"] == {"theme": "x"}
    config, problems = load_config(store.layout)
    assert [one.pattern for one in config.allow] == ["make deploy"]
    assert problems == []
    assert folder.do("undo").summary.startswith("undone: saved:")
    assert "allow" not in tomllib.loads(store.layout.operator.read_text())
    assert approvals.decision(store.layout, request.id)
    folder.do("undo")
    assert approvals.decision(store.layout, request.id) is None


def test_rules_of_the_operator_are_kept_beside_the_new_one(store, ask, folder):
    store.layout.config.write_text('[[allow]]\ntool = "shell"\nrole = "builder"\npattern = "make test"\n')
    folder.do("approval.allow_always", approval_id=ask("make deploy").id)
    assert [one.pattern for one in load_config(store.layout)[0].allow] == ["make test", "make deploy"]


def test_always_answers_the_other_questions_that_the_rule_covers_and_no_more(store, ask, folder):
    first, same, other = ask("make a"), ask("make a", task="tsk-two"), ask("make b", task="tsk-two")
    masked = ask("make a", task="tsk-three", rule="")  # what is hidden in it may be another call
    done = folder.do("approval.allow_always", approval_id=first.id)
    assert done.summary.startswith("allowed: builder: make a, and 1 more that waits; saved:")
    answer = approvals.decision(store.layout, same.id)
    assert answer is not None
    assert (answer.allowed, answer.reason) == (True, "always: make a")
    assert [one.id for one in approvals.undecided(store.layout)] == sorted((masked.id, other.id))
    assert folder.do("undo").summary.startswith("undone: saved:")


def test_a_rule_is_taken_out_by_its_number_and_comes_back_with_undo(store, ask, folder):
    store.layout.config.write_text('[[allow]]\ntool = "shell"\nrole = "builder"\npattern = "make test"\n')
    folder.do("approval.allow_always", approval_id=ask("make deploy").id)
    assert folder.do("approval.forget", number=1).summary.startswith(
        "taken out: builder may always use shell on: make test"
    )
    assert [one.pattern for one in load_config(store.layout)[0].allow] == ["make deploy"]
    folder.do("approval.forget", number=1)
    assert load_config(store.layout)[0].allow == ()  # those of lumen.toml do not come back behind one's back
    folder.do("undo")
    assert [one.pattern for one in load_config(store.layout)[0].allow] == ["make deploy"]
    with pytest.raises(ActionError, match="no rule 2"):
        folder.do("approval.forget", number=2)


def test_a_beginning_that_holds_another_command_says_so(store, ask, folder):
    with pytest.raises(ActionError, match="may hold none of"):
        folder.do("approval.allow_always", approval_id=ask("make a > b").id, pattern="make *")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("*", "nearly everything"), (" / * ", "nearly everything"), ("make test", "does not cover the call"),
     ("git *", "does not cover the call")],
)  # fmt: skip
def test_a_rule_that_is_too_wide_or_beside_the_point(store, ask, folder, pattern, why):
    with pytest.raises(ActionError, match=why):
        folder.do("approval.allow_always", approval_id=ask("make deploy").id, pattern=pattern)
    assert len(approvals.undecided(store.layout)) == 1


def test_no_rule_where_none_is_narrow(store, ask, folder):
    with pytest.raises(ActionError, match="no narrow rule"):
        folder.do(
            "approval.allow_always", approval_id=ask("x", rule="", tool="apply_patch", arguments={"patch": "x"}).id
        )


def test_a_broken_rule_allows_nothing_and_is_named(store):
    store.layout.operator.write_text('[[allow]]\ntool = "shell"\nrole = "builder"\npatern = "make"\n')
    config, problems = load_config(store.layout)
    assert config.allow == ()
    assert [problem.where.partition(":")[0] for problem in problems] == ["operator.toml"]


@pytest.fixture
def waiting(store, ask):
    """Two questions of a task that is there."""
    store.layout.task("tsk-one").mkdir()
    (store.layout.task("tsk-one") / "spec.json").write_text('{"id": "tsk-one", "objective": "o"}')
    return [ask("make a", diff="--- x\n+++ y", risk="It changes a file."), ask("make b", at=NOW + 1)]


def test_what_waits_is_listed(run, waiting):
    code, out, _ = run("approvals", "list")
    assert code == 0
    assert " ".join(out.splitlines()[0].split()) == f"{waiting[0].id} builder 1 min 59 m 0 s left make a"
    document = json.loads(run("approvals", "list", "--json")[1])
    assert [(one["state"], one["hash"]) for one in document] == [("waiting", one.hash) for one in waiting]
    code, out, _ = run("approvals", "show", waiting[0].id[4:9])
    assert code == 0
    for part in ("tsk-one", "It changes a file.", '"command":"make a"', "--- x", waiting[0].hash, "may always use"):
        assert part in out


def test_it_is_answered_from_the_shell(run, waiting, store):
    assert run("approve", *[one.id for one in waiting]) == (0, "2 calls allowed\n", "")
    assert run("approvals", "list")[::2] == (0, "nothing waits for an answer\n")
    assert run("undo")[0] == 0
    code, out, _ = run("deny", waiting[1].id, "--reason", "no")
    assert (code, out) == (0, "denied: builder: make b\n")
    every = json.loads(run("approvals", "list", "--all", "--json")[1])
    assert [one["state"] for one in every] == ["allowed", "denied"]


def test_always_from_the_shell_shows_the_rule(run, waiting, store):
    code, out, err = run("approve", waiting[0].id, "--always")
    assert code == 0
    assert err.startswith("builder may always use shell on: make a, without asking. It runs or goes by what is in")
    assert "saved: builder may always" in out
    listed = "1  builder may always use shell on: make a, without asking  by ann 2027-01-15\n"
    assert run("approvals", "rules")[1] == listed
    assert run("approvals", "forget", "7")[0] == 3
    assert run("approvals", "forget", "1")[0] == 0
    code, out, err = run("approvals", "rules")
    assert (code, out) == (0, "")
    assert err.startswith("there are no rules")
    assert run("approve", waiting[0].id, waiting[1].id, "--always")[0] == 2
    assert run("approve", waiting[1].id, "--pattern", "x")[0] == 2


def test_exit_codes_and_nearest_names(run, waiting):
    code, _, err = run("approve", "apr-nope")
    assert code == 3
    assert waiting[0].id in err
    assert run("deny", "apr-")[0] == 2
    assert run("approve")[0] == 2
    run("approve", waiting[0].id)
    assert run("approve", waiting[0].id)[0] == 2
    assert run("approvals", "show", "zzz")[0] == 3


def test_status_counts_them(run, waiting, store):
    code, out, _ = run("status", "-q")
    assert (code, out) == (1, "2\n")
    files.replace(store.layout.task("tsk-one") / "exit.json",
                  b'{"task_id":"tsk-one","status":"cancelled","finished_at":"2027-01-15T08:00:30Z"}')  # fmt: skip
    assert run("status", "-q")[:2] == (0, "0\n")
    assert run("approvals", "list")[2] == "nothing waits for an answer\n"


def test_an_answer_that_cannot_be_recorded_does_not_stand(store, folder, ask):
    request, other = ask("make deploy"), ask("make test")
    folder.do("approval.allow_always", approval_id=other.id)
    rules = load_config(store.layout)[0].allow
    aside = store.layout.actions.rename(store.layout.root / "aside")
    store.layout.actions.mkdir()
    with pytest.raises(StoreError):
        folder.do("approval.allow", approval_ids=request.id)
    with pytest.raises(StoreError):
        folder.do("approval.forget", number=1)
    assert approvals.decision(store.layout, request.id) is None
    assert load_config(store.layout)[0].allow == rules != []
    store.layout.actions.rmdir()
    aside.rename(store.layout.actions)
    assert folder.do("approval.allow", approval_ids=request.id).summary == "allowed: builder: make deploy"
