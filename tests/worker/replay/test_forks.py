"""A task that is over goes on from one of its steps with another role, model or prompt, beside what it did."""

from __future__ import annotations

import json

import pytest

from lumen_tui.__main__ import main
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.evolution.forking import ForkOrder, cut, fork
from lumen_tui.model.trials import TRIALS
from lumen_tui.providers.conversation.history import AssistantMessage, ModelCall, ResultMessage
from lumen_tui.providers.conversation.steps import Answer, CallEnded, Head
from lumen_tui.storage.store import Store
from lumen_tui.store.ledger.ledger import Ledger
from tests.worker.replay.conftest import Played, contents

LINE = "[budget.roles.trials]\nusd = 5\n"
DONE = ("write_result", {"text": "two became 2"})
EDIT = ("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "2"})
READ = ("read_file", {"path": "a.txt"})


@pytest.fixture
def played(played: Played, monkeypatch: pytest.MonkeyPatch) -> Played:
    for name, value in played.environ.items():
        monkeypatch.setenv(name, value)
    return played


def finished(played, repository):
    """A task that changed one file in a worktree of its own, in three steps."""
    task = played.play(READ, EDIT, DONE, isolate="worktree", folder=str(repository.root))
    assert task.exit["status"] == "done", task.instead()
    task.layout.config.write_text(LINE)
    return task


def test_it_goes_on_from_a_step_with_the_files_and_words_of_then(played, repository, sandbox, untouched, api):
    task = finished(played, repository)
    untouched(repository.root)
    before = {path: data for path, data in contents(task.layout.root).items() if path.startswith("tasks")}
    asked = len(api.asked)
    played.say(("write_file", {"path": "c.txt", "content": "after\n"}), READ, ("write_result", {"text": "both"}))
    found = fork(Store(task.layout.root), ForkOrder(task.id, 2, text="Look at c.txt, too."))
    assert (found.original.outcome, found.fork.outcome) == ("done", "done")
    assert (found.original.calls, found.fork.calls) == (3, 5)
    assert (found.original.result, found.fork.result) == ("two became 2", "both")
    assert found.fork.files == ("a.txt", "c.txt")  # its own change, and the one that was made again
    requests = api.asked[asked:]
    assert len(requests) == 3  # the two answers before are not asked for again
    assert "Look at c.txt, too." in json.dumps(requests[0].body["system"])
    words = json.dumps(requests[0].body["messages"])
    assert "old_string" in words
    assert str(task.folder) not in words
    assert "2" in json.dumps(requests[2].body["messages"][-1])
    after = {path: data for path, data in contents(task.layout.root).items() if path.startswith("tasks")}
    assert after == before
    book = Ledger(task.layout).refresh()
    assert book.part(next(iter(book.days)), "role", TRIALS).calls == 3


def test_another_role_is_held_to_its_own_tools(played, repository, sandbox, api):
    task = finished(played, repository)
    played.say(EDIT, ("write_result", {"text": "I may not"}))
    found = fork(Store(task.layout.root), ForkOrder(task.id, 1, role="reviewer"))
    assert (found.original.role, found.fork.role) == ("maker", "reviewer")
    assert found.fork.files == ()
    assert "'edit_file' is not among" in json.dumps(api.asked[-1].body["messages"][-1])


def test_what_was_forked_once_is_not_asked_again(played, repository, sandbox, api, capsys):
    task = finished(played, repository)
    played.say(("write_result", {"text": "the same"}))
    words = ["--state", str(task.layout.root), "fork", task.id, "--at", "2", "--prompt", "Be brief."]
    assert main(words) == 0
    table = capsys.readouterr().out
    assert "two became 2" in table
    assert "the same" in table
    asked = len(api.asked)
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fork"]["result"] == "the same"
    assert len(api.asked) == asked


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ({"at": 4}, "steps from which"),
        ({"at": -1}, "steps from which"),
        ({"at": 1, "role": "nobody"}, "role nobody cannot be used"),
        ({"at": 1, "model": "offline:x"}, "it cannot go on"),
    ],
)
def test_what_cannot_go_on_says_why(played, repository, sandbox, order, reason):
    task = finished(played, repository)
    with pytest.raises(ActionError, match=reason):
        fork(Store(task.layout.root), ForkOrder(task.id, **order))
    assert not list((task.layout.root / "replays").glob("*/state/tasks/*/exit.json"))


def test_a_folder_of_which_nobody_knows_what_it_was_is_left_alone(played, repository, sandbox, untouched):
    task = played.play(
        READ, EDIT, DONE, folder=str(repository.root), settings=f'[sandbox]\nwritable = ["{repository.root}"]\n{LINE}'
    )
    untouched(repository.root)
    with pytest.raises(ActionError, match="it cannot go on"):
        fork(Store(task.layout.root), ForkOrder(task.id, 2))


def test_without_a_budget_line_nobody_is_asked(played, repository, sandbox, api):
    task = finished(played, repository)
    task.layout.config.write_text("")
    asked = len(api.asked)
    with pytest.raises(ActionError, match="trials have no budget"):
        fork(Store(task.layout.root), ForkOrder(task.id, 2))
    assert len(api.asked) == asked


def test_calls_of_one_answer_are_not_parted():
    def answer(*names: str) -> Answer:
        return Answer(AssistantMessage(calls=tuple(ModelCall(name, "shell") for name in names)), key="spd-1")

    def ended(name: str) -> CallEnded:
        return CallEnded(ResultMessage(name, "shell", "ok"))

    records = [
        Head("tsk-a"),
        answer("a"),
        ended("a"),
        answer("b", "c"),
        ended("b"),
        ended("c"),
        answer("d"),
        ended("d"),
    ]
    assert [cut(records, calls)[1] for calls in range(5)] == [0, 1, 1, 3, 4]
    kept, _ = cut(records, 3)
    assert kept[-1] == ended("c")
    assert not any(isinstance(record, Answer) and record.key for record in kept)  # it is paid already
