"""A worker that goes on knows which files the one before it had read: it changes none that somebody changed since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import held, text, tool

ROLE = """+++
purpose = "p"
write = true
tools = ["read_file", "write_file", "edit_file", "apply_patch", "write_result"]
+++

Work.
"""
BEFORE = "one\ntwo\nthree\n"


@pytest.fixture
def file(home: Any, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    home.layout.role("maker").write_text(ROLE)
    home.layout.config.write_text(f'[sandbox]\nwritable = ["{folder}"]\n')
    made = folder / "f.txt"
    made.write_text(BEFORE)
    return made


def killed_after(make_task: Any, api: Any, *calls: Any) -> Any:
    """A task whose worker made these calls and was killed while it waited for the next answer."""
    steps = iter([*calls, held(text("never said"))])
    api.otherwise(lambda request: next(steps))
    task = make_task("Change it", role="maker", task_id="tsk-known")
    child = task.start(warm=True, **api.anthropic_env)
    task.until(lambda: len(api.asked) == len(calls) + 1)
    child.kill()
    child.wait()
    api.release()
    return task


def goes_on(task: Any, api: Any, *calls: Any) -> list[str]:
    """What the calls of the next worker gave."""
    asked, steps = len(api.asked), iter([*calls, tool("write_result", text="made")])
    api.otherwise(lambda request: next(steps))
    task.write("run.json", {"attempt": 3, "started_at": "2026-01-01T00:00:00Z"})
    assert task.run(warm=True, **api.anthropic_env)["status"] == "done", task.instead()
    return [request.results[-1] for request in api.asked[asked + 1 : asked + 1 + len(calls)]]


def read(path: Path) -> Any:
    return tool("read_file", path=str(path))


def write(path: Path, words: str) -> Any:
    return tool("write_file", path=str(path), content=words, overwrite=True)


def edit(path: Path, old: str, new: str) -> Any:
    return tool("edit_file", path=str(path), old_string=old, new_string=new)


@pytest.mark.parametrize("way", ["read", "written", "edited"])
def test_what_changed_meanwhile_is_refused_with_the_difference(make_task, api, file, way):
    calls = {
        "read": [read(file)],
        "written": [read(file), write(file, "mine\ntwo\n")],
        "edited": [read(file), edit(file, "one", "1"), edit(file, "three", "3")],
    }[way]
    task = killed_after(make_task, api, *calls)
    file.write_text(file.read_text() + "of somebody else\n")
    refused, _ = goes_on(task, api, edit(file, "two", "2"), edit(file, "two", "2"))
    assert "changed by somebody else since you read it; nothing was written" in refused
    assert "+of somebody else" in refused
    assert "\n-t" not in refused
    assert "2\n" in file.read_text() and file.read_text().endswith("of somebody else\n")


def test_what_nobody_changed_is_known_and_changed_at_once(make_task, api, file):
    task = killed_after(make_task, api, read(file), edit(file, "one", "1"))
    goes_on(task, api, edit(file, "two", "2"))
    assert file.read_text() == "1\n2\nthree\n"


def test_of_what_was_read_in_part_the_difference_is_not_known_and_it_is_read_again(make_task, api, file):
    task = killed_after(make_task, api, tool("read_file", path=str(file), limit=1))
    file.write_text("all new\n")
    refused, _, _ = goes_on(task, api, write(file, "mine\n"), read(file), write(file, "mine\n"))
    assert "Read it again before you change it" in refused
    assert file.read_text() == "mine\n"


def test_a_file_that_it_removed_is_not_missed(make_task, api, file):
    remove = tool("apply_patch", patch=f"--- {file}\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n")
    task = killed_after(make_task, api, read(file), remove)
    assert not file.exists()
    (made,) = goes_on(task, api, write(file, "again\n"))
    assert "gone" not in made
    assert file.read_text() == "again\n"
