"""What tasks took, as the commands and the room say it: by the records of real workers on the local server."""

from __future__ import annotations

import json
import time
from contextlib import closing

import msgspec
import pytest
from lumen_apiserver import text, tool

from lumen_tui.cli.main import main
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.task_cost import cost_of, progress_of
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.queries.task_costs import costs
from lumen_tui.tui.screens.task_detail import task_facts
from lumen_tui.tui.theme import NO_APPEARANCE

USED = {"input_tokens": 1000, "output_tokens": 50, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def shell(capsys, layout, *words):
    main(["--state", str(layout.root), *words])
    return capsys.readouterr().out


@pytest.fixture
def worked(make_task, api, tmp_path):
    """A task of two attempts: the first one is killed after two calls, the second one ends."""
    made = make_task("Count the rooms", wu_id="", created_by="loop-000001")
    made.write("run.json", {"attempt": 1, "started_at": "2026-01-01T00:00:00Z"})
    api.say(tool("list_dir", {"path": str(tmp_path)}, how={"usage": USED}), text("late", first_byte=60.0))
    child = made.start(warm=True, **api.anthropic_env)
    made.until(lambda: len(made.kinds("result")) == 1 and len(api.asked) == 2)
    child.kill()
    child.wait()
    api.script.main.answers = [tool("write_result", {"text": "Three."}, how={"usage": USED})]
    made.write("run.json", {"attempt": 2, "started_at": "2026-01-01T00:00:00Z"})
    assert made.run(warm=True, **api.anthropic_env)["status"] == "done"
    return made


def test_cost_time_tokens_attempts_and_ids_are_told_by_show_and_by_the_room(worked, capsys):
    shown = json.loads(shell(capsys, worked.layout, "task", "show", worked.id, "--json"))
    cost = shown["cost"]
    assert (cost["attempts"], cost["calls"], cost["input_tokens"], cost["output_tokens"]) == (2, 2, 2000, 100)
    assert worked.layout.transcript(shown["session"]).exists() and cost["usd"] > 0 and cost["seconds"] > 0
    words = shell(capsys, worked.layout, "task", "show", worked.id)
    assert "2 attempts" in words and "2 calls, 2,000 tokens in, 100 out" in words and shown["session"] in words
    assert "loop-000001" in words
    detail = RemotePort(worked.layout.root).task_detail(worked.id)
    assert detail.cost.fields() == cost
    facts = dict(task_facts(detail.view, time.time(), NO_APPEARANCE.shapes, cost=detail.cost))
    assert "2 attempts · $" in str(facts["spent"]) and "2,000 tokens in" in str(facts["spent"])


def test_what_is_used_of_the_limits_is_told_wherever_a_task_is(make_task, api, capsys, tmp_path):
    """While it runs: by show, status, its sheet, and the record behind the pane of workers."""
    made = make_task("Count the rooms", steps=30, timeout_seconds=600.0, budget={"usd": 0.5, "tokens": 40_000})
    made.write("run.json", {"attempt": 1, "started_at": "2026-01-01T00:00:00Z"})
    used = {**USED, "input_tokens": 9_950}
    api.say(tool("list_dir", {"path": str(tmp_path)}, how={"usage": used}), text("late", first_byte=60.0))
    child = made.start(warm=True, **api.anthropic_env)
    made.until(lambda: len(made.kinds("usage")) == 1 and len(api.asked) == 2)
    shown = json.loads(shell(capsys, made.layout, "task", "show", made.id, "--json"))["cost"]["progress"]
    assert (shown["most_steps"], shown["most_seconds"], shown["most_usd"], shown["tokens"]) == (30, 600.0, 0.5, 10_000)
    assert (shown["filled"], shown["window"]) == (10_000, 200_000)
    told = "0 of 30 steps, ", " of 10 m, $0.00 of $0.50, 10,000 of 40,000 tokens, 5% of the window"
    detail = RemotePort(made.layout.root).task_detail(made.id)
    with closing(SnapshotReader(made.layout.root)) as reader:
        (row,) = [view for view in reader.snapshot(time.time()).tasks if view.id == made.id]
    for words in (
        shell(capsys, made.layout, "task", "show", made.id),
        shell(capsys, made.layout, "status"),
        progress_of(row.tail).words(),
    ):
        assert all(part in words.replace(" · ", ", ") for part in told), words
    gauges = str(dict(task_facts(detail.view, time.time(), NO_APPEARANCE.shapes, cost=detail.cost))["used"])
    for part in ("╌╌╌╌╌╌╌╌ 0 of 30 steps", "━━╌╌╌╌╌╌ 10 k of 40 k tokens", "10 k of 200 k window", "$0.00 of $0.50"):
        assert part in gauges
    child.kill()
    child.wait()


def test_a_summary_says_nothing_of_the_window_and_a_later_versions_record_nothing_at_all():
    def usage(**progress) -> TaskEvent:
        return TaskEvent(at="2026-01-01T00:00:00Z", kind="usage", data={"progress": progress})

    steps = usage(steps=3, most_steps=9, filled=900, window=1000)
    assert progress_of([steps, usage(steps=3, most_steps=9)]).words() == "3 of 9 steps, 90% of the window"
    assert progress_of([steps, usage(steps="many")]).words() == "3 of 9 steps, 90% of the window"
    assert progress_of([TaskEvent(at="", kind="usage", data={"progress": [1]})]).words() == ""


def test_what_a_vendors_cache_gave_is_told(make_task, api, capsys):
    made = make_task("Count the rooms")
    used = {**USED, "cache_read_input_tokens": 700}
    api.say(tool("write_result", {"text": "Three."}, how={"usage": used}))
    assert made.run(warm=True, **api.anthropic_env)["status"] == "done"
    cost = json.loads(shell(capsys, made.layout, "task", "show", made.id, "--json"))["cost"]
    assert (cost["input_tokens"], cost["cached_tokens"]) == (1700, 700)
    assert "1,700 tokens in (700 cached), 50 out" in shell(capsys, made.layout, "task", "show", made.id)


def test_money_is_what_the_ledger_says_a_lost_call_included(worked):
    (view,) = [view for view in SnapshotReader(worked.layout.root).snapshot(time.time()).tasks if view.id == worked.id]
    found = costs(worked.layout, [view], time.time())[worked.id]
    settled = sum(event["data"].get("usd", 0) for event in worked.kinds("usage"))
    assert found.usd >= settled > 0


def test_status_names_what_is_at_work_by_id_with_what_it_took(make_task, capsys, api, tmp_path):
    made = make_task("Count the rooms")
    made.write("run.json", {"attempt": 1, "started_at": "2026-01-01T00:00:00Z"})
    api.say(tool("list_dir", {"path": str(tmp_path)}, how={"usage": USED}), text("late", first_byte=60.0))
    made.start(warm=True, **api.anthropic_env)
    made.until(lambda: len(made.kinds("result")) == 1 and len(api.asked) == 2)
    line = next(line for line in shell(capsys, made.layout, "status").splitlines() if made.id in line)
    assert "running" in line and "1 attempt, $" in line and "1,000 tokens in, 50 out: researcher: Count" in line
    (task,) = json.loads(shell(capsys, made.layout, "status", "--json"))["tasks"]
    assert (task["id"], task["state"], task["cost"]["calls"]) == (made.id, "running", 1)


def test_what_needs_a_person_is_named_by_its_id(make_task, capsys):
    failed = make_task("Look", task_id="tsk-failed")
    failed.write("exit.json", {"task_id": "tsk-failed", "status": "failed", "finished_at": "2026-01-01T00:00:00Z"})
    assert any(line.strip().startswith("tsk-failed  ") for line in shell(capsys, failed.layout, "status").splitlines())


def test_a_task_without_any_record_took_nothing(make_task):
    assert cost_of(()).words() == "" and cost_of(()).fields()["usd"] == 0.0
    torn = [TaskEvent("no time", "usage", data={"input_tokens": True, "usd": "much"}), TaskEvent("", "started")]
    assert cost_of(torn).input_tokens == 0 and msgspec.to_builtins(cost_of(torn))["calls"] == 1
