"""Session files of workers without a model, and of sessions that are ended from outside."""

from __future__ import annotations

import json

from lumen_apiserver import held, text

from lumen_tui.model.tasks import Spec
from lumen_tui.model.transcript import session_id
from lumen_tui.store.tasks.task_files import parse_spec


def lines(office, task_id: str) -> list[dict]:
    spec = parse_spec((office.folder(task_id) / "spec.json").read_bytes())
    path = office.layout.transcript(session_id(spec, 1))
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_session_is_found_from_its_task_and_differs_by_attempt():
    spec = Spec(id="tsk-1", objective="", created_at="2026-01-01T00:00:00Z")
    assert session_id(spec, 1) == session_id(spec, 1) != session_id(spec, 2)
    assert len(session_id(spec, 1)) == 36 and session_id(spec, 1)[14] == "4"


async def test_a_playbook_leaves_its_calls_as_a_conversation(office, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    task_id = office.do("task.new", objective="What are the 3 largest files in /etc?").target
    await office.beat()
    await office.tasks_over(1)
    found = lines(office, task_id)
    used = [block["name"] for one in found if one["type"] == "assistant" for block in one["message"]["content"]
            if block["type"] == "tool_use"]  # fmt: skip
    assert used == ["disk_usage", "write_result"]
    assert found[0]["message"]["content"].startswith("What are the 3 largest files")
    assert found[-1]["content"] == "done"


async def test_a_cancelled_session_says_how_it_ended(office, api):
    api.say(held(text("never")))
    task_id = office.do("task.new", objective="Wait for ever").target
    await office.beat()
    await office.until(lambda: api.asked)
    office.do("task.cancel", task_id=task_id, reason="enough")
    await office.tasks_over(1)
    assert "enough" in lines(office, task_id)[-1]["content"]
