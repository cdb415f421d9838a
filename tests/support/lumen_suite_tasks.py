"""Tools of the official suite of MCP that are tasks: our `run_task`, a real engine, and workers with a scripted model.

What a client sees of them (handles, status, forms, answers, results, cancelling) is what it sees of `run_task`.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from lumen_apiserver import Answer, Request, text, tool
from lumen_asking import AskingFolder
from lumen_questions import put_call

from lumen_tui.model.tasks import Run
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.jsonrpc import Result
from lumen_tui.servers.mcp import tasks
from lumen_tui.servers.mcp.wire import Exchange, missing_tasks
from lumen_tui.store.tasks.task_records import read_json

_ONLY_AS_TASK = ("failing_job", "test_tool_with_task")
TOOLS = ("slow_compute", "protocol_error_job", "confirm_delete", "multi_input", *_ONLY_AS_TASK)


class TaskTools:
    """Orders the tasks of these tools in the counter's folder, on which an engine runs until `close`."""

    def __init__(self, counter: Counter) -> None:
        self._counter, self._layout = counter, counter.desk.layout
        self._folder = AskingFolder(self._layout.root)
        self._folder.model.when(lambda request: True, self._said, again=True)
        self._folder.start()
        self.close = self._folder.close

    def order(self, name: str, exchange: Exchange) -> Result:
        """Carry out `run_task` for the tool that was called."""
        if name in _ONLY_AS_TASK and not exchange.takes_tasks:
            raise missing_tasks()
        given = [name, exchange.mapping("arguments"), exchange.mapping("inputResponses")]
        objective = {"objective": json.dumps(given), "role": "builder"}
        ordered = {name: value for name, value in exchange.params.items() if name != "requestState"}
        exchange.params = {**ordered, "arguments": objective}
        result = tasks.run(self._counter, exchange)
        if name == "multi_input":  # a worker makes one call after the other
            put_call(self._layout, str(result["taskId"]), self._counter.desk.now, "rm b")
        return result

    def _said(self, request: Request) -> Answer:
        """Return what the model of a worker says next."""
        line = next((line for line in request.first_text.splitlines() if line.startswith('["')), '["", {}, {}]')
        name, arguments, answers = json.loads(line)
        begun = len(request.messages) > 2
        if name == "failing_job":
            return text("I do not do that.", stop="refusal", first_byte=1.0)
        if name == "protocol_error_job":
            self._kill(line)
        if name in ("confirm_delete", "multi_input") and not begun:
            return tool("shell", command="true")
        return text(f"It is done: {answers}", first_byte=0.0 if begun else float(arguments.get("seconds", 0)))

    def _kill(self, objective: str) -> None:
        """Kill the worker that asks."""
        (folder,) = (path.parent for path in self._layout.tasks.glob("*/spec.json") if _orders(path, objective))
        run = read_json(folder / "run.json", Run)
        assert run is not None
        os.kill(run.pid, signal.SIGKILL)


def _orders(spec: Path, objective: str) -> bool:
    return bool(json.loads(spec.read_bytes())["objective"] == objective)


def answered(params: dict[str, Any]) -> dict[str, Any]:
    """Return an update with the suite's answers as our form has them: it fills in `confirm` where ours asks `allow`."""
    given: dict[str, object] = {}
    for key, response in params.get("inputResponses", {}).items():
        content = response.get("content") if isinstance(response, dict) else None
        if isinstance(content, dict) and "confirm" in content:
            response["content"] = {"allow": content["confirm"]}
        given[key] = response
    return {**params, "inputResponses": given}
