"""A role whose model follows a script, and tasks of it that are over, which a trial does again."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_apiserver import ApiServer, tool
from lumen_folder import StateFolder

from lumen_tui.actions import evals
from lumen_tui.model.evals import SUITE, EvalCase, Expectation, Split, case_id, split_of
from lumen_tui.model.evolution import Trust
from lumen_tui.model.tasks import Exit, Spec
from lumen_tui.model.times import iso

ADVICE = "Write the answer to answer.txt before you report it."
CALLS = 2  # of the model for each task, whether it ends well or is sent back once


def models(tier: str) -> str:
    """Settings by which a tier is a model of the local server."""
    return f"""[models]
provider = "openai"
{tier} = "gpt-test"

[models.prices.gpt-test]
input = 1.0
output = 1.0
"""


SETTINGS = models("sonnet")
LINE = "\n[budget.roles.trials]\nusd = {usd}\n"


def role_folder(root: Path, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> StateFolder:
    """A state folder whose roles ask the local server, with a line for trials."""
    for name, value in api.openai_env.items():
        monkeypatch.setenv(name, value)
    made = StateFolder(root, time.time())
    made.layout.create()
    made.layout.config.write_text(SETTINGS + LINE.format(usd=5))
    return made


class ScriptedRole:
    """A model that writes the file where its prompt says so, and without that only in some tasks."""

    def __init__(self, api: ApiServer, able: range) -> None:
        self.able, self.asked, self.wait = able, 0, 0.0
        self.before: list[tuple[str, dict[str, Any]]] = []  # calls that each task makes first
        api.otherwise(self._answer)

    def _answer(self, request: Any) -> Any:
        self.asked += 1
        body = json.dumps(request.body)
        made = sum(message["role"] == "tool" for message in request.body["messages"])
        if made < len(self.before):
            name, arguments = self.before[made]
            return tool(name, arguments)
        writes = ADVICE in body or int(body.split("Answer question ")[1].split(".")[0]) in self.able
        if writes and made == len(self.before):
            return tool("write_file", {"path": "answer.txt", "content": "42"}, how={"first_byte": self.wait})
        return tool("write_result", {"text": "42"}, how={"first_byte": self.wait})


def recorded(state: StateFolder, count: int, **fields: Any) -> list[str]:
    """Tasks of the gate that are over, as many as that, with the cases that they make."""
    units = [f"WU-{number:03}" for number in range(1, 10 * count) if split_of(f"WU-{number:03}") is Split.GATE]
    cases, names, at = [], [], iso(state.now - 3600)
    for number, unit in enumerate(units[:count]):
        name = f"tsk-{number:04}"
        spec = Spec(name, f"Answer question {number}.", "builder", accept=("file: answer.txt",), wu_id=unit, order=True)
        task = state.layout.task(name)
        task.mkdir()
        (task / "spec.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(spec, **fields)))
        (task / "exit.json").write_bytes(msgspec.json.encode(Exit(name, "done", at)))
        case = EvalCase(case_id(name, 1, 0), at, unit, name, 1, 0, Expectation.HOLD, Trust.PERSON, role="builder")
        cases.append(case)
        names.append(name)
    evals.keep(state.layout, SUITE, cases, by="ana", now=state.now)
    return names
