"""What a task of a role would be sent now, before it runs: the same code as the worker's, and nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model import agent
from lumen_tui.model.capsule import tokens_of
from lumen_tui.model.problem import Problem
from lumen_tui.model.prompts import Line, Request, costs, lines_of
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import task_files
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.sandbox.admission import tier_in_force
from lumen_tui.tools.toolbox import Toolbox
from lumen_tui.worker.prompt import build
from lumen_tui.worker.task import read_spec, role_of

_NO_TASK = "(the objective of the task)"
_NO_BRIEFING = "(the briefing: it is made when the loop begins)"


class PromptPreview(Struct, frozen=True):
    """The parts of the first request in the order in which they are sent."""

    tools: tuple[Line, ...]
    request: Request
    problems: tuple[Problem, ...] = ()

    @property
    def parts(self) -> dict[str, tuple[Line, ...]]:
        return {"tools": self.tools, "system": self.request.system, "first message": self.request.first}

    @property
    def costs(self) -> dict[str, int]:
        """Tokens by source, estimated at four bytes each."""
        return costs([*self.tools, *self.request.system, *self.request.first])


def part_tokens(lines: tuple[Line, ...]) -> int:
    """Return what a part is taken for."""
    return tokens_of("\n".join(line.text for line in lines))


def preview(store: Store, role: str, task_id: str, now: float, environ: Mapping[str, str]) -> PromptPreview:
    """Return the prompt of a task that is there, or of any task of the role. Raises CannotBegin, BadRules, BadId."""
    spec, folder = _spec(store, role, task_id)
    loaded = role_of(store, spec, environ)
    context = Context(
        role=loaded, spec=spec, store=store, folder=folder, now=lambda: now, monotonic=lambda: now, environ=environ,
        redact=redactor(environ),
    )  # fmt: skip
    box = Toolbox(loaded, spec, context)
    context = msgspec.structs.replace(context, rules=box.rules)
    try:
        tier = tier_in_force(context, box.rules.shell)
    except ToolError:
        tier = ""
    seconds = spec.timeout_seconds or loaded.limits.timeout_seconds
    request, problems = build(context, load_config(store.layout)[0], tier=tier, seconds=seconds)
    tools = [
        line
        for tool in box.declarations()
        for line in lines_of(msgspec.json.encode(tool).decode(), f"tool {tool.name}")
    ]
    return PromptPreview(tuple(tools), request, tuple(problems))


def _spec(store: Store, role: str, task_id: str) -> tuple[Spec, Path]:
    if task_id:
        folder = task_files.folder_of(store.layout, task_id)
        if folder is None:
            raise LookupError(task_id)
        return read_spec(folder), folder
    name = agent.task_id(1) if role == agent.ROLE else "tsk-example"
    spec = Spec(id=name, objective=_NO_TASK, role=role, context=_NO_BRIEFING if role == agent.ROLE else "")
    return spec, store.layout.task(name)
