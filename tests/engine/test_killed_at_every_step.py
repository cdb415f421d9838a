"""A task of twelve steps is killed at each of them: what was finished is neither paid nor done again.

Worker, engine or both, while the model answers and within the call, for each kind of back end; the engine, the worker
and the program of the back end are real, a local server speaks for the model. `LUMEN_FULL=1` kills at all points.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import held, text, tool
from lumen_folder import BUILDER
from lumen_questions import events_of
from lumen_site import Site
from lumen_until import until

from lumen_tui.model.tasks import Run
from lumen_tui.providers.conversation.steps import ConversationState
from lumen_tui.store.ledger.ledger import LedgerReader
from lumen_tui.store.tasks.task_records import read_json, read_spec
from lumen_tui.worker.steps import read

STEPS = 12
WHO = ("worker", "engine", "both")
# Waits within the call for as long as the test says so. All other steps write a file: that is quick.
COMMAND = "echo {0} >> made; touch began; while test ! -e go; do sleep 0.02; done"
_DONE = re.compile(r"echo (\d+) >> made")


class Steps:
    """The model: it asks for the step behind the last one that it knows of, and holds one answer back."""

    def __init__(self, api: Any, prefix: str, hold: int = 0, waits: int = 0) -> None:
        self._prefix, self._hold, self._waits = prefix, hold, waits
        self.holds = False
        self.answered: list[int] = []  # steps for which a whole answer was sent
        api.otherwise(self._next)

    def _next(self, request: Any) -> Any:
        if not request.tool_names:
            return text("a title")
        step = max([0, *map(int, _DONE.findall(json.dumps(request.messages)))]) + 1
        answer = self._call(step) if step <= STEPS else text("ok")
        if step == self._hold:
            self._hold, self.holds = 0, True
            return held(answer)
        self.answered.append(step)
        return answer

    def _call(self, step: int) -> Any:
        if step == self._waits:
            return tool(f"{self._prefix}shell", command=COMMAND.format(step))
        return tool(f"{self._prefix}write_file", path=f"step-{step}", content=f"echo {step} >> made")


def claude() -> str:
    return os.environ.get("LUMEN_CLAUDE") or shutil.which("claude") or ""


Make = Callable[..., tuple[Site, Steps]]


@pytest.fixture
def make(tmp_path: Path, api: Any, sandbox: str) -> Iterator[Make]:
    made: list[Site] = []

    def carry_out(kind: str, **where: int) -> tuple[Site, Steps]:
        home = tmp_path / "home"
        home.mkdir()
        environ, config, prefix, model = api.openai_env, '[models]\nprovider = "openai"\n', "", ""
        if kind == "claude":
            if not claude():
                pytest.skip("Claude Code is not installed: put `claude` on PATH, or its path in LUMEN_CLAUDE")
            environ, prefix, model = {**api.anthropic_env, "HOME": str(home)}, "mcp__lumen__", "sonnet"
            config = f'[models]\nprovider = "claude"\nclaude = {{ program = "{claude()}" }}\n'
        site = Site(tmp_path / "state", environ, BUILDER, config, model=model)
        made.append(site)
        return site, Steps(api, prefix, **where)

    yield carry_out
    for site in made:
        site.close()


def kill(site: Site, who: str) -> None:
    """End them, and start an engine where none is left."""
    if who == "worker":
        site.kill_worker()
    elif who == "engine":
        site.kill_engine()
    else:
        site.kill()
    if who != "worker":
        site.start()


@pytest.mark.fault("R13", "a task killed at each of its steps: worker, engine or both")
@pytest.mark.sweep(most=3)
@pytest.mark.parametrize("step", range(1, STEPS + 1))
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("kind", ["http", "claude"])
def test_killed_within_a_call(make: Make, kind: str, who: str, step: int) -> None:
    site, model = make(kind, waits=step)
    files = site.folder / "files"
    site.start()
    until(lambda: (files / "began").exists(), lambda: events_of(site.folder)[-3:])
    kill(site, who)
    (files / "go").touch()
    assert site.ended() == "done"
    assert made(site) == [*range(1, step), *range(step + 1, STEPS + 1)]
    assert site.made().split() == [str(step)], "once"
    assert model.answered == list(range(1, STEPS + 2)), "each answer paid once"
    shown = [event["text"] for event in events_of(site.place()) if event["kind"] == "uncertain"]
    assert [f"echo {step} >>" in words for words in shown] == [True] * (who != "engine")
    assert_booked_once(site)


@pytest.mark.fault("R13", "a task killed at each of its steps: worker, engine or both")
@pytest.mark.sweep(most=3)
@pytest.mark.parametrize("step", range(1, STEPS + 1))
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("kind", ["http", "claude"])
def test_killed_while_the_model_answers(make: Make, api: Any, kind: str, who: str, step: int) -> None:
    site, model = make(kind, hold=step)
    site.start()
    until(lambda: model.holds, lambda: events_of(site.folder)[-3:])
    kill(site, who)
    api.release()
    assert site.ended() == "done"
    assert made(site) == list(range(1, STEPS + 1))
    again = [step] * (who != "engine")  # that answer never came
    assert model.answered == [*range(1, step), *again, *range(step + 1, STEPS + 2)], "each answer paid once"
    assert [event for event in events_of(site.place()) if event["kind"] == "uncertain"] == []
    assert_booked_once(site)


def made(site: Site) -> list[int]:
    """Return which files were written, in order: each once, as the next time would have been refused."""
    results = [
        event for event in events_of(site.place()) if event["kind"] == "result" and event["tool"] == "write_file"
    ]
    assert all(event.get("ok", True) for event in results)
    called = [event for event in events_of(site.place()) if event["kind"] == "call" and event["tool"] == "write_file"]
    return [int(event["text"].partition("step-")[2].partition(",")[0]) for event in called]


def assert_booked_once(site: Site) -> None:
    lines = [json.loads(line) for line in (site.store.root / "spend.jsonl").read_bytes().splitlines()]
    settled = {line["id"]: line["usd"] for line in lines if line["kind"] == "settle"}
    ledger = LedgerReader(site.layout)
    ledger.refresh()
    unknown = [hold.usd for hold in ledger.book.lost.values()]  # of the answer that never came
    assert ledger.book.tasks[site.id].usd == pytest.approx(sum([*settled.values(), *unknown]))
    assert len(settled) == STEPS + 1 and len(unknown) <= 1
    ledger.close()


@pytest.mark.fault("R13", "a task killed at each of its steps: worker, engine or both")
def test_a_disk_that_fills_up_under_an_answer_lets_nothing_be_done_that_is_not_on_record(make: Make, api: Any) -> None:
    site, model = make("http", hold=4)
    site.start()
    until(lambda: model.holds, lambda: events_of(site.folder)[-3:])
    run = read_json(site.folder / "run.json", Run)
    assert run is not None
    size = (site.folder / "steps.jsonl").stat().st_size + 20  # the beginning of the next record
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (size, size))
    api.release()
    assert site.ended() == "failed"
    ended = json.loads((site.place() / "exit.json").read_bytes())
    assert "steps.jsonl" in ended["reason"] and "nothing was acknowledged" in ended["reason"]
    assert made(site) == [1, 2, 3] and model.answered == [1, 2, 3]
    left = read(site.place(), read_spec(site.place()))
    assert [result.name for result in ConversationState(left.records).calls] == ["write_file"] * 3
