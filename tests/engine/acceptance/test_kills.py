"""Kills while a task is checked: it is checked again, never twice at once, and no work is lost or repeated."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from functools import partial

import lumen_kills
import msgspec
import pytest
from lumen_questions import asking_role, question_of
from lumen_until import until

from lumen_tui.engine.supervisor.workers import next_attempt
from lumen_tui.model.acceptance import Acceptance, CheckResult, Finding, Verdict
from lumen_tui.model.tasks import Exit, Status
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import claims, task_files
from lumen_tui.store.tasks.task_records import read_json

pytestmark = pytest.mark.usefixtures("sandbox")

# Waits where it began before `late` was there.
LATE = "command: test -f late; late=$?; echo begun >> log; test $late = 0 || sleep 60"


def logged(court, name: str = "a") -> list[str]:
    path = court.work / name / "log"
    return path.read_text().split() if path.exists() else []


def test_a_check_outlives_its_engine_and_is_not_run_beside_itself(court):
    task = court.task("a", ["command: echo begun >> log; sleep 1.5; echo ended >> log"])
    for _ in range(3):
        court.start()
        until(lambda: "begun" in logged(court))
        court.kill_engine()
    court.start()
    assert court.verdict(task) == ("done", "proved")
    assert logged(court) == ["begun", "ended"]
    assert len(court.prompts["job-a"]) == 1


def test_a_check_that_was_killed_is_begun_again_and_no_model_is_called(court):
    task = court.task("a", [LATE])
    court.start()
    court.until_checked(task)
    until(lambda: len(logged(court)) == 1)
    (court.work / "a" / "late").touch()
    court.kill_check(task)
    assert court.verdict(task) == ("done", "proved")
    assert logged(court) == ["begun", "begun"]
    assert len(court.prompts["job-a"]) == 1


def test_engine_and_check_killed_at_once_leave_a_claim_that_the_next_engine_checks(court):
    task = court.task("a", [LATE])
    court.start()
    until(lambda: len(logged(court)) == 1)
    court.kill_engine()
    court.kill_check(task)
    (court.work / "a" / "late").touch()
    folder = court.layout.task(task)
    until(lambda: not locks.is_locked(folder / "run.lock"))
    assert (folder / "claim.json").exists()
    assert not (folder / "exit.json").exists()
    court.start()
    assert court.verdict(task) == ("done", "proved")
    assert len(court.prompts["job-a"]) == 1


def test_a_check_that_dies_again_and_again_is_given_up_as_a_claim(court):
    task = court.task("a", ["command: sleep 60"])
    court.start()
    for times in (1, 2, 3):
        court.until_checked(task, times)
        court.kill_check(task)
    assert court.verdict(task) == ("done", "claimed")
    assert "crashed 3 times" in court.ended(task).acceptance.why


def test_a_disproved_task_goes_back_once_killed_at_any_point(tmp_path):
    root = tmp_path / "state"
    layout = Layout(root)
    layout.create()
    found = Acceptance(Verdict.DISPROVED, results=(CheckResult("file: never", Finding.FAILS),))
    calls = lumen_kills.state_calls(root, partial(claims.send_back, claimed(layout, "tsk-whole"), CLAIM))
    assert calls
    for at in range(len(calls)):
        folder = claimed(layout, f"tsk-{at}")
        claim = msgspec.structs.replace(CLAIM, acceptance=found)
        act = partial(claims.send_back, folder, claim)
        assert lumen_kills.killed_before(at, root, act)
        assert task_files.status_of(folder) is Status.QUEUED
        attempt = next_attempt(folder)
        if (left := claims.unchecked(folder, attempt)) is not None:  # the process that checks goes on
            claims.send_back(folder, claim if left.acceptance is None else left)
        assert next_attempt(folder) == 2
        assert [one.attempt for one in claims.refuted(folder)] == [1]
        assert claims.unchecked(folder, 2) is None
        assert task_files.status_of(folder) is Status.QUEUED


CLAIM = Exit(task_id="tsk-one", status="done", finished_at="2026-11-23T07:00:00Z")


def claimed(layout, task_id):
    folder = layout.task(task_id)
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text('{"attempt": 1, "started_at": "2026-11-23T06:59:00Z"}')
    claims.leave(folder, CLAIM)
    return folder


def test_a_disk_without_room_leaves_the_claim_to_be_checked_again(court):
    """No file can grow: the verdict cannot be written, and nothing else stands for it."""
    task = court.task("a", ["file: there"])
    (court.work / "a" / "there").touch()
    court.start()
    folder = court.layout.task(task)
    until(lambda: (folder / "exit.json").exists() or court.has_ended(task))
    court.kill_engine()
    place = court.place(task)
    until(lambda: not locks.is_locked(place / "run.lock"))  # whoever wrote the exit takes the claim away after that
    claim = read_json(place / "exit.json", Exit)
    assert claim is not None
    put_back(place, folder)
    checked = subprocess.run(
        [sys.executable, "-m", "lumen_tui.worker", str(folder)],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd(), "HOME": str(court.root)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert checked.returncode
    assert not (folder / "exit.json").exists()
    assert (folder / "claim.json").exists()
    court.start()
    assert court.verdict(task) == ("done", "proved")


def put_back(place, folder) -> None:
    """Make of an ended task one whose worker has just claimed that it is done."""
    if place != folder:
        place.rename(folder)
    (folder / "exit.json").rename(folder / "claim.json")
    (folder / "collected.json").unlink(missing_ok=True)
    text = (folder / "claim.json").read_text()
    (folder / "claim.json").write_text(text[: text.index(',"acceptance"')] + "}")


def test_where_a_person_is_asked_the_check_waits_for_the_answer(court):
    court.layout.role("builder").write_text(asking_role("shell", "write_result"))
    task = court.task("a", ["command: true"])
    court.start()
    folder = court.layout.task(task)
    until(lambda: question_of(court.layout, folder) is not None, instead=lambda: court.events(task))
    request = question_of(court.layout, folder)
    assert request is not None
    assert request.summary.startswith("true")
    court.do("approval.allow", approval_ids=request.id, hash=request.hash)
    assert court.verdict(task) == ("done", "proved")


def test_a_no_to_a_check_proves_nothing(court):
    court.layout.role("builder").write_text(asking_role("shell", "write_result"))
    task = court.task("a", ["command: true"])
    court.start()
    folder = court.layout.task(task)
    until(lambda: question_of(court.layout, folder) is not None)
    request = question_of(court.layout, folder)
    assert request is not None
    court.do("approval.deny", approval_ids=request.id, reason="not here")
    assert court.verdict(task) == ("done", "claimed")
    assert "not here" in court.ended(task).acceptance.results[0].evidence


def test_the_beat_waits_for_no_check(court):
    task = court.task("a", ["command: sleep 60"])
    court.start()
    court.until_checked(task)
    beats = court.layout.heartbeat
    before = beats.read_text()
    court.do("engine.beat")
    until(lambda: beats.read_text() != before)
    other = court.task("b", [])
    assert court.verdict(other) == ("done", "")
    assert not court.has_ended(task)
