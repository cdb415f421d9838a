"""Two builders in one repository, killed and accepted in any order: no byte is lost or foreign, no worktree stays."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
from lumen_sweeps import FULL, seed

from lumen_tui.model.changelist import ChangeList
from lumen_tui.tools.isolation import living


def in_a_child(work, seconds: float) -> None:
    """Do it in a process of its own, which is killed after `seconds`; a negative time lets it end."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    if seconds >= 0:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def build(bench, task_id: str, ours: list[str], text: str) -> None:
    for name in ours:
        (bench.tree(task_id) / name).write_text(text)


def killed_at_times(chance: random.Random, work) -> None:
    """Try it, killed at random moments, until it goes through."""
    for _ in range(chance.randrange(3)):
        in_a_child(work, chance.uniform(0, 0.08))
    in_a_child(work, -1)


def one_story(bench, number: int, chance: random.Random) -> None:
    names = {f"t{number}-{who}": [f"{who}.txt", f"new-{who}-{number}.txt", f"{who}.o"] for who in ("a", "b")}
    order = list(names)
    chance.shuffle(order)
    for task_id in order:
        killed_at_times(chance, lambda task_id=task_id: bench.take(task_id))
        if chance.random() < 0.3:
            living.sweep(bench.layout)
    for task_id in order:
        build(bench, task_id, names[task_id], f"{task_id}\n" * 50)
    chance.shuffle(order)
    for task_id in order:
        task = bench.layout.tasks / task_id
        killed_at_times(chance, lambda task=task: living.settle(bench.layout, task, "2026-01-01T00:00:00Z"))
        living.sweep(bench.layout)
    for task_id in order:
        changes: ChangeList = bench.settle(task_id)
        wanted = [name for name in names[task_id] if not name.endswith(".o")]
        assert sorted(change.path for change in changes.files) == sorted(wanted), number
        for change in changes.files:
            assert bench.content(change, task_id=task_id) == f"{task_id}\n".encode() * 50
    assert bench.leavings() == [], number


@pytest.mark.timeout(900)
def test_nothing_is_lost_foreign_or_left(bench):
    start = 1 if FULL else seed()
    bench.repository.write(".gitignore", "*.o\n")
    bench.repository.commit(a__txt="a\n", b__txt="b\n")
    for number in range(200 if FULL else 4):
        one_story(bench, number, random.Random(start + number))  # noqa: S311 - not for cryptography
    assert bench.repository("status", "--porcelain", "--ignored") == ""
    assert bench.repository("worktree", "list").count("\n") == 0
