"""Each kind that a model has to show, from its proposal to its rollback: real workers on both sides, and after."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import ApiServer, tool
from lumen_apiserver import text as answer_of
from lumen_folder import StateFolder
from lumen_until import until
from scripted_role import ADVICE, LINE, SETTINGS, ScriptedRole, recorded, role_folder

from lumen_tui.__main__ import main
from lumen_tui.engine.driving import driving
from lumen_tui.engine.evolution.trial import Trial
from lumen_tui.model.evals import Split, split_of
from lumen_tui.model.evolved_edits import EditKind
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.queries.trial_page import read_trial_page
from lumen_tui.store.evolution import candidates, champions
from lumen_tui.store.tasks import task_files
from lumen_tui.worker.task import role_of

SKILL = f"How questions are answered.\n{ADVICE}"
PRICE = {"input_tokens": 1000, "output_tokens": 20}  # of a call; that of reading a skill is small beside it


class Worker(ScriptedRole):
    """The scripted role, which reads a skill where it is shown one, and learns from a command that was ended."""

    def __init__(self, api: ApiServer) -> None:
        super().__init__(api, range(0))
        self.command = ""  # that each task begins with
        self.bad = False  # at length it says nothing but that it is done

    def _answer(self, request: Any) -> Any:
        self.asked += 1
        said, called = [json.dumps(message) for message in request.body["messages"]], request.called
        how = {"usage": PRICE}
        if "Propose paragraphs" in "".join(said):
            return answer_of(json.dumps([{"text": ADVICE, "why": "claims were false"}]), usage=PRICE)
        if self.bad:
            return tool("write_result", {"text": "42"}, how={"usage": {"input_tokens": 9000, "output_tokens": 20}})
        if not called and self.command:
            return tool("shell", {"command": self.command}, how=how)
        if not called and "- answering: " in "".join(said):
            return tool("read_skill", {"name": "answering"}, how={"usage": {"input_tokens": 40, "output_tokens": 1}})
        knows = ADVICE in "".join(said) or "exit code 1" in said[-1]
        if knows and "write_file" not in called:
            return tool("write_file", {"path": "answer.txt", "content": "42"}, how=how)
        return tool("write_result", {"text": "42"}, how=how)


@pytest.fixture
def folder(tmp_path: Path, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> StateFolder:
    return role_folder(tmp_path / "state", api, monkeypatch)


def role_now(folder: StateFolder) -> Role:
    return role_of(folder.store, Spec("tsk-now", "x", role="builder"), {})


def carried_out(folder: StateFolder, units: list[str]) -> list[str]:
    """Real tasks, done by real workers of an engine."""
    names = []
    for number, unit in enumerate(units):
        task = {"objective": f"Answer question {number}.", "role": "builder", "accept": ["file: answer.txt"]}
        names.append(folder.do("task.new", wu_id=unit, **task).target)

    async def drive() -> None:
        async with driving(folder.root):
            await asyncio.to_thread(until, lambda: all(_is_over(folder, name) for name in names))

    asyncio.run(drive())
    return names


def _is_over(folder: StateFolder, name: str) -> bool:
    task = task_files.folder_of(folder.layout, name)
    return task is not None and task_files.read_exit(task) is not None


def a_skill(folder: StateFolder, _: Worker) -> str:
    recorded(folder, 12)
    words = {"kind": "skill", "role": "builder", "name": "answering", "text": SKILL, "why": "answers were lost"}
    return tried(folder, folder.do("evolution.propose", **words).target)


def a_limit_of_memory(folder: StateFolder, worker: Worker) -> str:
    worker.command = "bash -o pipefail -c 'head -c 100000000 /dev/zero | tail | wc -c'"
    recorded(folder, 12)
    words = {"kind": "setting", "role": "builder", "name": "memory_mb", "value": 64, "why": "they read all at once"}
    return tried(folder, folder.do("evolution.propose", **words).target)


def a_paragraph_that_a_model_proposed(folder: StateFolder, _: Worker) -> str:
    """From cases of real tasks, by the command that proposes and tries."""
    settings = SETTINGS.replace("[models]", '[models]\nhaiku = "gpt-test"', 1) + LINE.format(usd=5)
    folder.layout.config.write_text(settings + '\n[evolution]\nproposer = "model"\n')
    every = [folder.do("wu.new", title=f"Question {number}").target for number in range(60)]
    train, gate = ([unit for unit in every if split_of(unit) is split] for split in (Split.TRAIN, Split.GATE))
    carried_out(folder, [*train[:4], *gate[:12]])
    state = ["--state", str(folder.root), "evolve"]
    assert main([*state, "cases", "--collect"]) == 0
    assert main([*state, "run"]) == 0
    (row,) = [each for each in read_trial_page(folder.layout).tried if each.candidate.edit.kind is EditKind.PROMPT]
    assert (row.candidate.edit.text, row.candidate.by) == (ADVICE, "evolution")
    return row.id


def tried(folder: StateFolder, name: str) -> str:
    Trial(folder.store, name, stopped=bool).run(time.time(), "ana")
    return name


@pytest.mark.sweep(most=1)
@pytest.mark.parametrize("kind", [a_skill, a_limit_of_memory, a_paragraph_that_a_model_proposed])
def test_it_is_tried_by_real_workers_comes_into_force_and_is_taken_back_once_tasks_are_worse(
    folder: StateFolder, api: ApiServer, sandbox: None, kind: Callable[[StateFolder, Worker], str]
) -> None:
    worker, before = Worker(api), role_now(folder)
    name = kind(folder, worker)
    (report,) = candidates.trials(folder.layout)
    assert (report.candidate, report.objections, report.unit) == (name, (), "tokens")
    assert (report.fixes, report.regressions, report.measured) == (12, 0, 12)
    assert role_now(folder) == before
    folder.now = time.time()
    folder.do("evolution.promote", candidate=name)
    version = champions.pointed(folder.layout)
    (done,) = carried_out(folder, [""])
    kept = task_files.folder_of(folder.layout, done)  # in the archive, where the engine had time to put it there
    assert kept is not None
    assert (kept / "files" / "answer.txt").exists()
    assert champions.pointed(folder.layout) == version
    worker.bad = True
    carried_out(folder, [""] * 6)
    last = champions.ledger(folder.layout)[-1]
    assert (last.step, last.by, last.candidate) == ("rollback", "evolution", name)
    assert "claims" in last.reason or "tokens" in last.reason  # of the real tasks before each claim was false, too
    assert not folder.layout.champion.exists()
    assert not (folder.layout.evolved_skills / "answering").exists()
    assert role_now(folder) == before
