"""A task in full, on a real state folder: facts, tail, result, and what the keys do."""

from __future__ import annotations

import stat
from typing import Any

import msgspec
import pytest
from lumen_robot import until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.acceptance import Acceptance, Verdict
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Exit, Parked, Run, TaskEvent, Usage
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.screens.task_detail import TaskDetailScreen
from lumen_tui.tui.screens.task_transcript import entries

NOW = 1_790_000_000.0


def asked(port: RemotePort, objective: str = "What are the 5 largest files?", **more: Any) -> str:
    return port.submit(NewTask(objective=objective, constraints=("Read only",), **more)).target


def worked(port: RemotePort, task_id: str, events: list[TaskEvent], result: str, *, reason: str = "") -> None:
    folder = Layout(port.root).task(task_id)
    put(folder / "run.json", Run(attempt=1, started_at=times.iso(NOW)))
    files.append(folder / "events.jsonl", b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    files.replace(folder / "result.md", result.encode())
    done = Exit(
        task_id, "failed" if reason else "done", times.iso(NOW + 18), reason=reason, seconds=18.0,
        usage=Usage(4000, 400, 0.013), brain="offline: largest-files",
    )  # fmt: skip
    put(folder / "exit.json", done)


def put(path, record) -> None:
    files.replace(path, msgspec.json.encode(record))


def newest(port: RemotePort) -> Snapshot:
    """A picture in which what was just written has been seen."""
    port.snapshot()
    return port.snapshot()


def calls(count: int) -> list[TaskEvent]:
    return [TaskEvent(times.iso(NOW + n), "call", f"find number {n}", "find") for n in range(count)]


async def test_a_done_task_shows_its_facts_its_steps_and_its_result(room, port):
    task_id = asked(port)
    worked(port, task_id, calls(40), "# Largest\n\n- one\n- two\n")
    async with room(TaskDetailScreen(port, task_id, NOW + 60)) as (app, pilot):
        await until(pilot, lambda: "• one" in app.shown)
        for words in ("✓ done", "ran 18 s", "4.4 k tokens · $0.01", "offline: largest-files", "Read only"):
            assert words in app.shown
        await until(pilot, lambda: "find number 39" in app.shown)  # the tail follows
        assert "find number 0 " not in app.shown
        await pilot.press("Y")
        assert app.copied == ["# Largest\n\n- one\n- two\n"]
        await pilot.press("enter")
        assert "call find" in app.shown
        await pilot.press("escape", "escape")
        assert app.answers == [None]


async def test_the_skills_that_it_read_are_among_the_facts(room, port):
    task_id = asked(port)
    read = [
        TaskEvent(times.iso(NOW), "result", "pdf: 3 lines", "read_skill", data={"skill": name})
        for name in ("pdf", "pdf", "docx")
    ]
    worked(port, task_id, read, "done")
    async with room(TaskDetailScreen(port, task_id, NOW + 60)) as (app, pilot):
        await until(pilot, lambda: "pdf · docx" in app.shown)


async def test_new_events_appear_and_a_queued_task_is_cancelled(room, port):
    task_id = asked(port)
    async with room(TaskDetailScreen(port, task_id, NOW), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "○ queued" in app.shown)
        assert "No result yet" in app.shown
        await pilot.press("Y")
        assert "no result to copy" in app.shown
        await pilot.press("c")
        await until(pilot, lambda: "cancel" in app.shown.splitlines()[-3])
        worked(port, task_id, calls(3), "done")
        app.screen.show(newest(port))
        await until(pilot, lambda: "find number 2" in app.shown)


async def test_a_failed_task_says_why_and_is_tried_again(room, port):
    task_id = asked(port)
    worked(port, task_id, calls(1), "", reason="the page answered 429 three times")
    async with room(TaskDetailScreen(port, task_id, NOW)) as (app, pilot):
        await until(pilot, lambda: "429 three times" in app.shown)
        assert "✗ failed" in app.shown
        await pilot.press("R")
        await until(pilot, lambda: len(port.snapshot().tasks) == 2)


async def test_a_task_that_is_not_there_is_said(room, port):
    async with room(TaskDetailScreen(port, "tsk-none")) as (app, pilot):
        await until(pilot, lambda: "there is no task tsk-none" in app.shown)


@pytest.mark.threat("S2", "clicks on markup, widgets and words that look like it")
@pytest.mark.parametrize("length", [1, 3000])
async def test_hostile_text_is_text_in_facts_tail_and_result(room, port, hostile, length):
    task_id = asked(port, f"{hostile} largest", accept=("command: make test",))
    result = f"# {hostile}\n\n```[/]\n{hostile}\n```\n\n[x](javascript:app.quit) {hostile} end\n\n" * length
    worked(port, task_id, [TaskEvent(times.iso(NOW), "text", hostile, hostile)], result, reason=hostile)
    unchecked = Acceptance(Verdict.CLAIMED, why=f"not checked: {hostile}")
    put(
        Layout(port.root).task(task_id) / "exit.json",
        Exit(task_id, "failed", times.iso(NOW), reason=hostile, acceptance=unchecked),
    )
    async with room(TaskDetailScreen(port, task_id, NOW)) as (app, pilot):
        await until(pilot, lambda: app.shown.count("[@click=app.quit]") > 3)
        app.harmless()
        await pilot.press("tab", "end")
        assert (length == 1) is ("more characters" not in app.shown)
        app.harmless()


async def test_the_result_opens_in_the_editor_and_stays_as_it_was(room, port, tmp_path, monkeypatch):
    editor = tmp_path / "editor"
    files.replace(editor, b'#!/bin/sh\ncp "$1" "$0.saw"\necho more >> "$1"\n')
    editor.chmod(stat.S_IRWXU)
    monkeypatch.setenv("VISUAL", str(editor))
    task_id = asked(port)
    worked(port, task_id, calls(1), "the answer")
    async with room(TaskDetailScreen(port, task_id, NOW)) as (app, pilot):
        await until(pilot, lambda: "the answer" in app.shown)
        await pilot.press("e")
        assert "stays as the worker wrote it" in app.shown
        assert (tmp_path / "editor.saw").read_text() == "the answer"
    assert port.task_detail(task_id).result == "the answer"


async def test_a_cancelled_task_has_no_result_and_offers_no_cancel(room, port):
    task_id = asked(port)
    async with room(TaskDetailScreen(port, task_id, NOW, model="haiku")) as (app, pilot):
        await until(pilot, lambda: "No result yet" in app.shown)
        put(Layout(port.root).task(task_id) / "exit.json", Exit(task_id, "cancelled", times.iso(NOW)))
        app.screen.show(newest(port))
        await until(pilot, lambda: "No result: cancelled." in app.shown)
        assert "researcher (haiku)" in app.shown
        assert "R retry" in app.shown
        assert "c cancel" not in app.shown


async def test_a_screen_that_only_reads_offers_nothing_that_writes(room, port):
    task_id = asked(port)
    async with room(TaskDetailScreen(port, task_id, NOW, refusal="the folder is read-only")) as (app, pilot):
        await until(pilot, lambda: "queued" in app.shown)
        assert "c cancel" not in app.shown
        await pilot.press("c")
        assert "the folder is read-only" in app.shown


def command(seconds: float, text: str, output: str, code: int = 0) -> list[TaskEvent]:
    """A call of the shell that took half a second."""
    ok = code == 0
    said = f"{len(output.splitlines())} lines" if ok else f"exit code {code}"
    return [
        TaskEvent(times.iso(NOW + seconds), "call", text, "shell"),
        TaskEvent(times.iso(NOW + seconds + 0.5), "result", said, "shell", ok, data={"exit": code}, output=output),
    ]


STARTED = TaskEvent(times.iso(NOW), "started", "role builder: look")
TWENTY = "\n".join(f"line {n} of the listing" for n in range(12))


def streamed(seconds: float, *parts: str) -> list[TaskEvent]:
    return [TaskEvent(times.iso(NOW + seconds), "text", part) for part in parts]


def test_words_that_were_streamed_are_one_entry_and_a_call_has_its_result():
    events = [STARTED, *streamed(1, "It is ", "large."), *command(2, "ls", "a"), *streamed(4, "Done.")]
    made = entries(events)
    assert [entry.text for entry in made] == ["It is large.", "ls", "Done."]
    assert [entry.result and entry.result.text for entry in made] == [None, "1 lines", None]


def test_a_result_goes_to_the_call_of_its_tool_and_of_its_attempt():
    first = TaskEvent(times.iso(NOW), "call", "a", "find")
    other = TaskEvent(times.iso(NOW), "result", "4", "shell")
    later = TaskEvent(times.iso(NOW), "result", "4", "find", attempt=2)
    made = entries([first, other, later])
    assert [(entry.event.kind, entry.result) for entry in made] == [("call", None), ("result", None), ("result", None)]


async def test_a_command_shows_how_it_ended_and_what_it_wrote_where_that_matters(room, port):
    task_id = asked(port)
    events = [STARTED, *command(1, "ls -la", TWENTY), *command(4, "make", "no rule\nfor it", 2), *streamed(6, "Hm.")]
    worked(port, task_id, events, "")
    async with room(TaskDetailScreen(port, task_id, NOW + 60)) as (app, pilot):
        await until(pilot, lambda: "exit 0 · 12 lines · 0.5 s" in app.shown)
        assert "exit 2 · 0.5 s" in app.shown and "for it" in app.shown
        assert "line 0 of the listing" not in app.shown
        await pilot.press("g", "x")
        await until(pilot, lambda: "line 11 of the listing" in app.shown)
        await pilot.press("x")
        await until(pilot, lambda: "line 11 of the listing" not in app.shown)
        await pilot.press("enter")
        assert "line 11 of the listing" in app.shown


async def test_long_words_are_wrapped_and_the_end_is_followed_until_one_looks_elsewhere(room, port):
    task_id = asked(port)
    worked(port, task_id, [STARTED, *streamed(1, "deep " * 60 + "bottom"), *calls(30)], "")
    async with room(TaskDetailScreen(port, task_id, NOW + 60), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "find number 29" in app.shown and "following" in app.shown)
        await pilot.press("g")
        await until(pilot, lambda: "bottom" in app.shown and "line 1 of" in app.shown)
        files.append(
            Layout(port.root).task(task_id) / "events.jsonl",
            msgspec.json.encode(TaskEvent(times.iso(NOW + 90), "note", "the very last")) + b"\n",
        )
        app.screen.show(newest(port))
        await until(pilot, lambda: "line 1 of 36" in app.shown)
        assert "the very last" not in app.shown
        await pilot.press("G")
        await until(pilot, lambda: "the very last" in app.shown and "following" in app.shown)


async def test_a_call_that_waits_for_a_person_is_not_said_to_have_failed_to_end(room, port):
    task_id = asked(port)
    events = [
        TaskEvent(times.iso(NOW), "call", "git push", "shell"),
        TaskEvent(times.iso(NOW + 1), "waiting", "waits for a person: git push", "shell"),
    ]
    folder = Layout(port.root).task(task_id)
    put(folder / "run.json", Run(attempt=1, started_at=times.iso(NOW)))
    put(folder / "parked.json", Parked(1, "apr-one", times.iso(NOW + 1)))
    files.append(folder / "events.jsonl", b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    async with room(TaskDetailScreen(port, task_id, NOW + 61)) as (app, pilot):
        await until(pilot, lambda: "waits for 1:00" in app.shown)
        assert "did not end" not in app.shown


async def test_the_transcript_is_narrowed_to_lines_with_a_word(room, port):
    task_id = asked(port)
    worked(port, task_id, [STARTED, *calls(30)], "")
    async with room(TaskDetailScreen(port, task_id, NOW + 60)) as (app, pilot):
        await until(pilot, lambda: "find number 29" in app.shown)
        await pilot.press("slash", *"17", "enter")
        await until(pilot, lambda: "find number 17" in app.shown and "find number 29" not in app.shown)
        await pilot.press("escape")
        await until(pilot, lambda: "find number 18" in app.shown)
        assert app.answers == []


def test_a_reason_is_told_once():
    why = TaskEvent(times.iso(NOW), "error", "no such folder: /x")
    end = TaskEvent(times.iso(NOW), "finished", "failed: no such folder: /x")
    assert [entry.event.kind for entry in entries([why, end])] == ["error"]
    assert [entry.event.kind for entry in entries([end])] == ["finished"]
