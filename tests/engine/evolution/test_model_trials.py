"""Trials that ask a model: champion and challenger do the same tasks again, against a server that follows a script."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import ApiServer, fail, tool
from lumen_folder import StateFolder
from lumen_program import Child, start_lumen
from lumen_repository import Repository
from lumen_robot import until as robot_until
from lumen_stage import Stage
from lumen_until import until
from scripted_role import ADVICE, CALLS, LINE, SETTINGS, ScriptedRole, recorded, role_folder

from lumen_tui.__main__ import main
from lumen_tui.engine.evolution.modelruns import outcome_of
from lumen_tui.engine.evolution.trial import Trial
from lumen_tui.engine.evolution.trialfolder import told_nothing
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.acceptance import Acceptance, Verdict
from lumen_tui.model.isolation import Isolation
from lumen_tui.model.tasks import Exit, Usage
from lumen_tui.model.times import iso
from lumen_tui.model.trials import TRIALS, TrialReport
from lumen_tui.queries.trial_page import under_way
from lumen_tui.store.evolution import candidates
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import has_worker
from lumen_tui.tools.isolation import records
from lumen_tui.tui.screens.trials import TrialsScreen

NOW = 1_800_000_000.0


@pytest.fixture
def folder(tmp_path: Path, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> StateFolder:
    return role_folder(tmp_path / "state", api, monkeypatch)


def proposed(folder: StateFolder, text: str = ADVICE) -> str:
    return folder.do("evolution.propose", role="builder", why="answers were lost", text=text).target


def tried(folder: StateFolder, name: str, stopped: Any = bool) -> TrialReport:
    return Trial(folder.store, name, stopped=stopped).run(time.time(), "ana")


def test_a_paragraph_that_helps_is_measured_paid_from_its_own_line_and_passes(
    folder: StateFolder, api: ApiServer, capsys: Any
) -> None:
    model = ScriptedRole(api, able=range(5))
    names = recorded(folder, 12)
    name = proposed(folder)
    state = ["--state", str(folder.root), "evolve", "--try", name]
    assert main([*state, "--cases", "3"]) == 2
    assert main([*state, "--cases", "12"]) == 0
    out = capsys.readouterr().out
    assert f"{name}: passed: 7 fixed, 0 broken of 12, p = 0.004, difference +17% to +83%" in out
    assert "tokens as it is" in out
    (report,) = candidates.trials(folder.layout)
    assert (report.objections, report.cases, report.unit) == ((), 12, "tokens")
    assert model.asked == 12 * 2 * CALLS
    book = Ledger(folder.layout).refresh()
    (day,) = book.days
    spent = book.part(day, "role", TRIALS)
    assert spent.calls == model.asked
    assert spent.usd == pytest.approx(report.usd)
    assert not book.open
    assert not any(task in book.tasks for task in names)  # the tasks themselves cost nothing, and there are no more
    assert sorted(task_files.all_ids(folder.layout)) == names
    assert not folder.layout.trial_now.exists()
    assert main([*state, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (model.asked, again["look"], "objections" in again) == (12 * 2 * CALLS, 1, False)
    folder.do("evolution.promote", candidate=name)


def test_one_that_changes_nothing_is_a_tie(folder: StateFolder, api: ApiServer) -> None:
    ScriptedRole(api, able=range(1))
    recorded(folder, 2)
    report = tried(folder, proposed(folder, "Be careful."))
    assert (report.measured, report.fixes, report.regressions) == (2, 0, 0)
    assert "a tie keeps the old" in report.objections


def test_the_line_of_trials_stops_it_and_more_money_goes_on_without_paying_twice(
    folder: StateFolder, api: ApiServer
) -> None:
    model = ScriptedRole(api, able=range(2))
    recorded(folder, 5)
    name = proposed(folder)
    one_at_a_time = SETTINGS + "\n[workers]\nlimit = 1\n"
    folder.layout.config.write_text(one_at_a_time + LINE.format(usd=0.1))
    report = tried(folder, name)
    (reason,) = [each for each in report.objections if "came to no end" in each]
    assert "today's budget of role trials" in reason
    assert candidates.trials(folder.layout) == []
    assert 0 < model.asked < 5 * 2 * CALLS, reason
    assert Ledger(folder.layout).refresh().days.popitem()[1].usd <= 0.1
    folder.layout.config.write_text(one_at_a_time + LINE.format(usd=5))
    report = tried(folder, name)
    assert (report.measured, report.fixes) == (5, 3)
    assert model.asked == 5 * 2 * CALLS


@pytest.fixture
def programs() -> Iterator[list[Child]]:
    started: list[Child] = []
    yield started
    for child in started:
        child.kill()
        child.wait()


def begun(folder: StateFolder, api: ApiServer, name: str, programs: list[Child]) -> Child:
    """A trial in a process of its own, some way into its cases."""
    child = start_lumen(["--state", str(folder.root), "evolve", "--try", name], env=dict(os.environ), cwd=folder.root)
    programs.append(child)
    until(lambda: (now := under_way(folder.layout)) is not None and now.runs > 2)
    return child


def test_killed_on_the_way_it_goes_on_without_paying_twice(
    folder: StateFolder, api: ApiServer, programs: list[Child]
) -> None:
    model = ScriptedRole(api, able=range(5))
    recorded(folder, 6)
    name = proposed(folder)
    child = begun(folder, api, name, programs)
    child.kill()
    child.wait()
    assert under_way(folder.layout) is None
    report = tried(folder, name)
    assert (report.measured, report.fixes) == (6, 1)
    assert model.asked == 6 * 2 * CALLS


def test_stopped_it_ends_soon_and_the_next_one_goes_on(
    folder: StateFolder, api: ApiServer, programs: list[Child]
) -> None:
    model = ScriptedRole(api, able=range(5))
    recorded(folder, 6)
    name = proposed(folder)
    child = begun(folder, api, name, programs)
    child.send_signal(signal.SIGTERM)
    assert child.wait() == 1
    assert candidates.trials(folder.layout) == []
    report = tried(folder, name)
    assert (report.measured, report.fixes) == (6, 1)
    assert model.asked == 6 * 2 * CALLS


def test_a_server_that_answers_nobody_proves_nothing(folder: StateFolder, api: ApiServer) -> None:
    folder.layout.config.write_text(SETTINGS.replace("[models]", "[models]\ntries = 1", 1) + LINE.format(usd=5))
    api.otherwise(lambda request: fail(500))
    recorded(folder, 2)
    name = proposed(folder)
    report = tried(folder, name)
    assert any("came to no end" in reason for reason in report.objections)
    assert (candidates.trials(folder.layout), candidates.runs(folder.layout)) == ([], {})
    tasks = [spec.parent for spec in folder.layout.replays.glob("*/tasks/*/spec.json")]
    until(lambda: not any(has_worker(task) for task in tasks))  # one may still be told that the server fails
    model = ScriptedRole(api, able=range(1))
    assert tried(folder, name).fixes == 1
    assert model.asked == 2 * 2 * CALLS


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (SETTINGS, "trials have no budget"),
        ('[models]\nprovider = "offline"\n' + LINE.format(usd=5), "no server of models is set"),
    ],
)
def test_without_a_model_or_a_budget_nothing_is_measured(
    folder: StateFolder, api: ApiServer, settings: str, reason: str
) -> None:
    folder.layout.config.write_text(settings)
    recorded(folder, 12)
    report = tried(folder, proposed(folder))
    assert any(f"not measured: no model ran: {reason}" in each for each in report.objections)
    assert (report.words, len(api.asked)) == ("not measured", 0)


def test_nobody_is_asked_and_nothing_of_the_real_folder_is_read_or_changed(folder: StateFolder, api: ApiServer) -> None:
    model = ScriptedRole(api, able=range(12))
    secret = folder.root / "tasks" / "tsk-0000" / "exit.json"
    question = {"question": "May I?", "default": "no", "wait_minutes": 600}
    model.before = [("ask_operator", question), ("read_file", {"path": str(secret)}), ("discover", {"title": "Odd"})]
    recorded(folder, 2)
    before = {path: path.read_bytes() for path in folder.layout.tasks.rglob("*.json")}
    report = tried(folder, proposed(folder))
    assert report.measured == 2
    assert {path: path.read_bytes() for path in folder.layout.tasks.rglob("*.json")} == before
    assert not list(folder.layout.approvals.glob("*.json"))
    assert not folder.layout.memory.exists()
    heard = [json.dumps(request.body["messages"][-1]) for request in api.asked]
    assert not any("finished_at" in words for words in heard)
    assert any("private data" in words for words in heard)


def test_each_task_begins_from_the_commit_that_it_began_from(
    folder: StateFolder, api: ApiServer, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "project")
    first = repository.commit(question__txt="then\n")
    repository.commit(question__txt="now\n")
    ScriptedRole(api, able=range(1)).before = [("read_file", {"path": "question.txt"})]
    names = recorded(folder, 3, folder=str(repository.root))
    for name in names[:2]:
        isolation = Isolation(kind="worktree", top=str(repository.root), commit=first, state="settled")
        records.write_isolation(folder.layout.task(name), isolation)
    report = tried(folder, proposed(folder))
    assert (report.cases, report.measured) == (3, 2)  # of the last one nobody knows what its folder was
    heard = [json.dumps(request.body["messages"][-1]) for request in api.asked]
    assert any("then" in words for words in heard)
    assert not any("now\\\\n" in words for words in heard)
    assert repository("status", "--porcelain") == ""


def test_a_candidate_that_has_the_checks_changed_fixes_nothing(
    folder: StateFolder, api: ApiServer, tmp_path: Path, sandbox: None
) -> None:
    repository = Repository(tmp_path / "project")
    first = repository.commit(check__sh="grep -q right answer.txt\n")

    def answer(request: Any) -> Any:
        made = sum(message["role"] == "tool" for message in request.body["messages"])
        if ADVICE in json.dumps(request.body) and not made:
            return tool("shell", {"command": "echo true > check.sh"})
        return tool("write_result", {"text": "done"})

    api.otherwise(answer)
    names = recorded(folder, 2, folder=str(repository.root), accept=("command: sh check.sh",))
    for name in names:
        isolation = Isolation(kind="worktree", top=str(repository.root), commit=first, state="settled")
        records.write_isolation(folder.layout.task(name), isolation)
    report = tried(folder, proposed(folder))
    assert (report.measured, report.fixes, report.regressions) == (2, 0, 0)
    (challenger, *_) = [run for run in candidates.runs(folder.layout).values() if run.version]
    assert (challenger.passed, challenger.reason) == (False, "it changed what its checks go by")


def ended(status: str, verdict: Verdict | None = None, tokens: int = 0, **fields: Any) -> Exit:
    accepted = Acceptance(verdict) if verdict is not None else None
    return Exit("tsk-a", status, iso(NOW), usage=Usage(tokens, 0), acceptance=accepted, **fields)


@pytest.mark.parametrize(
    ("end", "passed", "again"),
    [
        (ended("done", Verdict.PROVED), True, False),  # also where the server does not say what it took
        (ended("failed", Verdict.DISPROVED), False, False),
        (ended("failed", tokens=9, reason="step limit reached"), False, False),
        (ended("done", Verdict.CLAIMED, 9), None, False),
        (ended("failed", tokens=9, cap=TRIALS), None, True),
        (ended("failed", tokens=9, unanswered=True), None, True),
        (ended("lost", tokens=9), None, True),
        (ended("cancelled", tokens=9), None, True),
        (ended("failed", reason="there is no sandbox"), None, True),
    ],
)
def test_an_end_counts_where_it_tells_something_of_the_version(end: Exit, passed: bool | None, again: bool) -> None:
    assert outcome_of(end)[0] is passed
    assert told_nothing(end) is again


async def test_in_the_room_it_is_begun_watched_and_stopped_by_keys(folder: StateFolder, api: ApiServer) -> None:
    model = ScriptedRole(api, able=range(1))
    model.wait = 0.2
    recorded(folder, 4)
    proposed(folder)
    port = RemotePort(folder.root, "ana")
    app = Stage(TrialsScreen(port, port.snapshot()))
    async with app.run_test(size=(120, 40)) as pilot:
        await robot_until(pilot, lambda: "not tried" in app.shown)
        await pilot.press("B")
        await robot_until(pilot, lambda: "budget of their own: $0.00 of $5.00 spent today" in app.shown)
        await pilot.press("y")
        await robot_until(pilot, lambda: "of 8 runs" in app.shown)
        await robot_until(pilot, lambda: "% so far" in app.shown)  # the interval, live
        await pilot.press("c")
        await robot_until(pilot, lambda: under_way(folder.layout) is None)
        await robot_until(pilot, lambda: "runs" not in app.shown)
        assert "not tried" in app.shown
        await pilot.press("B", "y")
        await robot_until(pilot, lambda: "failed" in app.shown)
    assert model.asked == 4 * 2 * CALLS
