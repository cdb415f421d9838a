"""Real worker processes on models: what they leave in their folders."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import fail, text, tool
from lumen_program import Child, start_worker
from lumen_task import TaskFolder

from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import pauses

BOX_KEY = "box-secret-0123456789"


class Work(TaskFolder):
    """The one task of a state folder, and the worker on it."""

    def __init__(self, root: Path, api: Any) -> None:
        layout = Layout(root)
        layout.create()
        super().__init__(layout)
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(root), "BOX_KEY": BOX_KEY, **api.anthropic_env}
        self.write("spec.json", {"id": self.id, "objective": "look around", "role": "researcher", "model": "sonnet"})
        self.layout.config.write_text(
            '[models]\nprovider = "anthropic"\ntries = 2\n[models.fallback]\nsonnet = ["box:qwen"]\n'
            f'[models.endpoints.box]\nbase_url = "{api.openai_url}"\nkey_env = "BOX_KEY"\n'
        )
        self.child: Child | None = None

    def start(self) -> Child:
        self.child = start_worker(self.folder, self.environ)
        return self.child

    def run(self) -> dict[str, Any]:
        self.start().wait(30)
        return self.exit

    def everything(self) -> bytes:
        """All that is written below the state folder but the settings."""
        root = self.layout.root
        return b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file() and path != self.layout.config)


@pytest.fixture
def work(tmp_path: Path, api: Any) -> Iterator[Work]:
    found = Work(tmp_path / "state", api)
    yield found
    if found.child is not None:
        found.child.kill()
        found.child.wait()


def test_text_is_in_the_live_tail_and_the_model_in_the_exit(work, api):
    api.when(lambda request: request.kind == "messages", tool("list_dir", path="/", say="I look."))
    api.when(lambda request: request.kind == "messages", fail(529, retry_after=0), again=True)
    api.say(tool("write_result", text="# Found\n"), text("done"))
    ended = work.run()
    assert ended["status"] == "done"
    assert ended["brain"] == "anthropic claude-sonnet-5-5, then box qwen"
    assert "".join(event["text"] for event in work.kinds("text")) == "I look."
    assert any("box qwen goes on from here" in event["text"] for event in work.kinds("note"))
    assert (work.folder / "result.md").read_text() == "# Found\n"


def test_a_small_budget_makes_answers_short_and_then_ends_the_task(work, api):
    work.layout.config.write_text('[models]\nprovider = "anthropic"\n')
    spec = {"id": "tsk-one", "objective": "look", "role": "researcher", "model": "sonnet", "budget": {"tokens": 11_000}}
    files.replace(work.folder / "spec.json", json.dumps(spec).encode())
    api.say(
        tool("list_dir", path="/"), tool("list_dir", path="/usr", how={"usage": {"input_tokens": 6000}}), text("never")
    )
    ended = work.run()
    first = api.requests[0].body["max_tokens"]
    assert 1024 <= first < 11_000
    said = f"the answer may have {first:,} tokens at most: the task's budget"
    assert any(event["text"].startswith(said) for event in work.kinds("note"))
    assert ended["status"] == "failed"
    assert "the task's budget has no room for a call of up to" in ended["reason"]


def test_a_wait_for_a_server_is_told_and_can_be_stopped(work, api):
    work.layout.config.write_text('[models]\nprovider = "anthropic"\n')
    api.say(fail(429, retry_after=300))
    child = work.start()
    work.until(lambda: work.kinds("wait"))
    assert work.kinds("wait")[0]["data"]["until"] > time.time() + 200
    files.replace(work.folder / "stop.json", b'{"status": "cancelled", "reason": "enough"}')
    child.wait(5)
    assert work.exit["status"] == "cancelled"
    assert work.exit["reason"] == "enough"


def test_no_key_is_in_any_file_even_where_the_server_says_it(work, api):
    key = api.anthropic_env["ANTHROPIC_API_KEY"]
    words = f"bad key {key} or {BOX_KEY}"
    api.when(lambda request: request.kind == "messages", text(f"My key is {key}."), fail(529, words), again=True)
    work.run()
    api.say(fail(401, words))
    for name in ("exit.json", "steps.jsonl"):
        (work.folder / name).unlink()
    api.script.rules.clear()
    assert work.run()["status"] == "failed"
    assert "was refused (401)" in work.exit["reason"]
    pauses.change(work.layout, "provider:anthropic", None)  # as `resume provider anthropic` does
    api.say(fail(403, words))
    said = r"may not do this \(403\): bad key \[masked: [a-z-]+\] or \[masked: [a-z-]+\]"
    assert re.search(said, work.run()["reason"])
    assert key.encode() not in work.everything()
    assert BOX_KEY.encode() not in work.everything()
