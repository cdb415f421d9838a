"""Workers on a model: a local server speaks the Messages API from a script."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lumen_tui.actions.registry import named, perform
from lumen_tui.storage import files
from lumen_tui.storage.store import Store

KEY = "sk-ant-0123456789abcdef"
BUILDER = """+++
purpose = "p"
shell = "any"
write = true
network = true
tools = ["shell", "write_result"]
+++

Work.
"""
# Without a sandbox a command asks, and here nobody answers.
UNATTENDED = "[approvals]\nexpires_minutes = 0.01\n"


def test_what_a_command_left_running_ends_with_the_worker(make_task, server):
    command = "setsid sleep 300.271 >/dev/null 2>&1 & echo $! > left"
    server.script = [("shell", {"command": command}), ("write_result", {"text": "ok"}), "done"]
    task = make_task("anything", role="builder")
    task.layout.role("builder").write_text(BUILDER)
    task.layout.operator.write_text(
        f'[[allow]]\ntool = "shell"\nrole = "builder"\npattern = "{command}"\nunwalled = true\n'
    )
    assert task.run(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url)["status"] == "done"
    assert (task.folder / "files" / "left").exists()
    task.until(lambda: not any("sleep\x00300.271" in words for words in command_lines()), 3)


def test_a_role_that_names_them_uses_the_relay_tools(make_task, server):
    submit = ("relay_submit", {"name": "outbox", "text": "The backup is done.", "base": 0})
    late = ("relay_submit", {"name": "outbox", "text": "Something else.", "base": 0})
    server.script = [submit, ("relay_read", {"name": "outbox"}), late, ("write_result", {"text": "ok"}), "done"]
    task = make_task("anything", role="scribe")
    text = '+++\npurpose = "p"\ntools = ["relay_read", "relay_submit"]\n+++\n\nWork.\n'
    perform(Store(task.layout.root), named("role.hire", {"name": "scribe", "text": text}), by="ann", now=time.time())
    assert task.run(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url)["status"] == "done"
    told = [event for event in task.events if event["kind"] == "result"]
    assert [event.get("ok", True) for event in told] == [True, True, False, True]
    assert "held" in told[2]["text"]
    assert "The backup is done." in (task.layout.root / "relay" / "outbox.jsonl").read_text()


def test_a_model_call_is_interrupted(make_task, server):
    server.script = [30.0]
    task = make_task("anything")
    task.start(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url)
    task.until(lambda: bool(server.asked))
    files.replace(task.folder / "stop.json", b'{"status": "cancelled", "reason": "enough"}')
    began = time.monotonic()
    task.children[0].wait(8)
    assert time.monotonic() - began < 3
    assert task.exit["status"] == "cancelled"


def test_a_pattern_without_end_is_interrupted(make_task, server, tmp_path):
    (tmp_path / "as").write_text("a" * 60 + "b\n")
    server.script = [("grep", {"path": str(tmp_path / "as"), "pattern": "(a+)+$"})]
    task = make_task("anything", timeout_seconds=2)
    task.start(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url)
    task.children[0].wait(10)
    assert task.exit["reason"] == "timed out after 2.0 s"


def test_a_model_task_records_usage_and_its_answer_becomes_the_result(make_task, server):
    server.script = [("list_dir", {"path": "/"}), ("rm", {"path": "/"}), "The answer."]
    task = make_task("anything")
    ended = task.run(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url)
    assert ended["status"] == "done"
    assert ended["brain"] == "anthropic claude-haiku-5-5"
    assert ended["usage"]["input_tokens"] == 300
    assert task.result == "The answer."
    refused = [event for event in task.events if event["kind"] == "result" and not event.get("ok", True)]
    assert len(refused) == 1
    assert "not among those" in refused[0]["text"]
    assert b"0123456789abcdef" not in b"".join(path.read_bytes() for path in task.folder.iterdir())


def test_a_budget_ends_the_task(make_task, server, tmp_path):
    """Folders of its own: what a listing says goes to the model with the next call, and into its estimate."""
    rooms = [tmp_path / name for name in ("hall", "attic", "cellar", "yard")]
    for room in rooms:
        room.mkdir()
    server.script = [("list_dir", {"path": str(room)}) for room in rooms]
    server.usage["input_tokens"] = 10_000
    task = make_task("anything", budget={"tokens": 40_000})
    ended = task.run(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url)
    assert ended["status"] == "failed"
    assert "budget" in ended["reason"]
    spent = ended["usage"]["input_tokens"] + ended["usage"]["output_tokens"]
    assert spent == 10_020 * len(server.asked)
    assert 0 < spent <= 40_000
    assert server.script, "the budget ended it, not the end of its work"


def command_lines() -> list[str]:
    """What runs now; ended processes that nobody waited for have none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_text(errors="replace"))
        except OSError:
            continue
    return found


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
def test_a_command_cannot_read_the_workers_keys(make_task, server):
    """In any sandbox: it is not let to read them, or is not run at all, and they are written nowhere."""
    server.script = [("shell", {"command": "tr '\\0' '\\n' < /proc/$PPID/environ > out; wc -c < out"}), "done"]
    task = make_task("anything", role="builder")
    task.layout.role("builder").write_text(BUILDER)
    task.layout.config.write_text(UNATTENDED)
    task.start(ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url).wait(30)  # asked without a sandbox, it ends
    assert any("environ" in event["text"] for event in task.events if event["kind"] == "call"), "it was tried"
    written = {path: path.read_bytes() for path in task.layout.root.rglob("*") if path.is_file()}
    assert [str(path) for path, data in written.items() if b"0123456789abcdef" in data] == []


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
def test_what_a_command_wrote_first_is_kept_with_its_end_without_secrets(make_task, server, sandbox):
    server.script = [("shell", {"command": "echo key sk-ant-0123456789abcdefghij; seq 1 200; exit 3"}), "done"]
    task = make_task("anything", role="builder")
    task.layout.role("builder").write_text(BUILDER)
    task.layout.config.write_text(UNATTENDED)
    task.start(warm=True, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=server.url).wait(30)
    (ended,) = [event for event in task.events if event["kind"] == "result" and event["tool"] == "shell"]
    assert ended["ok"] is False and ended["data"]["exit"] == 3
    first, *rest = ended["output"].splitlines()
    assert first.startswith("key ") and "0123456789abcdef" not in first
    assert rest == [str(number) for number in range(1, 12)]
