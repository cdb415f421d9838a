"""How the earlier steps of a task are summed up: the prompt for it, where they stay whole, what is still open."""

from __future__ import annotations

from functools import partial

from lumen_tui.model import agent
from lumen_tui.model.fences import escaped, fence
from lumen_tui.model.problem import Problem
from lumen_tui.model.prompts import Template, fill, lines_of, text_of
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import SummaryOrder
from lumen_tui.store import approvals
from lumen_tui.store.settings.prompts import load_prompt
from lumen_tui.tools.base import Context
from lumen_tui.tools.toolbox import Toolbox
from lumen_tui.worker.accepted import accepted_when

_READERS = ("read_file", "grep")  # tools with which the worker finds the steps in their file


def summary_order(context: Context, toolbox: Toolbox) -> tuple[SummaryOrder, Problem | None]:
    """Return how the steps of a task are summed up, and what is wrong with a prompt of a person's own."""
    template, problem = load_prompt(context.store.layout, "summary")
    readable = any(tool in toolbox.rules.tools for tool in _READERS)
    order = SummaryOrder(
        system=partial(_system, context, template),
        label=template.label,
        store=toolbox.store if readable else SummaryOrder.store,
        pending=partial(_pending, context),
    )
    return order, problem


def _system(context: Context, template: Template, words: int) -> str:
    spec, layout = context.spec, context.store.layout
    values = {
        "objective": lines_of(fence(spec.objective, "the task"), "task: objective"),
        "accept": lines_of(accepted_when(layout.task(spec.id), spec), "task: acceptance"),
        "length": lines_of(f"{words:,}", "window"),
    }
    return text_of(fill(template, values))


def _pending(context: Context) -> str:
    """Return the questions that a person has not answered yet, those of the main agent in any of its sessions."""
    spec = context.spec
    asked = [
        request
        for request in approvals.undecided(context.store.layout)
        if request.question and (request.task_id == spec.id or (request.lasting and spec.role == agent.ROLE))
    ]
    return "\n".join(f"- {request.id}: {one_line(escaped(request.question), 500)}" for request in asked)
