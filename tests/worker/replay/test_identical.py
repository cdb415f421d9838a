"""A task that is replayed under the rules under which it ran: each decision as it was, and nothing else touched."""

from __future__ import annotations

import msgspec

from lumen_tui.model.replay import DecisionKind, ReplayOutcome, ResultKind, ShadowBase, lines

DONE = ("write_result", {"text": "ok"})


def test_a_task_apart_is_replayed_from_its_commit_twice_the_same(played, repository, sandbox, untouched):
    task = played.play(
        ("read_file", {"path": "a.txt"}),
        ("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "2"}),
        ("read_file", {"path": "a.txt"}),
        ("shell", {"command": "cat a.txt > c.txt; wc -l < c.txt"}),
        ("rm", {"path": "/"}),
        DONE,
        isolate="worktree",
        folder=str(repository.root),
    )
    assert task.exit["status"] == "done", task.instead()
    untouched(task.layout.root)
    untouched(repository.root)
    first, second = played.replay(task), played.replay(task)
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    assert first.outcome is ReplayOutcome.IDENTICAL, lines(first, steps=True)
    assert first.base is ShadowBase.COMMIT
    assert [step.now.kind for step in first.steps] == [DecisionKind.ALLOWED] * 4 + [
        DecisionKind.DENIED,
        DecisionKind.ALLOWED,
    ]
    assert [step.result for step in first.steps] == [ResultKind.SAME] * 4 + [ResultKind.NONE, ResultKind.SAME]
    assert not (task.layout.root / "replays").exists()
