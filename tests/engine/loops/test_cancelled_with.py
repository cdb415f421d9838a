"""What a task ordered ends with it, on a real engine with workers on the local API server."""

from __future__ import annotations

from lumen_apiserver import text, tool

from lumen_tui.actions import acting
from lumen_tui.actions.registry import named, perform
from lumen_tui.model.tasks import Status

BOSS = """+++
purpose = "Orders parts of its task."
tools = ["create_task", "write_result"]
orders = ["researcher"]
+++

You order parts of your task.
"""


async def test_a_cancelled_task_takes_along_what_it_ordered_at_that_very_moment(office, api, tmp_path):
    office.do("role.hire", name="boss", text=BOSS)
    api.when(
        lambda r: "Have it counted" in r.first_text,
        tool("create_task", objective="Count the rooms", role="researcher"), text("late", first_byte=60.0),
    )  # fmt: skip
    api.when(lambda r: "Have it" not in r.first_text, text("late", first_byte=60.0), again=True)
    top = office.do("task.new", objective="Have it counted", role="boss").target
    await office.beat()
    await office.until(lambda: len(office.tasks) == 2)
    (part,) = [name for name in office.tasks if name != top]
    await office.until(lambda: office.view(part).status is Status.RUNNING)
    assert office.view(part).spec.parent == top
    office.do("task.cancel", task_id=top, reason="not needed")
    request = named("task.new", {"objective": "One more", "role": "researcher"})
    late = perform(office.store, request, by="lumen", now=office.clock.now(), client=f"{acting.AGENT}{top}").target
    await office.until(lambda: all(office.view(name).status is Status.CANCELLED for name in (top, part, late)))
    assert "which ordered it, was cancelled" in office.view(late).reason
    await office.tasks_over(3)
