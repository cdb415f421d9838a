"""Whether `git commit` works: the prompt, the error and what happens say the same."""

from __future__ import annotations

import subprocess

import pytest

from lumen_tui.store.settings.config import load_config
from lumen_tui.worker.surroundings import surroundings


@pytest.fixture
def repository(machine):
    folder = machine.top / "project"
    for words in (["init", "-q", "."], ["config", "user.email", "a@b.c"], ["config", "user.name", "ann"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "a.txt").write_text("one\n")
    subprocess.run(["git", "add", "a.txt"], cwd=folder, check=True)
    return folder


def test_the_prompt_says_before_what_the_error_says_after(machine, repository):
    box = machine.box()
    told = "\n".join(surroundings(box._context, machine.tier, load_config(machine.store.layout)[0]))
    done = box.call("shell", {"command": "git commit -qm one", "cwd": str(repository)})
    if machine.tier == "bubblewrap":
        assert done.ok and "git commit works" in told
        return
    assert "index.lock" in done.text
    for words in ("nothing below .git, so that git commit does not work", "no new file right beside .git"):
        assert words in done.text and words in told
    refused = box.call("shell", {"command": "echo x > new.txt", "cwd": str(repository)})
    assert "(write_file makes it there)" in refused.text
    assert box.call("write_file", {"path": f"{repository}/new.txt", "content": "x\n"}).ok
