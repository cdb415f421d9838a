"""Which tools a role may be given: those of planning, and those that only the main agent has."""

from __future__ import annotations

from lumen_tui.model.agent import ROLE, Act
from lumen_tui.model.text import one_line
from lumen_tui.tools.agent import memory, report
from lumen_tui.tools.agent.blocks import MEMORY_INSERT, MEMORY_REPLACE, MEMORY_RETHINK, RELAY_READ, RELAY_SUBMIT
from lumen_tui.tools.agent.escalation import ESCALATE, KIND, reason_of
from lumen_tui.tools.agent.evolving import PROPOSE_CHANGE, READ_TRIALS
from lumen_tui.tools.agent.giving import CANCEL_TASK, CREATE_TASK, RETRY_TASK
from lumen_tui.tools.agent.mailing import SEND
from lumen_tui.tools.agent.memory import MEMORY_SEARCH, READ_SIGNALS, RECALL
from lumen_tui.tools.agent.notes import CHECKPOINT, DISCOVER, PROPOSE, REMEMBER, SIGNAL
from lumen_tui.tools.agent.overview import LIST_DISCOVERIES, LIST_TASKS, LIST_UNITS, READ_TASK, READ_UNIT
from lumen_tui.tools.agent.report import DEPOSIT, SLEEP
from lumen_tui.tools.agent.scheduling import SCHEDULE, UNSCHEDULE
from lumen_tui.tools.agent.units import CREATE_UNIT, JUDGE_DISCOVERIES, SPLIT_UNIT, UPDATE_UNIT
from lumen_tui.tools.agent.waiting import WAIT_FOR_TASKS
from lumen_tui.tools.base import AnyTool

PLANNING: dict[str, AnyTool] = {
    tool.name: tool
    for tool in (
        CREATE_TASK,
        CANCEL_TASK,
        RETRY_TASK,
        LIST_TASKS,
        READ_TASK,
        CREATE_UNIT,
        SPLIT_UNIT,
        UPDATE_UNIT,
        LIST_UNITS,
        READ_UNIT,
        JUDGE_DISCOVERIES,
        LIST_DISCOVERIES,
    )
}
_OF_THE_AGENT: tuple[AnyTool, ...] = (
    MEMORY_SEARCH, RECALL, memory.REMEMBER, READ_SIGNALS, report.SIGNAL, report.DISCOVER, MEMORY_INSERT, MEMORY_REPLACE,
    MEMORY_RETHINK, RELAY_READ, RELAY_SUBMIT, WAIT_FOR_TASKS, *PLANNING.values(),
)  # fmt: skip
AT_ENGINE = frozenset(tool.name for tool in _OF_THE_AGENT)  # they work on its state, and so where its engine is
AGENT_TOOLS: dict[str, AnyTool] = {
    tool.name: tool
    for tool in (
        *(SIGNAL, REMEMBER, DISCOVER, CHECKPOINT, PROPOSE, PROPOSE_CHANGE, READ_TRIALS),
        *(SCHEDULE, UNSCHEDULE, SEND, SLEEP, ESCALATE, DEPOSIT),
    )
}


def tools_of(role: str, tools: dict[str, AnyTool]) -> dict[str, AnyTool]:
    """Return the tools there are for a role: only the main agent's sessions know those of the agent."""
    return {**tools, **AGENT_TOOLS} if role == ROLE else tools


def earlier(folder_acts: list[Act]) -> str:
    """Return what an attempt that was cut off had done, for the next one; empty where there is nothing."""
    if not folder_acts:
        return ""
    lines = [f"- {act.kind} {act.id}: {one_line(act.text, 120)}" for act in folder_acts if act.kind != KIND]
    if reason := reason_of(folder_acts):
        done = (
            "It had done this, which you need not do again:\n" + "\n".join(lines) if lines else "It did nothing else."
        )
        return f"This loop began on a cheaper tier, which handed it over to you: {reason}\n{done}"
    return "An earlier attempt at this loop was cut off. It had done this already:\n" + "\n".join(lines)
