"""Records that are damaged, altered, cut, hostile or gone: said in a sentence, nothing lost, nothing run."""

from __future__ import annotations

import json
import os

import pytest

from lumen_tui.model.replay import ReplayOutcome, ReplayPart, ResultKind, ShadowBase, lines
from lumen_tui.model.tasks import Spec
from lumen_tui.model.transcript import session_id
from lumen_tui.storage import locks
from lumen_tui.tools.isolation import copies
from lumen_tui.worker.replay.run import NotReplayable

DONE = ("write_result", {"text": "ok"})
WRITE = ("write_file", {"path": "new.txt", "content": "fresh\n"})
READ = ("read_file", {"path": "new.txt"})


def transcript(task):
    spec = json.loads((task.folder / "spec.json").read_bytes())
    return task.layout.transcript(session_id(Spec(id=spec["id"], objective=""), 2))


def test_a_result_that_was_altered_in_one_record_is_a_divergence(played):
    task = played.play(WRITE, ("read_file", {"path": "none.txt"}), DONE)
    path = transcript(task)
    path.write_text(path.read_text().replace("none.txt does not exist", "none.txt is empty"))
    report = played.replay(task)
    assert report.divergence.part is ReplayPart.RECORD
    assert "call 2" in report.divergence.now
    assert len(report.steps) == 1


def test_another_call_in_one_record_is_a_divergence(played):
    task = played.play(WRITE, READ, DONE)
    events = task.folder / "events.jsonl"
    events.write_text(events.read_text().replace('"tool":"read_file"', '"tool":"grep"'))
    assert "read_file in its transcript and grep in its events" in played.replay(task).divergence.now


def test_a_transcript_that_was_cut_is_replayed_up_to_there(played):
    task = played.play(WRITE, READ, DONE)
    path = transcript(task)
    whole = path.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(whole) if b'"name":"read_file"' in line)
    path.write_bytes(b"".join(whole[:at]) + whole[at][:40])
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.INCOMPLETE
    assert len(report.steps) == 1
    assert report.missing == ("the last 2 calls of attempt 2",)


def test_a_line_that_was_taken_out_is_noticed(played):
    task = played.play(WRITE, READ, DONE)
    path = transcript(task)
    whole = path.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(whole) if b'"name":"read_file"' in line)
    path.write_bytes(b"".join(whole[:at] + whole[at + 2 :]))
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.INCOMPLETE
    assert "lines are missing" in report.missing[0]


def test_a_transcript_that_is_gone_and_one_of_rubbish(played):
    task = played.play(WRITE, DONE)
    path = transcript(task)
    path.write_bytes(b"\0\xff\n" * 10)
    assert "line 1 of its transcript, which is damaged" in played.replay(task).missing[0]
    path.unlink()
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.INCOMPLETE
    assert "transcript is gone" in report.missing[0]
    (task.folder / "events.jsonl").write_bytes(b"\xff\xfe{}\n[[[[")
    assert played.replay(task).missing


def test_no_task_no_spec_and_a_task_that_runs(played):
    task = played.play(DONE)
    task.id = "tsk-none"
    with pytest.raises(NotReplayable, match="there is no task"):
        played.replay(task)
    task.id = "tsk-one"
    fd = locks.try_lock(task.folder / "run.lock")
    with pytest.raises(NotReplayable, match="has a worker"):
        played.replay(task)
    os.close(fd)
    (task.folder / "spec.json").write_bytes(b"{")
    with pytest.raises(NotReplayable, match=r"spec\.json cannot be read"):
        played.replay(task)


def test_a_folder_that_is_gone_leaves_the_decisions(played, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    settings = f'[sandbox]\nwritable = ["{folder}"]\n'
    task = played.play(("write_file", {"path": str(folder / "a"), "content": "a"}), DONE, settings=settings)
    (folder / "a").unlink()
    folder.rmdir()
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, report


def test_a_folder_that_is_too_large_has_no_shadow(played, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(5):
        (folder / str(number)).touch()
    task = played.play(WRITE, DONE, folder=str(folder))
    monkeypatch.setattr(copies, "MOST_FILES", 4)
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL
    assert report.base is ShadowBase.NONE
    assert {step.result for step in report.steps} == {ResultKind.RECORDED}
    assert any("too large for a copy" in note for note in report.notes)


def test_hostile_text_is_printed_safely_and_on_one_line(played):
    evil = "\x1b]0;owned\x07\x1b[2J\nidentical: 3 decisions\u202e"
    task = played.play(("write_file", {"path": evil, "content": evil}), (evil, {"a": evil}), DONE)
    report = played.replay(task)
    assert report.outcome is ReplayOutcome.IDENTICAL, report
    text = lines(report, steps=True)
    assert not any(set(line) & {"\x1b", "\x07", "\n", "\u202e"} for line in text)
    assert len(text) == 5, text


def test_secrets_are_never_printed_and_calls_with_them_not_made(played, untouched):
    secret = "sk-ant-api03-" + "A1b2C3d4" * 8
    task = played.play(("write_file", {"path": "s.txt", "content": secret}), WRITE, DONE)
    report = played.replay(task)
    text = repr(report) + "\n".join(lines(report, steps=True))
    assert "A1b2C3d4" not in text
    assert played.environ["ANTHROPIC_API_KEY"] not in text
    assert report.steps[0].result is ResultKind.RECORDED
